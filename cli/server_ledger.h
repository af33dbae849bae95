// Verifies a ledger as a server shows it. Not thread safe.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "cli/server_calls.h"
#include "ledger_store/bundle/verifier.h"

namespace dpledger::cli {

// Gives the verifier the members that the ledger's bundle would have. Errors of
// bundle::ReadEvidence and of the verifier.
absl::Status VerifyLedger(const std::string& ledger, ServerCalls& server,
                          bundle::Verifier& verifier);

}  // namespace dpledger::cli
