#include "ledger_store/embedded/batch_row.h"

#include <cstdint>

namespace dpledger::embedded {
namespace {

constexpr size_t kLengthBytes = 2;

}  // namespace

std::string EncodeBatchRow(std::span<const std::string> entries) {
  size_t bytes = 0;
  for (const std::string& entry : entries) bytes += kLengthBytes + entry.size();
  std::string row;
  row.reserve(bytes);
  for (const std::string& entry : entries) {
    row.push_back(static_cast<char>(entry.size() >> 8));
    row.push_back(static_cast<char>(entry.size() & 0xff));
    row.append(entry);
  }
  return row;
}

std::optional<std::vector<std::string_view>> DecodeBatchRow(std::string_view row) {
  std::vector<std::string_view> entries;
  while (!row.empty()) {
    if (row.size() < kLengthBytes) return std::nullopt;
    const size_t length =
        static_cast<size_t>(static_cast<uint8_t>(row[0])) << 8 | static_cast<uint8_t>(row[1]);
    row.remove_prefix(kLengthBytes);
    if (row.size() < length) return std::nullopt;
    entries.push_back(row.substr(0, length));
    row.remove_prefix(length);
  }
  if (entries.empty()) return std::nullopt;
  return entries;
}

}  // namespace dpledger::embedded
