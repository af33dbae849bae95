#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {

std::string TablePrefix(Table table) { return std::string(1, static_cast<char>(table)); }

std::string LedgerPrefix(Table table, uint64_t ledger_id) {
  return TablePrefix(table) + EncodeNumber(ledger_id);
}

std::string VersionKey() { return TablePrefix(Table::kVersion); }

std::string NameKey(std::string_view name) { return TablePrefix(Table::kName).append(name); }

std::string BatchKey(uint64_t ledger_id, uint64_t first_sequence) {
  return LedgerPrefix(Table::kBatch, ledger_id) + EncodeNumber(first_sequence);
}

std::string HeadKey(uint64_t ledger_id, std::string_view writer) {
  return LedgerPrefix(Table::kHead, ledger_id).append(writer);
}

std::string RequestKey(uint64_t ledger_id, std::string_view request_id) {
  return LedgerPrefix(Table::kRequest, ledger_id).append(request_id);
}

std::string CheckpointKey(uint64_t log_id) { return LedgerPrefix(Table::kCheckpoint, log_id); }

std::string TileKey(uint64_t log_id, const merkle::TileId& tile) {
  std::string key = LedgerPrefix(Table::kTile, log_id);
  key.push_back(static_cast<char>(tile.level));
  return key.append(EncodeNumber(tile.index));
}

std::string RegistryKey(uint64_t index) {
  return TablePrefix(Table::kRegistry).append(EncodeNumber(index));
}

std::string HistoryKey(uint64_t ledger_id) { return LedgerPrefix(Table::kHistory, ledger_id); }

std::string SummaryKey(uint64_t ledger_id) { return LedgerPrefix(Table::kSummary, ledger_id); }

std::string EncodeNumber(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 8; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

std::optional<uint64_t> DecodeNumber(std::string_view bytes) {
  if (bytes.size() != 8) return std::nullopt;
  uint64_t number = 0;
  for (char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace dpledger::embedded
