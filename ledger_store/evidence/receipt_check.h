// Compares the stored answers of requests with a ledger's entries: each batch of entries has its
// answer, with the receipt that the entries give, and there are no others. A batch whose answer is
// lost would be stored again by a retry that does not say its position. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "events/request_runs.h"
#include "ledger_store/bundle/entry_frame.h"
#include "ledger_store/evidence/fsck_report.h"
#include "ledger_store/store.h"
#include "merkle/tile_tree.h"

namespace dpledger {

// Of one ledger. Each `tree` is that of the entries before, from the first on.
class ReceiptCheck {
 public:
  ReceiptCheck(LedgerReader& store, std::string ledger, FsckReport& report)
      : store_(store), ledger_(std::move(ledger)), report_(report) {}

  void BeforeEntry(const bundle::EntryFrame& entry, const merkle::TileBuilder& tree);
  void AtEnd(const merkle::TileBuilder& tree);

 private:
  void EndBatch(const merkle::TileBuilder& tree);

  LedgerReader& store_;
  const std::string ledger_;
  FsckReport& report_;
  events::RequestRuns requests_;
  std::string request_id_;
  uint64_t first_ = 0;     // of the present batch
  bool answered_ = false;  // whether an answer belongs to it
  uint64_t answers_ = 0;
};

}  // namespace dpledger
