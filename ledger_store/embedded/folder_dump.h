// Reads every entry that is still readable in the folder of an embedded store, whether the store
// opens or not. Changes nothing in the folder.
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
  // Whether the entry is proved to be under the ledger's checkpoint, and that checkpoint is in the
  // registry.
  bool is_signed = false;
};

struct DumpOptions {
  std::string ledger;           // only this one; empty: all
  std::string checkpoint_file;  // the registry's second place; empty: there is none
  std::function<absl::Status(const SurvivingEntry&)> entry;
};

// Calls options.entry with ledgers by id, their entries in order. `skipped` gets what could not be
// read, and the counts of what was. Errors of FsckFolder; NOT_FOUND if there is no such ledger;
// errors of `entry`.
absl::Status DumpFolder(const std::string& folder, const DumpOptions& options, FsckReport& skipped);

}  // namespace dpledger::embedded
