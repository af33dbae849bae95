// The signed checkpoints that answers are bound to, whoever keeps them: a server that signs on
// (signing_loop.h), or ledgers at rest, which nobody signs any more. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"
#include "server/call_context.h"

namespace dpledger::server {

class SignedLogs {
 public:
  virtual ~SignedLogs() = default;

  // A published checkpoint of the log with at least `size` entries. May wait for a signature until
  // the call's deadline. Precondition: the log has so many entries.
  virtual absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                                       const CallContext& call) = 0;
  // The log's latest published checkpoint, without waiting; nullopt if there is none.
  virtual absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string& log) = 0;
};

// Which entries to read: at most `max_entries` from `first` on, and no more after `max_bytes`.
struct EntryRange {
  uint64_t first = 0;
  size_t max_entries = 0;
  size_t max_bytes = 0;
};

// What was signed leaves as it was signed, or not at all: LedgerReader::Read, compared with the
// tiles of the ledger's latest checkpoint. DATA_LOSS.
absl::StatusOr<std::vector<std::string>> ReadSigned(LedgerReader& store, SignedLogs& logs,
                                                    const std::string& ledger,
                                                    const EntryRange& range);

}  // namespace dpledger::server
