// Reads everything that a store holds and compares it with everything it can be compared with:
// entries with their tiles, tiles with signed roots, checkpoints with the registry, the registry
// with its second place, heads with entries. Repairs nothing, and does not stop at the first
// difference.
//
//  1. What is compared is computed here from the stored entries alone.
//  2. A store whose every finding was shown to be clean holds all that was signed of it.
// Memory: a page of entries and the registry's names. Works on every engine that is at rest: while
// somebody appends or signs, what it says is not to be relied on. Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ledger_store/bundle/entry_frame.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/store.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// Something that is not as it must be, and where.
struct Finding {
  std::string place;  // "projects/p/ledgers/a: entry 17", "the registry", "000012.sst"
  std::string what;
};

class FsckReport {
 public:
  void Add(std::string place, std::string what);
  // OK adds nothing.
  void Add(std::string place, const absl::Status& status);
  // What was not looked at, or is odd but no damage.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  bool clean() const { return count_ == 0; }
  // All there were; the first kMostKept of them are kept.
  uint64_t count() const { return count_; }
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<std::string>& notes() const { return notes_; }

  static constexpr size_t kMostKept = 10'000;

  // What was read.
  uint64_t ledgers = 0;
  uint64_t entries = 0;
  uint64_t tiles = 0;
  uint64_t registry_entries = 0;
  uint64_t registry_size = 0;  // that is signed

 private:
  std::vector<Finding> findings_;
  uint64_t count_ = 0;
  std::vector<std::string> notes_;
};

struct FsckOptions {
  std::string checkpoint_file;  // the registry's second place; empty: there is none
  // Compares the ledger's run-length table with its entries; null: tables are not looked at.
  std::function<absl::Status(LedgerReader&, const std::string& ledger)> check_history;
  // Called now and then with what has been read.
  std::function<void(const FsckReport&)> progress;

  // What an engine checks beside, while the entries pass. `tree` is that of the entries before this
  // one; neither is called behind an entry that is missing.
  std::function<void(const std::string& ledger, const bundle::EntryFrame& entry,
                     const merkle::TileBuilder& tree)>
      before_entry;
  std::function<void(const std::string& ledger, const merkle::TileBuilder& tree)> after_ledger;
};

void Fsck(LedgerReader& store, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger
