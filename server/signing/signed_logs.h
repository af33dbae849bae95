// The signed checkpoints that answers are bound to, whoever keeps them: a server that signs on
// (signing_loop.h), or ledgers at rest, which nobody signs any more. Thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ledger_store/evidence/registry.h"
#include "server/call_context.h"

namespace dpledger::server {

class SignedLogs {
 public:
  virtual ~SignedLogs() = default;

  // A published checkpoint of the log with at least `size` entries. May wait for a signature until
  // the call's deadline. Precondition: the log has so many entries.
  virtual absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                                       const CallContext& call) = 0;
};

}  // namespace dpledger::server
