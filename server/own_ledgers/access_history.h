// What the access record says of somebody or something: ListAccess of admin_service.proto.
//
// Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "dpledger/v1/admin_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

class AccessHistory {
 public:
  // Both must outlive the object.
  AccessHistory(LedgerReader* store, SignedLogs* logs) : store_(store), logs_(logs) {}

  // INVALID_ARGUMENT names the field. DATA_LOSS if the record is damaged; DEADLINE_EXCEEDED and
  // CANCELLED as the call says.
  absl::StatusOr<v1::ListAccessResponse> List(const v1::ListAccessRequest& request,
                                              const CallContext& call) const;

 private:
  LedgerReader* store_;
  SignedLogs* logs_;
};

}  // namespace dpledger::server
