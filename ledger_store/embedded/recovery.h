// Makes a store openable again that does not open because its log is damaged. The records after the
// damage are lost; a signed entry never is.
//
//  1. Nothing is changed in place: Recover opens a copy beside the folder, which takes the folder's
//     name only when it holds everything that was signed. The original is kept under another name.
//  2. Recover refuses a store that would lose a signed entry, and names both sizes.
//  3. What may be lost was acknowledged after the last checkpoint in the second place. Clients can
//     tell from the receipts that they keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace dpledger::embedded {

struct RecoveryOptions {
  std::string folder;
  std::string checkpoint_file;  // the file that keeps the registry's checkpoint outside the folder
  absl::Time now;               // becomes a part of the kept original's name
};

struct Recovered {
  struct Ledger {
    std::string name;
    uint64_t size = 0;
    uint64_t signed_size = 0;
  };
  std::string kept_as;  // where the original folder is kept
  uint64_t registry_size = 0;
  uint64_t checkpoint_size = 0;  // size of the checkpoint outside the folder
  std::vector<Ledger> ledgers;
};

// FAILED_PRECONDITION: a server has the store open (STORE_IN_USE); it opens as it is
// (NOTHING_TO_RECOVER); there is no checkpoint outside (NO_CHECKPOINT); the name for the copy is
// taken. DATA_LOSS: the recovered store would hold less than was signed (STORE_WENT_BACK), or is
// damaged elsewhere too. Errors of the disk. An error leaves the folder as it was.
absl::StatusOr<Recovered> Recover(const RecoveryOptions& options);

}  // namespace dpledger::embedded
