// The operations that one sync makes durable together: what staging makes of them as rows.
//
//  1. Nobody sees the new heads before Publish.
// Not thread safe: the commit thread's own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/staging/operation.h"
#include "ledger_store/staging/staged_group.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace dpledger::embedded {

struct QueuedOperation : Operation {
  explicit QueuedOperation(Operation&& operation) : Operation(std::move(operation)) {}

  // Works a batch out if no other append to its ledger is on its way, whose end this one would have
  // to wait for. `minute` is a guess at when it will be recorded. `gate` may be null. On the
  // caller's thread.
  void WorkAhead(rocksdb::DB& db, const LedgerTable& table, absl::Time minute, AppendGate* gate);

  std::optional<AheadOfTurn> ahead;
  // Of a batch: counts as one of the ledger's `waiting` until it is reset.
  std::shared_ptr<std::atomic<int>> place;
};

class CommitGroup : private StoredLedgers {
 public:
  // `reader` reads the same store. `gate` may be null.
  CommitGroup(rocksdb::DB& db, LedgerTable& table, LedgerReader& reader, absl::Time now,
              AppendGate* gate)
      : db_(db), table_(table), reader_(reader), staged_(*this, now, table.keys().current, gate) {}

  // As StagedGroup::Stage: the operation must outlive the group. DATA_LOSS and UNAVAILABLE come
  // from the disk.
  absl::StatusOr<v1::Receipt> Stage(const QueuedOperation& operation) {
    return staged_.Stage(operation, operation.ahead.has_value() ? &*operation.ahead : nullptr);
  }

  // How much room Write needs in its batch, at most.
  size_t BytesToWrite() const;
  // Puts the rows of all that was staged into `batch`: none if nothing is new. Call once.
  void Write(rocksdb::WriteBatch& batch);
  // Counts what was staged.
  void CountInto(CommittedGroup& counted) const { staged_.CountInto(counted); }
  // Shows the new heads to everybody. Precondition: the rows are durable.
  void Publish();

 private:
  std::shared_ptr<const LedgerHead> Head(const std::string& ledger) override;
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                             const std::string& request_id) override;
  LedgerReader& reader() override { return reader_; }

  rocksdb::DB& db_;
  LedgerTable& table_;
  LedgerReader& reader_;
  StagedGroup staged_;
  std::vector<LedgerRecord> written_;
};

}  // namespace dpledger::embedded
