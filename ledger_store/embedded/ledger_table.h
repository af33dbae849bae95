// The heads of all ledgers of a store, in memory: what Get, List and Read see, and what the commit
// thread starts from. About 1 KiB a ledger, more with many writers.
//
// Invariants:
//  1. A head in the table is durable: it is put there after the sync that stored it.
//  2. Ids are dense from 0, in the order of creation: a gap is a lost ledger.
// Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ledger/ledger_head.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

struct LedgerRecord {
  uint64_t id = 0;
  std::shared_ptr<const LedgerHead> head;
  // Appends on their way to the disk; set by the table.
  std::shared_ptr<std::atomic<int>> waiting;
};

class LedgerTable {
 public:
  // Reads all heads, and checks that each ends where its entries end. DATA_LOSS says which does
  // not.
  static absl::StatusOr<std::unique_ptr<LedgerTable>> Load(rocksdb::DB& db);

  // NOT_FOUND (LEDGER_NOT_FOUND) if there is none.
  absl::StatusOr<LedgerRecord> Find(const std::string& name) const;
  // At most `limit` heads whose names begin with `prefix`, by name, after `after`.
  std::vector<std::shared_ptr<const LedgerHead>> List(const std::string& prefix,
                                                      const std::string& after, size_t limit) const;
  // How many ledgers declare `dataset`.
  uint64_t CountDeclaring(const std::string& dataset) const;
  uint64_t size() const;
  // In no order that matters.
  std::vector<LedgerRecord> All() const;
  // At most `limit` heads of ledgers that are longer than what was signed of them: by name, first
  // those after `after`, then the others.
  std::vector<std::shared_ptr<const LedgerHead>> Unsigned(const std::string& after,
                                                          size_t limit) const;

  void Put(LedgerRecord record);
  // The ledger's first `size` entries are signed. Precondition: it is there.
  void MarkSigned(const std::string& name, uint64_t size);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, LedgerRecord> by_name_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> declaring_ ABSL_GUARDED_BY(mutex_);  // ledgers by data set
  std::set<std::string> unsigned_ ABSL_GUARDED_BY(mutex_);  // longer than what was signed
};

}  // namespace dpledger::embedded
