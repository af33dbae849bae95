#include "ledger_store/embedded/embedded_store.h"

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <functional>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/entry_clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger_store/embedded/commit_group.h"
#include "ledger_store/embedded/commit_queue.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/embedded_checkpoints.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/embedded/stored_rows.h"
#include "ledger_store/embedded/synced_record.h"
#include "ledger_store/staging/staged_group.h"
#include "rocksdb/perf_level.h"

namespace dpledger {
namespace embedded {
namespace {

constexpr int kCommitNice = -10;

// What one sync made durable, on its way to the callers.
struct AnsweredGroup {
  std::vector<QueuedOperation> operations;
  std::vector<absl::StatusOr<v1::Receipt>> answers;  // of the operations; all of them if `failure`
  absl::Status failure;                              // is OK
  size_t bytes = 0;
};

// Runs tasks on a thread of its own, one after the other. The commit thread gives it the answers of
// a durable group: waking 64 callers takes about as long as a fast disk's sync, and so overlaps
// with writing the next group (64 writers of one event each: 48 k/s without this thread).
//
//  1. Tasks run once each, in the order of the calls. The destructor runs the tasks that are left.
// Thread safe.
class AnswerThread {
 public:
  AnswerThread() : thread_([this] { RunUntilStopped(); }) {}
  ~AnswerThread() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    thread_.join();
  }
  AnswerThread(const AnswerThread&) = delete;
  AnswerThread& operator=(const AnswerThread&) = delete;

  void Run(std::function<void()> task) {
    absl::MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
  }

 private:
  void RunUntilStopped() {
    ::pthread_setname_np(::pthread_self(), "answer");  // as top and perf show it
    while (true) {
      std::vector<std::function<void()>> tasks;
      {
        const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return stopping_ || !tasks_.empty();
        };
        absl::MutexLock lock(&mutex_, absl::Condition(&ready));
        if (tasks_.empty()) return;
        tasks.swap(tasks_);
      }
      for (std::function<void()>& task : tasks) {
        task();
        task = nullptr;  // what it holds is not kept for the others
      }
    }
  }

  absl::Mutex mutex_;
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

class EmbeddedStore : public SteppedStore {
 public:
  static absl::StatusOr<std::unique_ptr<EmbeddedStore>> Open(const EmbeddedOptions& options) {
    ASSIGN_OR_RETURN(auto db, OpenDatabase(options.folder, options.env));
    ASSIGN_OR_RETURN(auto writer, SyncedWriter::Open(*db, options.folder));
    ASSIGN_OR_RETURN(auto store, Load(std::move(db), std::move(writer), options));
    store->StartThreads();
    return store;
  }

  // Without threads.
  static absl::StatusOr<std::unique_ptr<EmbeddedStore>> Load(
      std::unique_ptr<rocksdb::DB> db, std::unique_ptr<SyncedWriter> writer,
      const EmbeddedOptions& options, std::shared_ptr<const void> kept = nullptr) {
    ASSIGN_OR_RETURN(auto table, LedgerTable::Load(*db, options.keys));
    std::unique_ptr<EmbeddedStore> store(
        new EmbeddedStore(std::move(db), std::move(writer), std::move(table), options));
    store->kept_ = std::move(kept);
    ASSIGN_OR_RETURN(
        store->checkpoints_,
        EmbeddedCheckpoints::Load(*store->db_, *store->writer_, *store->table_, store->fail_stop_));
    return store;
  }

  ~EmbeddedStore() override {
    if (!commit_thread_.joinable()) return;
    queue_.Close();
    commit_thread_.join();
  }

  CheckpointStore& checkpoints() override { return *checkpoints_; }

  absl::StatusOr<uint64_t> RenewHeads() override {
    RETURN_IF_ERROR(fail_stop_.status());
    const uint64_t heads = table_->to_renew().size();
    if (heads == 0) return heads;
    rocksdb::WriteBatch batch;
    RETURN_IF_ERROR(table_->AddRenewedHeads(batch));
    RETURN_IF_ERROR(Kept(writer_->Write(batch, "write and sync heads")));
    return heads;
  }

  absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) override {
    RETURN_IF_ERROR(fail_stop_.status());
    ASSIGN_OR_RETURN(const LedgerRecord record, table_->Find(name));
    return Kept(WriteHistory(*db_, record, history));
  }

  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    RETURN_IF_ERROR(fail_stop_.status());
    ASSIGN_OR_RETURN(const LedgerRecord record, table_->Find(name));
    return OrRead(ReadHistory(*db_, record));
  }

  absl::Status PutSummaries(const std::vector<SummaryRow>& rows) override {
    RETURN_IF_ERROR(fail_stop_.status());
    return Kept(WriteSummaries(*db_, *table_, rows));
  }

  absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers) override {
    RETURN_IF_ERROR(fail_stop_.status());
    return OrRead(ScanSummaries(*db_, *table_, ledgers));
  }

  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    RETURN_IF_ERROR(fail_stop_.status());
    ASSIGN_OR_RETURN(LedgerRecord record, table_->Find(name));
    return std::move(record.head);
  }

  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    RETURN_IF_ERROR(fail_stop_.status());
    return table_->List(prefix, after, limit);
  }

  absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit,
                                         const KnownSizes& known) override {
    RETURN_IF_ERROR(fail_stop_.status());
    LedgerTable::Puts puts = table_->PutSince(since, limit);
    std::erase_if(puts.heads, [&known](const auto& head) {
      return known && known(head->name) == head->tree.size();
    });
    return ChangedLedgers{std::move(puts.heads), {}, puts.reached, puts.more};
  }

  absl::StatusOr<uint64_t> ChangesEnd() override {
    return table_->PutSince(~uint64_t{0}, 0).reached;
  }

  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    RETURN_IF_ERROR(fail_stop_.status());
    return table_->CountDeclaring(dataset);
  }

  absl::StatusOr<v1::StoredRequest> Answered(const std::string& name,
                                             const std::string& request_id) override {
    ASSIGN_OR_RETURN(const LedgerRecord record, table_->Find(name));
    v1::StoredRequest request;
    const absl::Status read = GetRecord(*db_, RequestKey(record.id, request_id), request);
    if (absl::IsNotFound(read)) return absl::NotFoundError("there is no record of it");
    if (!read.ok()) return fail_stop_.OfRead(read);
    return request;
  }

  absl::StatusOr<uint64_t> CountAnswered(const std::string& name) override {
    ASSIGN_OR_RETURN(const LedgerRecord record, table_->Find(name));
    uint64_t count = 0;
    const absl::Status read =
        Scan(*db_, LedgerPrefix(Table::kRequest, record.id), "count the answered requests",
             [&](std::string_view, std::string_view) {
               ++count;
               return absl::OkStatus();
             });
    if (read.ok()) return count;
    return fail_stop_.OfRead(read);
  }

  size_t Step() override {
    AnsweredGroup group;
    if (!queue_.TakeWaiting(group.operations)) return 0;
    Commit(group);
    Answer(group);
    return group.operations.size();
  }

  absl::Status Health() const override { return fail_stop_.status(); }

  absl::Status SnapshotTo(const std::string& folder) override {
    RETURN_IF_ERROR(fail_stop_.status());
    return MakeSnapshot(*db_, writer_->last(), folder);
  }

  size_t WaitingBytes() const override { return queue_.bytes(); }

 private:
  EmbeddedStore(std::unique_ptr<rocksdb::DB> db, std::unique_ptr<SyncedWriter> writer,
                std::unique_ptr<LedgerTable> table, const EmbeddedOptions& options)
      : db_(std::move(db)),
        writer_(std::move(writer)),
        table_(std::move(table)),
        entry_clock_(*options.clock),
        queue_(options.max_pending_bytes) {}

  void StartThreads() {
    answer_thread_.emplace();
    commit_thread_ = std::thread([this] { CommitUntilStopped(); });
  }

  void Queue(Operation&& operation, AppendCallback* done) override {
    QueuedOperation queued(std::move(operation));
    queued.WorkAhead(*db_, *table_, absl::FromUnixSeconds(last_group_seconds_), gate());
    queue_.Push(queued, done);
    const bool waits = done == nullptr;
    if (waits && !commit_thread_.joinable()) Step();
  }

  absl::StatusOr<std::vector<std::string>> Entries(const std::string& name, uint64_t first,
                                                   size_t max_entries, size_t max_bytes) override {
    RETURN_IF_ERROR(fail_stop_.status());
    ASSIGN_OR_RETURN(const LedgerRecord record, table_->Find(name));
    return OrRead(ReadEntries(*db_, record, first, max_entries, max_bytes));
  }

  // What was read, or the answer to a read that failed.
  template <typename T>
  absl::StatusOr<T> OrRead(absl::StatusOr<T> read) {
    if (read.ok()) return read;
    return fail_stop_.OfRead(read.status());
  }
  absl::Status Kept(const absl::Status& written) {
    return written.ok() ? written : fail_stop_.Fail(written);
  }

  void CommitUntilStopped() {
    ::pthread_setname_np(::pthread_self(), "commit");  // as top and perf show it
    // After a sync it should not stand in line behind the callers that it is to wake: 64 writers of
    // one event each went from 54 k/s to 64 k/s. Without the right to, it stays as it was.
    ::setpriority(PRIO_PROCESS, 0, kCommitNice);
    // Counting its comparisons takes RocksDB a seventh of a write.
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    while (true) {
      const std::shared_ptr<AnsweredGroup> group = NewGroup();
      if (!queue_.Take(group->operations)) return;
      Commit(*group);
      try {
        answer_thread_->Run([this, group] { Answer(*group); });
      } catch (const std::bad_alloc&) {
        Answer(*group);
      }
    }
  }

  // Waits for memory: what is queued stays queued meanwhile.
  static std::shared_ptr<AnsweredGroup> NewGroup() {
    while (true) {
      try {
        return std::make_shared<AnsweredGroup>();
      } catch (const std::bad_alloc&) {
        absl::SleepFor(absl::Milliseconds(10));
      }
    }
  }

  // Where memory runs out before anything of the group is written, all of it is refused: what
  // staging has made of the heads by then is thrown away whole. RocksDB is not asked to survive
  // that, so its own write is outside: there, as before, the process ends, and the log decides.
  void Commit(AnsweredGroup& answered) {
    const absl::Time now = entry_clock_.Now();
    last_group_seconds_ = absl::ToUnixSeconds(now);
    batch_.Clear();  // keeps its memory
    CommitGroup group(*db_, *table_, *this, now, gate());
    absl::Status& failure = answered.failure;
    failure = fail_stop_.status();
    for (const QueuedOperation& operation : answered.operations) answered.bytes += operation.bytes;
    if (failure.ok()) failure = Stage(answered, group);
    const absl::Time before = absl::Now();
    if (failure.ok()) failure = Write();
    if (failure.ok()) {
      CommittedGroup committed{.requests = answered.operations.size(),
                               .took = absl::Now() - before};
      group.CountInto(committed);
      Tell(committed);
    }
    if (failure.ok()) failure = Publish(group);
    // The next batch of a ledger can be made ahead from now on.
    for (QueuedOperation& operation : answered.operations) operation.place.reset();
  }

  // Everything up to the bytes to write. An error: nothing of the group is stored.
  absl::Status Stage(AnsweredGroup& answered, CommitGroup& group) {
    try {
      answered.answers.reserve(answered.operations.size());
      for (QueuedOperation& operation : answered.operations) {
        answered.answers.push_back(group.Stage(operation));
        const absl::Status& status = answered.answers.back().status();
        if (!status.ok()) operation.BreakLine();
        // One answer that somebody has changed does not stop the others.
        if ((absl::IsDataLoss(status) && ReasonOf(status).reason != kForgedAnswer) ||
            absl::IsUnavailable(status)) {
          return fail_stop_.Fail(status);
        }
      }
      // RocksDB's batch must not run out of memory itself: it ends the process then.
      if (const size_t bytes = group.BytesToWrite(); bytes > batch_room_) {
        const size_t room = bytes + (size_t{1} << 16);
        batch_ = rocksdb::WriteBatch(room);
        batch_room_ = room;
      }
      group.Write(batch_);
      return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      // No later batch of a line may be stored when an earlier one was not.
      for (const QueuedOperation& operation : answered.operations) operation.BreakLine();
      return OutOfMemory();
    }
  }

  // The group is durable. Heads that lag behind the disk would overwrite what is there: so the
  // store stops if they cannot be put in place.
  absl::Status Publish(CommitGroup& group) {
    try {
      group.Publish();
      return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      return fail_stop_.Fail(
          absl::UnavailableError("out of memory after a group of requests was stored"));
    }
  }

  void Answer(AnsweredGroup& group) {
    queue_.Release(group.bytes);
    // Refusals too: they may rest on requests of this group that have not become durable.
    for (size_t i = 0; i < group.operations.size(); ++i) {
      EngineStore::Answer(group.operations[i],
                          group.failure.ok() ? std::move(group.answers[i]) : group.failure);
    }
    queue_.Finish();
  }

  absl::Status Write() {
    if (batch_.Count() == 0) return absl::OkStatus();
    return Kept(writer_->Write(batch_, "write and sync"));
  }

  std::shared_ptr<const void> kept_;  // goes after the database
  const std::unique_ptr<rocksdb::DB> db_;
  const std::unique_ptr<SyncedWriter> writer_;
  const std::unique_ptr<LedgerTable> table_;
  FailStop fail_stop_;
  std::unique_ptr<EmbeddedCheckpoints> checkpoints_;  // set by Open, and not changed afterwards
  const EntryClock entry_clock_;

  // When the last group was recorded, seconds: a guess at when the next will be.
  std::atomic<int64_t> last_group_seconds_ = 0;

  CommitQueue queue_;
  rocksdb::WriteBatch batch_;  // the commit thread's
  size_t batch_room_ = 0;      // that it has memory for
  std::optional<AnswerThread> answer_thread_;
  std::thread commit_thread_;  // last: it uses all of the above
};

}  // namespace

absl::StatusOr<std::unique_ptr<SteppedStore>> OpenSteppedStore(std::unique_ptr<rocksdb::DB> db,
                                                               Clock& clock, HeadKeys keys,
                                                               std::shared_ptr<const void> kept) {
  EmbeddedOptions options;
  options.keys = std::move(keys);
  options.clock = &clock;
  std::unique_ptr<SyncedWriter> writer = SyncedWriter::Unrecorded(*db);
  return EmbeddedStore::Load(std::move(db), std::move(writer), options, std::move(kept));
}

}  // namespace embedded

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenEmbeddedStore(const EmbeddedOptions& options) {
  return embedded::EmbeddedStore::Open(options);
}

}  // namespace dpledger
