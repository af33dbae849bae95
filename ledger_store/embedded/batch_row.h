// The entries of one request as they are stored, in one row: each behind its length as a big-endian
// uint16, as in a C2SP entry bundle (https://c2sp.org/tlog-tiles), but as many of them as the
// request brought. Pure; thread safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpledger::embedded {

// Precondition: the entries are at most 65,535 bytes each, as the rules of a ledger's head demand.
std::string EncodeBatchRow(std::span<const std::string> entries);

// The entries, as views into `row`; nothing if there are none, or the row ends within one.
std::optional<std::vector<std::string_view>> DecodeBatchRow(std::string_view row);

}  // namespace dpledger::embedded
