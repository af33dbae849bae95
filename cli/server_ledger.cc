#include "cli/server_ledger.h"

#include "cli/progress.h"
#include "ledger_store/bundle/served_ledger.h"

namespace dpledger::cli {

absl::Status VerifyLedger(const std::string& ledger, ServerCalls& server,
                          bundle::Verifier& verifier) {
  Progress progress("verified");
  return bundle::VerifyServed(ledger, server, verifier, [&](uint64_t verified, uint64_t size) {
    progress.Show(verified, size);
  });
}

}  // namespace dpledger::cli
