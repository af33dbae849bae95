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

#include "absl/status/status.h"
#include "ledger/stored_head.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/fsck_report.h"
#include "ledger_store/store.h"

namespace dpledger {

struct FsckOptions {
  std::string checkpoint_file;  // the registry's second place; empty: there is none
  // Compares the ledger's run-length table with its entries; null: tables are not checked.
  std::function<absl::Status(LedgerReader&, const std::string& ledger)> check_history;
  // The keys of the heads. Without a current one their authenticators are not checked, and the
  // report says so.
  HeadKeys keys = {};
  // The same store, opened with those keys: a head that it does not give is a finding. Null for an
  // engine that looks at the keys itself (embedded/folder_fsck.h).
  LedgerReader* authenticated = nullptr;
  // Called regularly with the report so far.
  std::function<void(const FsckReport&)> progress;
};

void Fsck(LedgerReader& store, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger
