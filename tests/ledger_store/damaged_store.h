// A store with all that a store can have (ledgers of several writers, a fork, a seal, run-length
// tables, a registry, tables and a log on disk, entries that are not signed yet), what it truly
// holds, and copies of it to be damaged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ledger_store/embedded/recovery.h"
#include "ledger_store/evidence/fsck.h"
#include "tests/ledger_store/signed_store.h"

namespace dpledger {

// Where folders are in memory, if there is room for that: for tests of what does not depend on what
// is durable.
std::string MemoryFolder();

// What a store truly holds.
struct Truth {
  std::map<std::string, std::vector<std::string>> entries;  // by log; the registry's too
  std::map<std::string, uint64_t> signed_size;
  std::map<std::string, std::string> note;  // of the latest checkpoint
};

class DamagedStore : public ::testing::Test {
 protected:
  // The whole store is made once.
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  // A new copy of the folder in which the store and its second place lie.
  std::string NewCopy();
  static std::string StoreIn(const std::string& copy) { return copy + "/store"; }
  static std::string CheckpointIn(const std::string& copy) { return copy + "/store.checkpoint"; }

  // What fsck says of a copy.
  static FsckReport FsckOf(const std::string& copy);
  // "place: what", of all findings.
  static std::vector<std::string> Texts(const FsckReport& report);

  // What Recover saves of a copy, and what not.
  struct Saved {
    absl::StatusOr<embedded::Recovered> recovered;
    uint64_t missing = 0;        // entries
    uint64_t missing_bytes = 0;  // of those entries
    uint64_t signed_count = 0;   // saved entries that are in bundles, or are shown as signed
    std::map<std::string, uint64_t> bundles;  // by ledger: the size
  };
  // Into `copy`.saved, which the next call replaces. Every bundle must verify, and every entry must
  // be the true one.
  static Saved Recovered(const std::string& copy);

  struct Served {
    absl::Status open;          // of the store, and of the checks before it serves
    uint64_t errors = 0;        // answers that were DATA_LOSS
    uint64_t wrong = 0;         // answers that were not the truth
    uint64_t tail_missing = 0;  // entries at the ends of ledgers that are not there, none signed
  };
  // Opens the copy as a server does, and asks for everything.
  static Served Serve(const std::string& copy);

  static const Truth& truth();
  static uint64_t TrueEntries();

  TempFolder copies_{MemoryFolder()};
  int copy_count_ = 0;
};

// Every file below `folder`, with its content.
std::map<std::string, std::string> FilesIn(const std::string& folder);
void WriteTo(const std::string& path, const std::string& content);

}  // namespace dpledger
