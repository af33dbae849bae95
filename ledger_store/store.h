// Append-only storage of ledgers: one interface, several engines (embedded RocksDB, PostgreSQL),
// one conformance suite.
//
// Promises of every engine:
//  1. Answered means durable: Create, Append, Seal, Fork and Publish return after their bytes are
//     synced.
//  2. Nothing is updated, deleted or truncated. Sequence numbers are dense from 0; a batch is
//     stored whole or not at all, contiguous and in order.
//  3. (ledger, request id) identifies a request: the same request gets the same receipt for ever,
//     across restarts; another request under a used id is INVALID_ARGUMENT (reason
//     REQUEST_ID_REUSED), whatever its expected_sequence. The request of another caller is
//     PERMISSION_DENIED, or ALREADY_EXISTS where it made a ledger, whatever it says.
//  4. The stored bytes are the bytes that are hashed and returned.
//  5. After an error from the disk, or once its database has lost what was acknowledged, the store
//     acknowledges nothing more: every later call is UNAVAILABLE, and Health() says why for good.
//  6. Derived data (tiles, histories, summaries) and checkpoints are kept beside the entries, never
//     in place of them.
// Thread safe. Blocking calls may wait for the disk; AppendAsync never does.
//
// The caller checks events (events/event_values.h); the store checks names, ids, sizes and order.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/shared_text.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/ledger_head.h"
#include "ledger/ledger_point.h"
#include "ledger_store/checkpoint_store.h"
#include "merkle/tile.h"

namespace dpledger {

// The most files and connections that an engine keeps open.
inline constexpr size_t kStoreDescriptors = 512;

// A request for a grant, and what it comes to.
struct GrantAtSize {
  v1::GrantBudgetRequest request;  // as it came, by which it is known again
  std::vector<v1::Event> plan;     // all that is granted from then on
  // Of the budget, where the plan was worked out for that one alone; 0: for any.
  uint64_t budget_size = 0;
};
inline constexpr char kBudgetChanged[] = "BUDGET_CHANGED";
// Reason of UNAVAILABLE: a later program has changed the store so that this one may not use it.
inline constexpr char kServerTooOld[] = "SERVER_TOO_OLD";
// The database does not hold what it acknowledged: nothing more is asked of it.
inline constexpr char kDatabaseWentBack[] = "DATABASE_WENT_BACK";

// A line of batches: once one of them is refused, so is every later one (ABORTED, reason
// EARLIER_BATCH_REFUSED). So a caller can pass the next batch before the last is answered, and
// nothing is stored after a refusal. Thread safe: a batch for which there is no memory is refused
// by its caller's thread, while those before it may still wait.
class AppendLine {
 public:
  // Of the next batch. The store takes it when the batch is passed to it.
  uint64_t NextTurn() { return turns_++; }
  // The batch of that turn is refused.
  void Break(uint64_t turn) {
    uint64_t refused = first_refused_;
    while (turn < refused && !first_refused_.compare_exchange_weak(refused, turn)) {
    }
  }
  bool BrokenBefore(uint64_t turn) const { return first_refused_ < turn; }
  bool broken() const { return BrokenBefore(std::numeric_limits<uint64_t>::max()); }

 private:
  std::atomic<uint64_t> turns_ = 0;
  std::atomic<uint64_t> first_refused_ = std::numeric_limits<uint64_t>::max();
};

// The read side of a store. Code that only reads uses it, so that it also works on a folder that no
// server has open (embedded/folder.h).
class LedgerReader {
 public:
  virtual ~LedgerReader() = default;

  // The ledger's head, which is durable. NOT_FOUND (LEDGER_NOT_FOUND) if there is none.
  virtual absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) = 0;
  // At most `limit` heads of the ledgers whose names begin with `prefix`, which ends with "/", by
  // name, after `after` (empty: from the first).
  virtual absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                            size_t limit) = 0;

  // As calls return them: with the writers of that range, of which a ledger may have 2^20.
  // INVALID_ARGUMENT for what is no name. The parent is "projects/p", or "projects/-" for all.
  absl::StatusOr<v1::Ledger> Get(const std::string& name, const WriterRange& writers = {});
  absl::StatusOr<std::vector<v1::Ledger>> List(const std::string& parent, const std::string& after,
                                               size_t limit, const WriterRange& writers = {});
  // All of List, page by page, until one is not taken.
  absl::Status ForEach(const std::string& parent,
                       absl::FunctionRef<absl::Status(const v1::Ledger& ledger)> take,
                       const WriterRange& writers = kNoWriters);

  // Entries [first, ...) as stored: at most `max_entries`, and no more after `max_bytes` are
  // reached (at least one if there is one). OUT_OF_RANGE if `first` is beyond the ledger's size;
  // DATA_LOSS if an entry is missing or its bytes do not match their stored checksum.
  virtual absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                        size_t max_entries, size_t max_bytes) = 0;

  // The entries [first, end), which the ledger has, page by page, until one is not taken. Errors of
  // Read; DATA_LOSS if one is missing.
  absl::Status ForEachEntry(const std::string& name, uint64_t first, uint64_t end,
                            absl::FunctionRef<absl::Status(std::string& bytes)> take);

  // The ledger's stored run-length table. NOT_FOUND if there is none; DATA_LOSS if its bytes are
  // damaged.
  virtual absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) = 0;

  // The checkpoints, tiles and registry. Lives as long as this.
  virtual CheckpointReader& checkpoints() = 0;

  // For checks of a store at rest: how a request to a ledger was answered, and how many were.
  // NOT_FOUND if it has no such answer; UNIMPLEMENTED where an engine has other checks for them.
  virtual absl::StatusOr<v1::StoredRequest> Answered(const std::string& name,
                                                     const std::string& request_id);
  virtual absl::StatusOr<uint64_t> CountAnswered(const std::string& name);
};

// Asked before a batch is stored: whether the ledger can bear it. The store knows no accounting;
// who opens it for writing sets the gate. Thread safe. Called by the threads that commit, on which
// all appends wait: no long work.
class AppendGate {
 public:
  virtual ~AppendGate() = default;

  // Whether the ledger's batches are to be asked about.
  virtual bool Guards(const LedgerHead& head) const = 0;

  // What a gate works out of a batch before its turn, on its caller's thread: of `change`, if that
  // is still made of `head` then. Null: nothing.
  struct Ahead {
    virtual ~Ahead() = default;
  };
  virtual std::shared_ptr<Ahead> WorkAhead(const LedgerHead& /*head*/,
                                           const LedgerChange& /*change*/) {
    return nullptr;
  }

  // Of a ledger that it guards: why the batch is refused, which then leaves nothing; or OK.
  // `change` is what the batch makes of `head`; it may still not be stored. FAILED_PRECONDITION;
  // ABORTED if the answer is not known yet: the batch is to be sent again; RESOURCE_EXHAUSTED
  // (OUT_OF_MEMORY). `reader` reads what is durable. `ahead`: what was worked out; may be null.
  virtual absl::Status Admit(const LedgerHead& head, const LedgerChange& change,
                             std::string_view caller, LedgerReader& reader, Ahead* ahead) = 0;
};

// As ForEachEntry.
absl::StatusOr<std::vector<std::string>> ReadAll(LedgerReader& store, const std::string& ledger,
                                                 uint64_t first, uint64_t end);

// The end of a ledger that a signer reads: what continues the tree as it was signed.
struct TailRange {
  std::string ledger;
  uint64_t signed_size = 0;
  uint64_t size = 0;                  // at most the ledger's
  std::vector<merkle::TileId> tiles;  // that are wanted with the entries
};
struct Tail {
  absl::Status status;  // of this ledger alone
  // Of those that were asked for, the ones that are stored.
  std::map<merkle::TileId, std::string> tiles;
  std::vector<std::string> entries;  // [signed_size, size)
};

// What lists show of a ledger: the caller's bytes, which the store does not read.
struct SummaryRow {
  std::string ledger;
  std::string bytes;
};

// Ledgers that were made or went on.
struct ChangedLedgers {
  LedgerHeads heads;  // as they are now; some may be as they were
  std::vector<DamagedLedger> damaged;
  uint64_t next = 0;  // from where to ask the next time
  bool more = false;  // there are more already
};

// Requests that became durable together.
struct CommittedGroup {
  size_t requests = 0;   // those that were refused included
  uint64_t entries = 0;  // added to ledgers
  uint64_t ledgers = 0;  // that the group made
  absl::Duration took;   // what the disk or the database took
};

// Hears what a store makes durable: for metrics. Thread safe, and quick: the next group waits for
// it.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void OnGroup(const CommittedGroup& group) = 0;
};

// The size that the caller knows of a ledger; 0 for one that it does not know.
using KnownSizes = std::function<uint64_t(const std::string& ledger)>;

class LedgerStore : public LedgerReader {
 public:
  // Each call that writes has a `caller`: the name of who was authenticated, which the entries keep
  // (LedgerEntry.caller); empty if nobody was asked. INVALID_ARGUMENT if it is no such name.

