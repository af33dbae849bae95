// Checks everything that a store holds: compares entries with their tiles, tiles with signed roots,
// checkpoints with the registry, the registry with its second place, heads and answered requests
// with entries. Repairs nothing, and does not stop at the first difference.
//
//  1. The compared values are computed here from the stored entries alone.
//  2. A store without findings holds everything that was signed of it.
// Memory: a page of entries and the registry's names. Works with every engine, but the store must
// be at rest: while somebody appends or signs, the report is unreliable. Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ledger/stored_head.h"
#include "ledger_store/evidence/start_check.h"
#include "ledger_store/store.h"

namespace dpledger {

// A fault, and its place.
struct Finding {
  std::string place;  // "projects/p/ledgers/a: entry 17", "the registry", "000012.sst"
  std::string what;
};

// What a check of a store found. Not thread safe.
class FsckReport {
 public:
  void Add(std::string place, std::string what);
  // OK adds nothing.
  void Add(std::string place, const absl::Status& status);
  // Adds a remark: something was not checked, or is odd but not damage.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  bool clean() const { return count_ == 0; }
  // The number of findings; only the first kMostKept are kept.
  uint64_t count() const { return count_; }
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<std::string>& notes() const { return notes_; }

  static constexpr size_t kMostKept = 10'000;

  // Counts of what was read.
  uint64_t ledgers = 0;
  uint64_t entries = 0;
  uint64_t tiles = 0;
  uint64_t registry_entries = 0;
  uint64_t registry_size = 0;  // as signed

 private:
  std::vector<Finding> findings_;
  uint64_t count_ = 0;
  std::vector<std::string> notes_;
};

struct FsckOptions {
  std::string checkpoint_file;  // the registry's second place; empty: there is none
  // Compares the ledger's run-length table with its entries; null: tables are not checked.
  std::function<absl::Status(LedgerReader&, const std::string& ledger)> check_history;
  // The keys of the heads. Without a current one their authenticators are not checked, and the
  // report says so.
  HeadKeys keys = {};
  // The same store, opened with those keys: a head that it does not give is a finding. Null for an
  // engine that looks at the keys itself (embedded/folder.h).
  LedgerReader* authenticated = nullptr;
  // Called regularly with the report so far.
  std::function<void(const FsckReport&)> progress;
};

void Fsck(LedgerReader& store, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger
