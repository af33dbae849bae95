#include "server/signing/signed_logs.h"

#include <utility>

#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"

namespace dpledger::server {

absl::StatusOr<std::vector<std::string>> ReadSigned(LedgerReader& store, SignedLogs& logs,
                                                    const std::string& ledger,
                                                    const EntryRange& range) {
  ASSIGN_OR_RETURN(std::vector<std::string> entries,
                   store.Read(ledger, range.first, range.max_entries, range.max_bytes));
  ASSIGN_OR_RETURN(std::optional<SignedCheckpoint> latest, logs.LatestSigned(ledger));
  if (latest.has_value()) {
    LogReader signed_log(store, ledger, *std::move(latest));
    RETURN_IF_ERROR(signed_log.Check(range.first, entries));
  }
  return entries;
}

}  // namespace dpledger::server
