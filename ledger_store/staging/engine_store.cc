#include "ledger_store/staging/engine_store.h"

#include <new>
#include <utility>

#include "absl/synchronization/notification.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "events/names.h"

namespace dpledger {

EngineStore::EngineStore() {
  OutOfMemory();  // made while there is memory
}

absl::StatusOr<std::vector<std::string>> EngineStore::Read(const std::string& name, uint64_t first,
                                                           size_t max_entries, size_t max_bytes) {
  RETURN_IF_ERROR(events::CheckLedgerName("ledger", name));
  return Entries(name, first, max_entries, max_bytes);
}

absl::StatusOr<v1::Ledger> EngineStore::Create(const v1::CreateLedgerRequest& request,
                                               const std::string& caller) {
  return SubmitAndGet(Operation(request, caller), request.name());
}

absl::StatusOr<v1::Ledger> EngineStore::Seal(const v1::SealLedgerRequest& request,
                                             const std::string& caller) {
  return SubmitAndGet(Operation(request, caller), request.name());
}

absl::StatusOr<v1::Ledger> EngineStore::Fork(const v1::ForkLedgerRequest& request,
                                             const LedgerPoint& point, const std::string& caller) {
  return SubmitAndGet(Operation(ForkAtPoint{request, point}, caller), request.name());
}

absl::StatusOr<v1::Receipt> EngineStore::Grant(const GrantAtSize& grant,
                                               const std::string& caller) {
  return Submit(Operation(grant, caller));
}

void EngineStore::AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                              std::shared_ptr<AppendLine> line, AppendCallback done) {
  const uint64_t turn = line == nullptr ? 0 : line->NextTurn();
  try {
    Operation operation(std::move(request), caller);
    operation.line = line;
    operation.turn = turn;
    Queue(std::move(operation), &done);
  } catch (const std::bad_alloc&) {
    if (line != nullptr) line->Break(turn);
    done(OutOfMemory());
  }
}

void EngineStore::Tell(const CommittedGroup& group) {
  if (StoreObserver* const observer = observer_; observer != nullptr) observer->OnGroup(group);
}

void EngineStore::Answer(const Operation& operation, absl::StatusOr<v1::Receipt> answer) {
  try {
    operation.done(std::move(answer));
  } catch (const std::bad_alloc&) {
  }
}

absl::StatusOr<v1::Receipt> EngineStore::Submit(Operation operation) {
  absl::Notification answered;
  absl::StatusOr<v1::Receipt> answer;
  operation.done = [&](absl::StatusOr<v1::Receipt> receipt) {
    answer = std::move(receipt);
    answered.Notify();
  };
  Queue(std::move(operation), nullptr);
  answered.WaitForNotification();
  return answer;
}

absl::StatusOr<v1::Ledger> EngineStore::SubmitAndGet(Operation operation, const std::string& name) {
  RETURN_IF_ERROR(Submit(std::move(operation)).status());
  return Get(name, {.limit = kMostDescribedWriters});
}

}  // namespace dpledger
