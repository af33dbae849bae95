// The stored form of one request's entries, one row: each entry follows its length as a big-endian
// uint16, as in a C2SP entry bundle (https://c2sp.org/tlog-tiles), but with as many entries as the
// request has. An entry has at most 65,535 bytes (ledger/ledger_head.h). Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpledger {

inline constexpr size_t kEntryLengthBytes = 2;

// The entry extends from row[begin] to the end of `row`; writes its length to the kEntryLengthBytes
// before `begin`.
void SetEntryLength(size_t begin, std::string& row);

// The entries, as views into `row`; nullopt if there are none, or the row ends within one.
std::optional<std::vector<std::string_view>> DecodeBatchRow(std::string_view row);

}  // namespace dpledger
