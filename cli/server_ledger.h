// Reads a ledger from a server as if from a bundle: its evidence, entries and tiles at one signed
// size. Nothing is verified here. Not thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/server_calls.h"
#include "ledger_store/bundle/evidence.h"
#include "ledger_store/bundle/verifier.h"

namespace dpledger::cli {

// The evidence at the ledger's present size or a later one. Reads the registry up to the last entry
// that names a key. DATA_LOSS if the server's answers are malformed; a difference (of class
// "checkpoint") if the server shows another ledger.
absl::StatusOr<bundle::Evidence> ReadEvidence(const std::string& ledger, ServerCalls& server);

// The entries of a ledger, in order.
class EntryStream {
 public:
  // `server` must outlive the stream.
  EntryStream(std::string ledger, ServerCalls* server)
      : ledger_(std::move(ledger)), server_(*server) {}
  // OUT_OF_RANGE after the last.
  absl::StatusOr<std::string> Next();

 private:
  const std::string ledger_;
  ServerCalls& server_;
  std::deque<std::string> page_;
  uint64_t next_ = 0;  // sequence after the page
  bool at_end_ = false;
};

// Verifies the ledger that the server shows: gives the verifier the members that its bundle would
// have.
absl::Status VerifyLedger(const std::string& ledger, ServerCalls& server,
                          bundle::Verifier& verifier);

}  // namespace dpledger::cli
