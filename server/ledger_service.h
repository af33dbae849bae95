// Writing and reading ledgers, without a transport: proto/dpledger/v1/ledger_service.proto says
// what each call means.
//
// Nothing is stored unchecked: events and declarations are checked here, by accountant/from_proto;
// all else about a request that writes, and how much may wait for the disk, by the store. Thread
// safe. All calls but AppendBatch may wait for the disk.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"

namespace dpledger::server {

class LedgerService {
 public:
  // `store` must outlive the service.
  explicit LedgerService(LedgerStore* store) : store_(store) {}

  absl::StatusOr<v1::Ledger> CreateLedger(const v1::CreateLedgerRequest& request);
  absl::StatusOr<v1::Ledger> GetLedger(const v1::GetLedgerRequest& request);
  absl::StatusOr<v1::ListLedgersResponse> ListLedgers(const v1::ListLedgersRequest& request);
  absl::StatusOr<v1::ReadEntriesResponse> ReadEntries(const v1::ReadEntriesRequest& request);
  absl::StatusOr<v1::Ledger> SealLedger(const v1::SealLedgerRequest& request);

  // `done` is called once: here if the batch is refused by its content, else from a thread of the
  // store. `line` may be null.
  void AppendBatch(v1::AppendBatchRequest request, std::shared_ptr<AppendLine> line,
                   LedgerStore::AppendCallback done);

 private:
  LedgerStore* const store_;
};

}  // namespace dpledger::server
