// Makes a store that does not open, because its log is damaged, openable again: without what stands
// behind the damage. Only forward of the last signed checkpoint.
//
//  1. Nothing is changed in place: a copy beside the folder is opened, and takes its name only when
//     it holds all that was signed. The original is kept under another name.
//  2. A store that would lose a signed entry is refused, with both sizes.
//  3. What may be lost was acknowledged after the last checkpoint in the second place: receipts
//  that
//     clients keep tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace dpledger::embedded {

struct RecoveryOptions {
  std::string folder;
  std::string checkpoint_file;  // a checkpoint of the registry from outside the folder
  absl::Time now;               // in the name under which the original is kept
};

struct Recovered {
  struct Ledger {
    std::string name;
    uint64_t size = 0;
    uint64_t signed_size = 0;
  };
  std::string kept_as;  // the original
  uint64_t registry_size = 0;
  uint64_t checkpoint_size = 0;  // of the one from outside
  std::vector<Ledger> ledgers;
};

// FAILED_PRECONDITION: a server has the store open (STORE_IN_USE); it opens as it is
// (NOTHING_TO_RECOVER); there is no checkpoint outside (NO_CHECKPOINT); the name for the copy is
// taken. DATA_LOSS: it would hold less than was signed (STORE_WENT_BACK), or is damaged elsewhere
// too. Errors of the disk. The folder is then as it was.
absl::StatusOr<Recovered> Recover(const RecoveryOptions& options);

}  // namespace dpledger::embedded
