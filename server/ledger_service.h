// Writing and reading ledgers, without a transport: proto/dpledger/v1/ledger_service.proto says
// what each call means.
//
// Nothing is stored unchecked: events and declarations are checked here, by accountant/from_proto;
// all else about a request that writes, and how much may wait for the disk, by the store. Thread
// safe. All calls but AppendBatch may wait for the disk, ForkLedger for a signature too.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/signing_loop.h"

namespace dpledger::server {

class LedgerService {
 public:
  // Both must outlive the service.
  LedgerService(LedgerStore* store, SigningLoop* signing) : store_(store), signing_(signing) {}

  absl::StatusOr<v1::Ledger> CreateLedger(const v1::CreateLedgerRequest& request);
  absl::StatusOr<v1::Ledger> GetLedger(const v1::GetLedgerRequest& request);
  absl::StatusOr<v1::ListLedgersResponse> ListLedgers(const v1::ListLedgersRequest& request);
  absl::StatusOr<v1::ReadEntriesResponse> ReadEntries(const v1::ReadEntriesRequest& request);
  absl::StatusOr<v1::Ledger> SealLedger(const v1::SealLedgerRequest& request);
  absl::StatusOr<v1::Ledger> ForkLedger(const v1::ForkLedgerRequest& request,
                                        const CallContext& call);

  // `done` is called once: here if the batch is refused by its content, else from a thread of the
  // store. `line` may be null.
  void AppendBatch(v1::AppendBatchRequest request, std::shared_ptr<AppendLine> line,
                   LedgerStore::AppendCallback done);

 private:
  // The prefix that the fork carries on from, with a root that is known to be true.
  absl::StatusOr<LedgerPoint> ForkPoint(const v1::ForkLedgerRequest& request,
                                        const CallContext& call);

  LedgerStore* const store_;
  SigningLoop* const signing_;
};

}  // namespace dpledger::server
