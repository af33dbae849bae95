#include "server/questions/signed_root.h"

#include <utility>

#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"

namespace dpledger::server {

SignedRoot SignedRootOf(LedgerReader* store, SignedLogs* logs) {
  return [store, logs](const std::string& ledger, uint64_t size,
                       const accountant::Limits& limits) -> absl::StatusOr<merkle::Hash> {
    ASSIGN_OR_RETURN(SignedCheckpoint checkpoint,
                     logs->AwaitSigned(ledger, size, {limits.deadline, limits.cancelled}));
    LogReader reader(*store, ledger, std::move(checkpoint));
    return reader.RootAt("subject.up_to_sequence", size);
  };
}

}  // namespace dpledger::server
