// The LedgerService without its lists (summaries/listing_service.h), without a transport:
// proto/dpledger/v1/ledger_service.proto says what each call means.
//
// Nothing is stored unchecked. This service checks events and declarations, by the rules in
// events/; the store checks the rest of a request that writes, and bounds how much may wait for the
// disk. Thread safe. All calls but AppendBatch may wait for the disk; ForkLedger may wait for a
// signature too. What they write names the call's caller.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/questions/subject_source.h"
#include "server/signing/receipt_signer.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

class LedgerService {
 public:
  // Whether a new data set may have that name: OK, or why not (DATASET_NEARLY_EXISTS).
  using CheckName =
      std::function<absl::Status(const std::string& dataset, const CallContext& call)>;
  struct Parts {
    const ReceiptSigner* signer = nullptr;                  // null: no receipt is signed
    std::function<void(const std::string& ledger)> sealed;  // called when one was; may be empty
    SubjectSource* subjects = nullptr;                      // null: nobody asks for grants
    // What runs under the budget have spent that have spent more than they were granted; may be
    // empty.
    std::function<std::vector<v1::FilterSpending>(const std::string& budget)> overspent;
    CheckName check_name;  // empty: every name will do
  };
  // `store`, `logs` and the parts must outlive the service.
  LedgerService(LedgerStore* store, SignedLogs* logs, Parts parts)
      : store_(store), logs_(logs), parts_(std::move(parts)) {}
  LedgerService(LedgerStore* store, SignedLogs* logs) : LedgerService(store, logs, Parts()) {}

  absl::StatusOr<v1::Ledger> CreateLedger(const v1::CreateLedgerRequest& request,
                                          const CallContext& call);
  absl::StatusOr<v1::Ledger> GetLedger(const v1::GetLedgerRequest& request);
  absl::StatusOr<v1::ReadEntriesResponse> ReadEntries(const v1::ReadEntriesRequest& request);
  absl::StatusOr<v1::Ledger> SealLedger(const v1::SealLedgerRequest& request,
                                        const CallContext& call);
  absl::StatusOr<v1::Ledger> ForkLedger(const v1::ForkLedgerRequest& request,
                                        const CallContext& call);
  absl::StatusOr<v1::GrantBudgetResponse> GrantBudget(const v1::GrantBudgetRequest& request,
                                                      const CallContext& call);

  // Calls `done` once: before returning if the batch's content is refused, else from a thread of
  // the store. `caller` is that of CallContext::NameInEntries; `line` may be null.
  void AppendBatch(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, LedgerStore::AppendCallback done);

 private:
  absl::Status CheckNoneOverspent(const v1::GrantBudgetRequest& request) const;
  // `done`, with the receipt signed.
  LedgerStore::AppendCallback Signed(const v1::AppendBatchRequest& request,
                                     LedgerStore::AppendCallback done) const;
  // The prefix that the fork carries on from, with its verified root.
  absl::StatusOr<LedgerPoint> ForkPoint(const v1::ForkLedgerRequest& request,
                                        const CallContext& call);

  LedgerStore* const store_;
  SignedLogs* const logs_;
  const Parts parts_;
};

}  // namespace dpledger::server
