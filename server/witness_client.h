// Has witnesses cosign the registry's checkpoints (C2SP tlog-witness,
// https://c2sp.org/tlog-witness), so that a server which shows two histories is found out.
//
// 1. A witness can never stop or long delay the server: each gets a bounded time a round, and one
//    that fails is left alone for a while, twice as long each time, up to a minute.
// 2. A cosignature is taken only if it verifies under the key that was given for the witness.
// 3. A witness that has seen another history is told of as an error, each time it is asked: events
//    "split_view" and "witness_ahead".
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/evidence/notary.h"
#include "merkle/signed_note.h"
#include "server/log.h"

namespace dpledger::server {

struct WitnessAddress {
  std::string url;          // http://IP:PORT, with a path if it has a submission prefix
  merkle::VerifierKey key;  // of its cosignatures
};

struct WitnessClientOptions {
  std::vector<WitnessAddress> witnesses;
  absl::Duration timeout = absl::Seconds(2);  // for one witness in one round
  absl::Duration first_pause = absl::Seconds(1);
  absl::Duration longest_pause = absl::Minutes(1);
};

class WitnessClient {
 public:
  // INVALID_ARGUMENT for another kind of URL or key. `log` must outlive the client; it may be null
  // as long as Cosign is not called.
  static absl::StatusOr<std::unique_ptr<WitnessClient>> Make(const WitnessClientOptions& options,
                                                             const Log* log);
  ~WitnessClient();

  // What a Cosigner does (ledger_store/evidence/notary.h): the cosignatures that the note does not
  // have yet and that were to be had in time.
  std::vector<merkle::NoteSignature> Cosign(const std::string& note, uint64_t size,
                                            const ConsistencyProver& prove_from);

 private:
  class Witness;
  WitnessClient(const WitnessClientOptions& options,
                std::vector<std::unique_ptr<Witness>> witnesses, const Log* log);

  const WitnessClientOptions options_;
  const std::vector<std::unique_ptr<Witness>> witnesses_;
  const Log* const log_;
};

}  // namespace dpledger::server
