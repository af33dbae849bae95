// The server's own word, kept against it: the tree of a ledger as the last receipt told it, and the
// check that what the server holds now carries that tree on. A server that was put back to an older
// copy, or that holds another history, is found out before anything more is sent to it.
//
// 1. OK only if hashing leads there: by a consistency proof from the kept tree to the ledger's
//    present one (RFC 9162, section 2.1.4.2).
// 2. What the server says of itself is never believed but where the hashes bind it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/internal/spool_format.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace dpledger::client::internal {

// DATA_LOSS unless the receipt names a size and a root of 32 bytes.
absl::StatusOr<AcknowledgedTree> TreeOf(const v1::Receipt& receipt);

// Keeps the larger of the two in `kept`. DATA_LOSS if they are trees of one size and differ.
absl::Status KeepLarger(const AcknowledgedTree& tree, AcknowledgedTree& kept);

// Thread safe.
class ReceiptCheck {
 public:
  // Each call to a server gets `call_timeout`.
  ReceiptCheck(std::string ledger, absl::Duration call_timeout)
      : ledger_(std::move(ledger)), call_timeout_(call_timeout) {}

  // DATA_LOSS (RECEIPT_BROKEN) if the ledger of the server at the other end does not begin with
  // `kept`; otherwise the errors of the calls.
  absl::Status Run(const std::shared_ptr<grpc::Channel>& channel, const AcknowledgedTree& kept);
  // Ends a Run under way, and every later one, with CANCELLED.
  void Cancel();

 private:
  // Calls `method` of `stub` in the given time.
  template <typename Stub, typename Request, typename Response>
  absl::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response);

  absl::StatusOr<AcknowledgedTree> PresentTree(v1::LedgerService::Stub& ledgers,
                                               const AcknowledgedTree& kept);
  absl::Status CheckByProof(v1::AuditService::Stub& audits, const AcknowledgedTree& kept,
                            const AcknowledgedTree& present);
  absl::Status Broken(const std::string& how) const;

  const std::string ledger_;
  const absl::Duration call_timeout_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // under way
};

}  // namespace dpledger::client::internal
