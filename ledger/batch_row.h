// The entries of one request as they are stored, in one row: each behind its length as a big-endian
// uint16, as in a C2SP entry bundle (https://c2sp.org/tlog-tiles), but as many of them as the
// request brought. Entries are at most 65,535 bytes, as the rules of a ledger's head demand. Pure;
// thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpledger {

inline constexpr size_t kEntryLengthBytes = 2;

// Writes the length of an entry that lies in `row` from `begin` on, behind kEntryLengthBytes that
// are kept for it.
void SetEntryLength(size_t begin, std::string& row);

// The entries, as views into `row`; nothing if there are none, or the row ends within one.
std::optional<std::vector<std::string_view>> DecodeBatchRow(std::string_view row);

}  // namespace dpledger
