// The services of a server over ledgers that are only read, and a channel to them within the
// process. Every call that writes is refused. Thread safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "server/signing/signed_logs.h"

namespace dpledger::local {

// What is read. All must outlive the services.
struct ReadFrom {
  LedgerStore* store = nullptr;
  server::SignedLogs* logs = nullptr;
  const Notary* notary = nullptr;  // null: there is no registry, and no AuditService
  // Lists show what each ledger costs: it is computed before the first list is given.
  bool summaries = false;
};

class ReadServices {
 public:
  static absl::StatusOr<std::unique_ptr<ReadServices>> Open(const ReadFrom& from);
  virtual ~ReadServices() = default;  // calls under way are cancelled; the channel must be gone

  virtual const std::shared_ptr<grpc::Channel>& channel() const = 0;
};

}  // namespace dpledger::local
