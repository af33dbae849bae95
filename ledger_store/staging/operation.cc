#include "ledger_store/staging/operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "ledger/request_rules.h"

namespace dpledger {
namespace {

// `request` is what the rules are of; `kept` what is staged of it.
template <typename Request, typename Kept>
void Take(const Request& request, const Kept& kept, Operation& operation) {
  operation.request_id = request.request_id();
  if (absl::Status checked = CheckRequest(request); !checked.ok()) {
    operation.request = std::move(checked);
    return;
  }
  operation.hash = RequestHash(request);
  operation.bytes = sizeof(Operation) + request.ByteSizeLong();
  operation.request = kept;
}

}  // namespace

Operation::Operation(v1::AppendBatchRequest batch)
    : ledgers({batch.ledger()}), request_id(batch.request_id()) {
  if (absl::Status checked = CheckRequest(batch); !checked.ok()) {
    request = std::move(checked);
    return;
  }
  const BatchDraft& draft = request.emplace<BatchDraft>(std::move(batch));
  hash = draft.Hash();
  bytes = sizeof(Operation) + draft.MemoryBytes();
}

Operation::Operation(const v1::CreateLedgerRequest& create) : ledgers({create.name()}) {
  Take(create, create, *this);
}

Operation::Operation(const v1::SealLedgerRequest& seal) : ledgers({seal.name()}) {
  Take(seal, seal, *this);
}

Operation::Operation(const ForkAtPoint& fork)
    : ledgers({fork.request.name(), fork.request.parent()}) {
  Take(fork.request, fork, *this);
}

absl::Status SubmitAndWait(Operation& operation, const std::function<void()>& submit) {
  absl::Notification answered;
  absl::Status status;
  operation.done = [&](const absl::StatusOr<v1::Receipt>& receipt) {
    status = receipt.status();
    answered.Notify();
  };
  submit();
  answered.WaitForNotification();
  return status;
}

absl::Status QueueFull(size_t waiting, size_t limit, std::string_view what) {
  return WithReason(absl::ResourceExhaustedError(
                        absl::StrCat("the store's queue is full: ", waiting, " bytes wait for ",
                                     ToAbsl(what), ", the limit is ", limit, "; try again later")),
                    {"QUEUE_FULL", {}});
}

absl::Status RequestIdReused() {
  return WithReason(
      absl::InvalidArgumentError("request_id: was used by another request on this ledger; "
                                 "the same id must bring the same entries"),
      {"REQUEST_ID_REUSED", {{"field", "request_id"}}});
}

absl::Status LedgerNotFound(const std::string& name) {
  return WithReason(absl::NotFoundError(absl::StrCat(name, ": no such ledger")),
                    {"LEDGER_NOT_FOUND", {{"ledger", name}}});
}

}  // namespace dpledger
