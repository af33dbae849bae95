#include "ledger_store/store.h"

#include <utility>

#include "absl/synchronization/notification.h"

namespace dpledger {

absl::StatusOr<v1::Receipt> LedgerStore::Append(v1::AppendBatchRequest request) {
  absl::Notification answered;
  absl::StatusOr<v1::Receipt> receipt;
  AppendAsync(std::move(request), [&](absl::StatusOr<v1::Receipt> answer) {
    receipt = std::move(answer);
    answered.Notify();
  });
  answered.WaitForNotification();
  return receipt;
}

}  // namespace dpledger
