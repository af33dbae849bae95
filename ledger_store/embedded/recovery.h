// Saves what can be read of a damaged store into a new folder.
//
//   TO/store            a store that opens: what RocksDB recovers of a copy up to the first damage
//                       in its logs, or repairs; only if it holds everything that was signed
//   TO/<ledger>.bundle  each ledger whose signed entries are all there, by its last checkpoint or,
//                       if damage has taken some of those, by the last before the damage
//   TO/entries.jsonl    all other entries, each with whether tiles prove it to be signed
//
//  1. The damaged folder is only read, and nothing is signed anew.
//  2. Bundles and lines are made of all rows that can be read (recovery.cc, GatherRows), behind
//  damage too.
// Memory: the hashes of the registry's entries, and 49 bytes for each registration.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ledger_store/evidence/fsck.h"

namespace dpledger::embedded {

struct RecoveryOptions {
  std::string folder;
  std::string to;    // a folder that is made
  FsckOptions fsck;  // the keys and the second place
};

struct Recovered {
  FsckReport report;       // what is damaged, and what cannot be saved
  bool has_store = false;  // TO/store
  uint64_t bundles = 0;    // how many there are
  uint64_t bundled = 0;    // entries in them
  uint64_t others = 0;     // entries in entries.jsonl
};

// ALREADY_EXISTS if something is called TO; errors of FsckFolder and of the disk. An error leaves
// in TO what was saved until then.
absl::StatusOr<Recovered> Recover(const RecoveryOptions& options);

}  // namespace dpledger::embedded
