#include "ledger_store/embedded/keys.h"

#include "merkle/big_endian.h"

namespace dpledger::embedded {
namespace {

constexpr int kLengthBytes = 2;

bool Parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

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

std::string EncodeNumber(uint64_t number) { return merkle::BigEndian(number); }

std::optional<uint64_t> DecodeNumber(std::string_view bytes) {
  if (bytes.size() != 8) return std::nullopt;
  return merkle::FromBigEndian(bytes);
}

std::string HeadRow::Serialize() const {
  // Names have at most 64 bytes.
  std::string value = merkle::BigEndian(writer.ByteSizeLong(), kLengthBytes);
  writer.AppendToString(&value);
  head.AppendToString(&value);
  return value;
}

bool HeadRow::ParseFrom(std::string_view value) {
  if (value.size() < kLengthBytes) return false;
  const size_t length = merkle::FromBigEndian(value.substr(0, kLengthBytes));
  value.remove_prefix(kLengthBytes);
  return value.size() >= length && Parse(value.substr(0, length), writer) &&
         Parse(value.substr(length), head);
}

}  // namespace dpledger::embedded
