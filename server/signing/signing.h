// Opens the server's notary: its options, its key, and the checks before the server serves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger/stored_head.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "merkle/ed25519.h"
#include "server/log.h"

namespace dpledger::server {

struct SigningOptions {
  std::string key_file;  // made at the first start
  // What key_file held when OpenUnderKey read it: whoever signs takes this one, never what the file
  // holds by then. Null: it was not read yet.
  std::shared_ptr<const merkle::Ed25519PrivateKey> key;
  std::string previous_key_file;  // not empty: the key that key_file replaces
  std::string store_folder;       // to compare places with; empty: the store is elsewhere
  std::string checkpoint_file;    // keeps the registry's latest checkpoint outside the store
  std::string origin;             // empty: unchanged; a new registry's is DefaultOrigin of the key
  absl::Duration every = absl::Seconds(5);
  Cosigner cosigner;
  // The latest notes that witnesses have cosigned of the registry of this origin, for a server
  // whose second place is not there; empty: there are no witnesses.
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string& origin)> witnessed;
  // Starts without a second place and without a witness to ask: nobody can tell then whether the
  // store is an older copy.
  bool accept_missing_checkpoint = false;
  Clock* clock = Clock::System();

  // How long the lease to sign lasts after its last renewal: three rounds, and at least 15 s.
  absl::Duration Lease() const;

  // Files beside the store's folder: <folder>.signing-key and <folder>.checkpoint.
  static SigningOptions Beside(const std::string& store_folder);
};

// Opens the store, with `open`, under the keys of its heads, which are made of the signing key. A
// store that was never signed gets its signing key here; only if `is_new` says that nothing is
// there yet can that be known without opening it, and it is opened twice else. Sets options.key.
// Errors of `open` and of OpenNotary's first step; FAILED_PRECONDITION (KEY_MISMATCH) where `open`
// says DATA_LOSS of a store that another key signs.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenUnderKey(
    SigningOptions& options, bool is_new,
    const std::function<absl::StatusOr<std::unique_ptr<LedgerStore>>(const HeadKeys&)>& open,
    const Log& log);

// The last rounds, until nothing is left, and the end of the lease: what is at rest is signed
// whole, so that nobody can take off its end without being noticed. While another process signs, it
// goes on. `signs`: whether the notary can sign.
absl::Status SignTheRest(Notary& notary, bool signs);

// A notary that has checked that the store holds everything signed before, and has signed the rest.
// All heads are authenticated by the present key then, if the store was opened with it.
// FAILED_PRECONDITION (SIGNING_KEY_MISSING) if the store was signed before and the key's file does
// not exist; errors of ReadSigningKey, MakeSigningKey and Notary::Open.
absl::StatusOr<std::unique_ptr<Notary>> OpenNotary(const SigningOptions& options,
                                                   LedgerStore& store, const Log& log);

}  // namespace dpledger::server