  // Makes a ledger with the declaration or import as entry 0. ALREADY_EXISTS if the name is taken,
  // unless by the same request.
  virtual absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                            const std::string& caller) = 0;
  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request) {
    return Create(request, "");
  }

  // How many ledgers, of all projects, declare the data set `dataset`.
  virtual absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) = 0;

  using AppendCallback = std::function<void(absl::StatusOr<v1::Receipt>)>;
  // Calls `done` once, from a thread of the store, when the batch is durable or refused. Batches of
  // one caller are taken in the order of the calls. `done` must not block. NOT_FOUND;
  // INVALID_ARGUMENT; ABORTED (reason SEQUENCE_MISMATCH, metadata current_sequence);
  // FAILED_PRECONDITION or PERMISSION_DENIED with a reason of ledger_head.h's AppendBatch;
  // RESOURCE_EXHAUSTED
  // (QUEUE_FULL: too much waits for the disk; OUT_OF_MEMORY, where `done` may be called before
  // this returns); UNAVAILABLE (STORE_FAILED) after a disk error.
  // `line` may be null.
  virtual void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                           std::shared_ptr<AppendLine> line, AppendCallback done) = 0;
  void AppendAsync(v1::AppendBatchRequest request, std::shared_ptr<AppendLine> line,
                   AppendCallback done) {
    AppendAsync(std::move(request), "", std::move(line), std::move(done));
  }
  void AppendAsync(v1::AppendBatchRequest request, AppendCallback done) {
    AppendAsync(std::move(request), "", nullptr, std::move(done));
  }
  // The same, but waits for the answer.
  absl::StatusOr<v1::Receipt> Append(v1::AppendBatchRequest request,
                                     const std::string& caller = "");

  // Appends SEAL. FAILED_PRECONDITION (reason WRITERS_OPEN) if a writer has neither closed nor is
  // named missing.
  virtual absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                          const std::string& caller) = 0;
  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request) {
    return Seal(request, "");
  }

  // Makes a ledger whose entry 0 is FORK from `point`, a prefix of the parent, and appends
  // FORK_NOTICE to the parent unless it is sealed: both or neither. NOT_FOUND (of the parent);
  // OUT_OF_RANGE if the point is beyond it; ALREADY_EXISTS; INVALID_ARGUMENT for a declaration that
  // differs where it must not. Precondition: `point.root` is the parent's root at `point.size`.
  virtual absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request,
                                          const LedgerPoint& point, const std::string& caller) = 0;
  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point) {
    return Fork(request, point, "");
  }

  // Appends GRANT to the budget and GRANTED to the ledger (unless that is sealed), or neither.
  // NOT_FOUND (of either); FAILED_PRECONDITION (NO_BUDGET; LEDGER_SEALED; those of the gate);
  // ABORTED (BUDGET_CHANGED: work it out again). The receipt is the budget's.
  virtual absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller);
  // Of the request's own plan.
  absl::StatusOr<v1::Receipt> Grant(const v1::GrantBudgetRequest& request,
                                    const std::string& caller) {
    return Grant(GrantAtSize{request, {request.plan().begin(), request.plan().end()}}, caller);
  }

  CheckpointStore& checkpoints() override = 0;

  // The tails of these ledgers, in their order; holds all of them in memory. An engine that others
  // are asked for takes a few questions for all of them. Errors that concern all.
  virtual absl::StatusOr<std::vector<Tail>> ReadTails(const std::vector<TailRange>& ranges);

  // Stores the ledger's run-length table in place of an older one. Need not be durable.
  virtual absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) = 0;

  // Stores these rows in place of older ones, of ledgers that are there. Need not be durable.
  virtual absl::Status PutSummaries(const std::vector<SummaryRow>& rows);
  // The rows of these ledgers, or of all if none is named; in one read, in unspecified order.
  virtual absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers);

  // For one who follows all ledgers, whichever server writes to them: each that was made or has
  // gone on since the call whose `next` is `since`, but for those of the size that is `known` of
  // them (nothing: of none). About `limit` at a time. What `since` means ends with the process.
  virtual absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit,
                                                 const KnownSizes& known);
  // The `since` of whoever begins to follow now.
  virtual absl::StatusOr<uint64_t> ChangesEnd();

  // A text of the caller's under that name, which all servers on the database share; the store does
  // not read it, and must outlive the object. Null where a store has one server.
  virtual std::unique_ptr<SharedText> Text(const std::string& /*name*/) { return nullptr; }

  // Ends a change of key: authenticates every head of the previous key by the current one
  // (ledger/stored_head.h), and returns how many those were. A server calls it once it knows that
  // the store is whole and the key the right one, before its first request. DATA_LOSS if what the
  // store counts is not what its heads say. Does nothing without a key.
  virtual absl::StatusOr<uint64_t> RenewHeads() { return 0; }

  // OK, or why nothing more is acknowledged.
  virtual absl::Status Health() const = 0;
  bool Healthy() const { return Health().ok(); }

  // Tells `observer` of every group from now on; it must outlive the store. Once, before anything
  // is stored.
  virtual void Observe(StoreObserver* /*observer*/) {}
  // Asks `gate` about every batch from now on; it must outlive the store's use. Once, before
  // anything is stored.
  virtual void Guard(AppendGate* /*gate*/) {}
  // Bytes of requests that wait for the disk or the database.
  virtual size_t WaitingBytes() const { return 0; }

  // Makes `folder`, on the same machine, hold a copy of the store with everything that was
  // acknowledged before the call. UNIMPLEMENTED where the engine's own tools do that.
  virtual absl::Status SnapshotTo(const std::string& folder);
};

}  // namespace dpledger
