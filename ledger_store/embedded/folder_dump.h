// Hands out every entry that can still be read in the folder of an embedded store, whether it opens
// or not. Changes nothing in the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ledger_store/evidence/fsck.h"
#include "merkle/sha256.h"

namespace dpledger::embedded {

struct SurvivingEntry {
  std::string ledger;  // "ledger id 7" if its name is lost
  uint64_t sequence = 0;
  std::string_view bytes;
  merkle::Hash leaf_hash = {};
  // Whether it is proven to be under the ledger's checkpoint, and that one is in the registry.
  bool is_signed = false;
};

struct DumpOptions {
  std::string ledger;           // only this one; empty: all
  std::string checkpoint_file;  // the registry's second place; empty: there is none
  std::function<absl::Status(const SurvivingEntry&)> entry;
};

// Ledgers by id, their entries in order. What had to be passed over goes into `skipped`, and what
// was counted too. Errors of FsckFolder; NOT_FOUND if there is no such ledger; errors of `entry`.
absl::Status DumpFolder(const std::string& folder, const DumpOptions& options, FsckReport& skipped);

}  // namespace dpledger::embedded
