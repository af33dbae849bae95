// The part of a store that all engines share: requests become operations on their way to the commit
// threads. An engine says how operations are queued and where heads are.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/staging/operation.h"
#include "ledger_store/store.h"

namespace dpledger {

class EngineStore : public LedgerStore {
 public:
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) final;

  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) final;
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) final;
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) final;
  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller) final;
  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) final;

  void Observe(StoreObserver* observer) final { observer_ = observer; }
  void Guard(AppendGate* gate) final { gate_ = gate; }

 protected:
  EngineStore();

  // Passes the operation to the commit threads; `done`, unless it is null, takes the place of its
  // own callback. Throws nothing but std::bad_alloc, and then has changed nothing.
  virtual void Queue(Operation&& operation, AppendCallback* done) = 0;
  // As Read, of a name that is one.
  virtual absl::StatusOr<std::vector<std::string>> Entries(const std::string& name, uint64_t first,
                                                           size_t max_entries,
                                                           size_t max_bytes) = 0;

  // Tells the observer, if there is one.
  void Tell(const CommittedGroup& group);
  AppendGate* gate() const { return gate_; }
  // If there is no memory for it, the caller's own answer is lost: it asks again under the same
  // request id.
  static void Answer(const Operation& operation, absl::StatusOr<v1::Receipt> answer);

 private:
  absl::StatusOr<v1::Receipt> Submit(Operation operation);
  absl::StatusOr<v1::Ledger> SubmitAndGet(Operation operation, const std::string& name);

  std::atomic<StoreObserver*> observer_ = nullptr;  // may be null
  std::atomic<AppendGate*> gate_ = nullptr;         // may be null
};

}  // namespace dpledger
