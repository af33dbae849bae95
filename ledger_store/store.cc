#include "ledger_store/store.h"

#include <utility>

#include "absl/synchronization/notification.h"

namespace dpledger {

absl::StatusOr<v1::StoredRequest> LedgerReader::Answered(const std::string&, const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

absl::StatusOr<uint64_t> LedgerReader::CountAnswered(const std::string&) {
  return absl::UnimplementedError("this store does not show its answers");
}

absl::StatusOr<v1::Receipt> LedgerStore::Append(v1::AppendBatchRequest request,
                                                const std::string& caller) {
  absl::Notification answered;
  absl::StatusOr<v1::Receipt> receipt;
  AppendAsync(std::move(request), caller, nullptr, [&](absl::StatusOr<v1::Receipt> answer) {
    receipt = std::move(answer);
    answered.Notify();
  });
  answered.WaitForNotification();
  return receipt;
}

absl::Status LedgerStore::SnapshotTo(const std::string& /*folder*/) {
  return absl::UnimplementedError("the database is backed up with its own tools");
}

}  // namespace dpledger
