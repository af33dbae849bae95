// How a server comes to a notary: its options, its key and the checks before it serves.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "server/log.h"

namespace dpledger::server {

struct SigningOptions {
  std::string key_file;           // made at the first start
  std::string previous_key_file;  // not empty: the key changes from this one
  std::string checkpoint_file;    // the second place
  std::string origin;             // empty: as it was; a new one after the key
  absl::Duration every = absl::Seconds(5);
  Cosigner cosigner;

  // Files beside the store's folder: <folder>.signing-key and <folder>.checkpoint.
  static SigningOptions Beside(const std::string& store_folder);
};

// A notary that has found the store to hold all that was signed of it, and has signed the rest.
// FAILED_PRECONDITION (SIGNING_KEY_MISSING) if the store was signed before and the key's file is
// not there; errors of ReadSigningKey, MakeSigningKey and Notary::Open.
absl::StatusOr<std::unique_ptr<Notary>> OpenNotary(const SigningOptions& options,
                                                   LedgerStore& store, const Log& log);

}  // namespace dpledger::server
