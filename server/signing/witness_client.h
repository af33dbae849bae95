// Has witnesses cosign the registry's checkpoints (C2SP tlog-witness,
// https://c2sp.org/tlog-witness), so that a server cannot show two histories unnoticed.
//
// 1. A witness cannot stop the server or delay it for long. Each gets a bounded time a round; one
//    that fails is not asked for a while, twice as long after each failure, up to a minute.
// 2. A cosignature counts only if it verifies under the key given for the witness.
// 3. If a witness has seen another history, the client logs an error each time it asks it: events
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
  std::string url;          // server/signing/witness_call.h says of which form
  merkle::VerifierKey key;  // verifies its cosignatures
};

struct WitnessClientOptions {
  std::vector<WitnessAddress> witnesses;
  std::string ca_file;  // who signs their certificates; empty: the system's list
  absl::Duration timeout = absl::Seconds(2);  // for one witness in one round
  absl::Duration first_pause = absl::Seconds(1);
  absl::Duration longest_pause = absl::Minutes(1);
};

class WitnessClient {
 public:
  // INVALID_ARGUMENT for another kind of URL or key. `log` must outlive the client; it may be null
  // if Cosign is never called.
  static absl::StatusOr<std::unique_ptr<WitnessClient>> Make(const WitnessClientOptions& options,
                                                             const Log* log);
  ~WitnessClient();

  // A Cosigner (ledger_store/evidence/notary.h): returns the cosignatures that the note lacks and
  // that arrived in time.
  std::vector<merkle::NoteSignature> Cosign(const std::string& note, uint64_t size,
                                            const ConsistencyProver& prove_from);
  // The latest notes of the registry of this origin that the witnesses have cosigned, from those
  // that answer. A witness that knows nothing of it answers too. UNAVAILABLE if none answers.
  absl::StatusOr<std::vector<std::string>> Latest(const std::string& origin);

 private:
  class Witness;
  WitnessClient(const WitnessClientOptions& options,
                std::vector<std::unique_ptr<Witness>> witnesses, const Log* log);

  const WitnessClientOptions options_;
  const std::vector<std::unique_ptr<Witness>> witnesses_;
  const Log* const log_;
};

}  // namespace dpledger::server
