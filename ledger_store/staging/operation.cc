#include "ledger_store/staging/operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/request_runs.h"
#include "ledger/request_rules.h"

namespace dpledger {
namespace {

// Only what readers take is written.
template <typename Request>
absl::Status CheckBoth(const Request& request, const std::string& caller) {
  RETURN_IF_ERROR(events::CheckCallerOf(caller, /*request_begins=*/true));
  return CheckRequest(request);
}

// `request` is what the rules are of; `kept` what is staged of it.
template <typename Request, typename Kept>
void Take(const Request& request, const Kept& kept, Operation& operation) {
  operation.request_id = request.request_id();
  if (absl::Status checked = CheckBoth(request, operation.caller); !checked.ok()) {
    operation.request = std::move(checked);
    return;
  }
  operation.hash = RequestHash(request);
  operation.bytes = sizeof(Operation) + operation.caller.size() + request.ByteSizeLong();
  operation.request = kept;
}

}  // namespace

Operation::Operation(v1::AppendBatchRequest batch, std::string from)
    : ledgers({batch.ledger()}), request_id(batch.request_id()), caller(std::move(from)) {
  if (absl::Status checked = CheckBoth(batch, caller); !checked.ok()) {
    request = std::move(checked);
    return;
  }
  const BatchDraft& draft = request.emplace<BatchDraft>(std::move(batch));
  hash = draft.Hash();
  bytes = sizeof(Operation) + caller.size() + draft.MemoryBytes();
}

Operation::Operation(const v1::CreateLedgerRequest& create, std::string from)
    : ledgers({create.name()}), caller(std::move(from)) {
  if (!create.declaration().budget().empty()) ledgers.push_back(create.declaration().budget());
  Take(create, create, *this);
}

Operation::Operation(const v1::SealLedgerRequest& seal, std::string from)
    : ledgers({seal.name()}), caller(std::move(from)) {
  Take(seal, seal, *this);
}

Operation::Operation(const ForkAtPoint& fork, std::string from)
    : ledgers({fork.request.name(), fork.request.parent()}), caller(std::move(from)) {
  Take(fork.request, fork, *this);
}

Operation::Operation(const GrantAtSize& grant, std::string from)
    : ledgers({grant.request.budget(), grant.request.ledger()}), caller(std::move(from)) {
  Take(grant.request, grant, *this);
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

absl::Status RequestOfAnotherCaller() {
  return WithReason(absl::PermissionDeniedError(
                        "request_id: was used by another caller on this ledger; choose a new one"),
                    {"REQUEST_OF_ANOTHER_CALLER", {{"field", "request_id"}}});
}

absl::Status LedgerNotFound(const std::string& name) {
  return WithReason(absl::NotFoundError(absl::StrCat(name, ": no such ledger")),
                    {"LEDGER_NOT_FOUND", {{"ledger", name}}});
}

}  // namespace dpledger
