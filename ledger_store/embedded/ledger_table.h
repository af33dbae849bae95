// The heads of all ledgers of a store, in memory. Get, List, Read and the commit thread use them.
// About 1 KiB a ledger, more with many writers or a long declaration.
//
// Invariants:
//  1. Every head in the table is durable: it is put there after the sync that stored it.
//  2. Ids are dense from 0, in the order of creation: a gap means a lost ledger.
// Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ledger/stored_head.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

struct LedgerRecord {
  uint64_t id = 0;
  std::shared_ptr<const LedgerHead> head;
  uint64_t put = 0;  // the number of the put that made the head; the table sets it
};

class LedgerTable {
 public:
  explicit LedgerTable(HeadKeys keys) : keys_(std::move(keys)) {}
  // Reads all heads. DATA_LOSS, naming the ledger, if a head's size is not that of its entries, or
  // if it is not authentic.
  static absl::StatusOr<std::unique_ptr<LedgerTable>> Load(rocksdb::DB& db, HeadKeys keys);

  const HeadKeys& keys() const { return keys_; }
  // The ledgers whose stored heads the current key did not authenticate when they were loaded.
  const std::vector<std::string>& to_renew() const { return to_renew_; }

  // Adds a row for each of them, under the current key, which there must be. DATA_LOSS if a ledger
  // lacks the server's own writer.
  absl::Status AddRenewedHeads(rocksdb::WriteBatch& batch) const;

  // NOT_FOUND (LEDGER_NOT_FOUND) if there is none.
  absl::StatusOr<LedgerRecord> Find(const std::string& name) const;
  // At most `limit` heads whose names begin with `prefix`, by name, after `after`.
  std::vector<std::shared_ptr<const LedgerHead>> List(const std::string& prefix,
                                                      const std::string& after, size_t limit) const;
  // How many ledgers declare `dataset`.
  uint64_t CountDeclaring(const std::string& dataset) const;
  uint64_t size() const;
  // In unspecified order.
  std::vector<LedgerRecord> All() const;
  // How many appends to the ledger with this id wait for the disk, for callers to count; ledgers
  // share the few counters that there are.
  std::atomic<int>& Waiting(uint64_t id) const { return waiting_[id % waiting_.size()]; }
  // At most `limit` heads of the ledgers that were put after the first `since` puts, those that
  // were put longest ago first; and to which put that reaches.
  struct Puts {
    std::vector<std::shared_ptr<const LedgerHead>> heads;
    uint64_t reached = 0;
    bool more = false;
  };
  Puts PutSince(uint64_t since, size_t limit) const;
  // At most `limit` heads of ledgers with unsigned entries: by name, first those after `after`,
  // then the others.
  std::vector<std::shared_ptr<const LedgerHead>> Unsigned(const std::string& after,
                                                          size_t limit) const;

  void Put(LedgerRecord record);
  // Marks the ledger's first `size` entries as signed. Precondition: the ledger is in the table.
  void MarkSigned(const std::string& name, uint64_t size);

 private:
  const HeadKeys keys_;
  std::vector<std::string> to_renew_;  // set by Load
  mutable absl::Mutex mutex_;
  std::map<std::string_view, LedgerRecord> by_name_ ABSL_GUARDED_BY(mutex_);  // the heads' names
  std::map<std::string, uint64_t> declaring_ ABSL_GUARDED_BY(mutex_);         // ledgers by data set
  std::set<std::string> unsigned_ ABSL_GUARDED_BY(mutex_);  // ledgers with unsigned entries
  uint64_t puts_ ABSL_GUARDED_BY(mutex_) = 0;
  // The latest put of each ledger -> its record in `by_name_`.
  std::map<uint64_t, const LedgerRecord*> by_put_ ABSL_GUARDED_BY(mutex_);
  mutable std::array<std::atomic<int>, 4096> waiting_ = {};
};

}  // namespace dpledger::embedded
