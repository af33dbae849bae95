// The requests that one sync makes durable together: each is staged on the heads that the ones
// before it left.
//
// Invariants:
//  1. Requests of one group see each other; nobody else sees any of them before Publish.
//  2. A refused request leaves nothing in the batch.
// Not thread safe: the commit thread's own.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/batch_draft.h"
#include "ledger/ledger_head.h"
#include "ledger/request_rules.h"
#include "ledger_store/embedded/ledger_table.h"
#include "merkle/sha256.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace dpledger::embedded {

// A fork, with the prefix that it speaks of.
struct ForkAtPoint {
  v1::ForkLedgerRequest request;
  LedgerPoint point;
  size_t ByteSizeLong() const { return request.ByteSizeLong(); }
};
using dpledger::CheckRequest;
using dpledger::RequestHash;
inline absl::Status CheckRequest(const ForkAtPoint& fork) {
  return dpledger::CheckRequest(fork.request);
}
inline merkle::Hash RequestHash(const ForkAtPoint& fork) {
  return dpledger::RequestHash(fork.request);
}

// A batch on its way. It may bring what it makes of a ledger's durable head, worked out before its
// turn came; that holds if the head is still the same then.
struct BatchToAppend {
  // Reads the request, and works ahead if no other append to its ledger is on its way, whose end
  // this one would have to wait for. `minute` is a guess at when it will be recorded. On the
  // caller's thread.
  BatchToAppend(v1::AppendBatchRequest request, rocksdb::DB& db, const LedgerTable& table,
                absl::Time minute);
  // Other appends to the ledger are no longer behind this one.
  void Leave() { place = nullptr; }
  size_t MemoryBytes() const { return draft.MemoryBytes() + (ahead ? ahead->batch_row.size() : 0); }

  struct Ahead {
    std::shared_ptr<const LedgerHead> base;  // it was made from this, under which its id was new
    std::shared_ptr<const LedgerHead> next;  // what it makes of that
    v1::Receipt receipt;
    // The values of its rows.
    std::string batch_row;
    std::string request_row;
    std::string head_row;
  };
  BatchDraft draft;
  merkle::Hash hash;
  std::optional<Ahead> ahead;
  std::shared_ptr<std::atomic<int>> place;  // counts as one of the ledger's `waiting` as it lives
};

class CommitGroup {
 public:
  // Fills `batch`, which is empty. What is staged outlives the group.
  CommitGroup(rocksdb::DB& db, LedgerTable& table, absl::Time now, rocksdb::WriteBatch& batch);

  // The receipt is true once the group is durable. `hash` is the request's RequestHash. Errors as
  // in ledger_store/store.h; DATA_LOSS and UNAVAILABLE come from the disk.
  absl::StatusOr<v1::Receipt> Stage(v1::CreateLedgerRequest&& request, const merkle::Hash& hash);
  absl::StatusOr<v1::Receipt> Stage(const BatchToAppend& batch, const merkle::Hash& hash);
  absl::StatusOr<v1::Receipt> Stage(v1::SealLedgerRequest&& request, const merkle::Hash& hash);
  absl::StatusOr<v1::Receipt> Stage(ForkAtPoint&& fork, const merkle::Hash& hash);

  // Completes the batch with the heads as they are now; it stays empty if nothing is new. Call
  // once, at the end.
  void Finish();
  // Shows the new heads to everybody. Precondition: the batch is durable.
  void Publish();

 private:
  struct Ledger {
    LedgerRecord durable;  // without a head if the group makes the ledger
    // The one append of the group to it, if that was worked out before.
    const BatchToAppend* ahead = nullptr;
    // Else as the group has changed it; nothing if it has not.
    std::optional<LedgerHead> changed;
    std::set<std::string> changed_writers;

    bool is_changed() const { return ahead != nullptr || changed.has_value(); }
    const LedgerHead& head() const {
      return changed.has_value() ? *changed
             : ahead != nullptr  ? *ahead->ahead->next
                                 : *durable.head;
    }
  };

  // The ledger as this group has it; null if there is none.
  Ledger* Find(const std::string& name);
  // How this request id was answered. NOT_FOUND if it is new.
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& request_key);
  // The receipt if this very request was answered before, else INVALID_ARGUMENT; NOT_FOUND if its
  // id is new.
  absl::StatusOr<v1::Receipt> Repeated(const std::string& request_key, const merkle::Hash& hash);
  // How a taken name answers a request to make a ledger of it: the receipt if that made it, else
  // ALREADY_EXISTS.
  absl::StatusOr<v1::Receipt> AnswerTaken(const Ledger& taken, const std::string& request_id,
                                          const merkle::Hash& hash);
  v1::Receipt TakeNew(NewLedger made, const std::string& request_id, const merkle::Hash& hash);
  v1::Receipt Take(const LedgerChange& change, const std::string& request_key,
                   const merkle::Hash& hash, Ledger& ledger);
  void Put(const LedgerChange& change, Ledger& ledger);
  v1::Receipt TakeAhead(const BatchToAppend& batch, const std::string& request_key, Ledger& ledger);

  rocksdb::DB& db_;
  LedgerTable& table_;
  const absl::Time now_;
  uint64_t next_id_;
  rocksdb::WriteBatch& batch_;
  std::map<std::string, Ledger> ledgers_;                  // those that the group looked at
  std::unordered_map<std::string, std::string> requests_;  // rows of those it answered, by key
};

}  // namespace dpledger::embedded
