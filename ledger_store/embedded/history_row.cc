#include "ledger_store/embedded/history_row.h"

#include "ledger/request_rules.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::embedded {

std::string HistoryRow(const v1::StoredHistory& history) {
  const std::string bytes = SerializeDeterministically(history);
  return merkle::ToBytes(merkle::Sha256({bytes})) + bytes;
}

absl::StatusOr<v1::StoredHistory> ParseHistoryRow(std::string_view value) {
  constexpr size_t kDigestBytes = sizeof(merkle::Hash);
  if (value.size() < kDigestBytes) return absl::DataLossError("does not match its digest");
  const std::string_view bytes = value.substr(kDigestBytes);
  v1::StoredHistory history;
  if (value.substr(0, kDigestBytes) != merkle::ToBytes(merkle::Sha256({bytes})) ||
      !history.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("does not match its digest");
  }
  return history;
}

}  // namespace dpledger::embedded
