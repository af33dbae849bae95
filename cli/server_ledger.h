// A ledger on a server, read as a bundle is: its evidence, its entries and its tiles, at one signed
// size. Nothing that is read here is believed here. Not thread safe.
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

// At the ledger's present size, or a later one. Reads the registry as far as its keys stand in it.
// DATA_LOSS if the server's answers are not of the shape that they must have; a difference (of
// class "checkpoint") if it shows another ledger than was asked for.
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

// Verifies the ledger as the server shows it: the verifier gets the members that a bundle would
// have.
absl::Status VerifyLedger(const std::string& ledger, ServerCalls& server,
                          bundle::Verifier& verifier);

}  // namespace dpledger::cli
