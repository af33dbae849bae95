#include "ledger/batch_row.h"

#include <cstdint>

namespace dpledger {

void SetEntryLength(size_t begin, std::string& row) {
  const size_t length = row.size() - begin;
  row[begin - 2] = static_cast<char>(length >> 8);
  row[begin - 1] = static_cast<char>(length & 0xff);
}

std::optional<std::vector<std::string_view>> DecodeBatchRow(std::string_view row) {
  std::vector<std::string_view> entries;
  while (!row.empty()) {
    if (row.size() < kEntryLengthBytes) return std::nullopt;
    const size_t length =
        static_cast<size_t>(static_cast<uint8_t>(row[0])) << 8 | static_cast<uint8_t>(row[1]);
    row.remove_prefix(kEntryLengthBytes);
    if (row.size() < length) return std::nullopt;
    entries.push_back(row.substr(0, length));
    row.remove_prefix(length);
  }
  if (entries.empty()) return std::nullopt;
  return entries;
}

}  // namespace dpledger
