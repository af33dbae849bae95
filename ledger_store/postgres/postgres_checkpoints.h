// The PostgreSQL engine's CheckpointStore. The lease to sign is a row with an epoch: a publication
// locks the row, and is refused under an earlier epoch. The holder raises the row's beat; another
// server takes the next epoch if it has seen the same epoch and beat for the lease's length by its
// own steady clock. So no clock of the database, and no time of day, decides who signs.
//
//  1. Publish returns OK after a commit that is known to be on the standby. The entries under a
//     checkpoint were committed before it, and so are on the standby too.
//  2. Latest returns no checkpoint that a failover could undo: it waits for a commit of its own,
//     unless the checkpoint is known to be no newer than one that it has waited for.
// Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger_store/checkpoint_store.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

class PostgresCheckpoints : public CheckpointStore {
 public:
  // Both must outlive this.
  PostgresCheckpoints(Database& database, Clock& clock) : database_(database), clock_(clock) {}

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::Status ReleaseLease(const std::string& holder) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override;
  absl::Status Want(const std::vector<std::string>& ledgers) override;
  absl::StatusOr<std::vector<std::string>> TakeWanted() override;
  absl::Status Publish(const Publication& publication) override;
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

 private:
  // One state of the signer's row while another server holds the lease.
  struct Beat {
    int64_t epoch = -1;
    int64_t beat = -1;
    absl::Duration seen;  // the steady time at which it was seen first
  };
  // For how long the row has been seen in that state.
  absl::Duration UnchangedFor(int64_t epoch, int64_t beat);
  // Checks a publication in the open transaction; returns the statements that write it. If
  // `repeated`, an earlier run may have stored it.
  absl::StatusOr<std::vector<Statement>> Store(Connection& connection,
                                               const Publication& publication, bool repeated) const;
  // Of the checkpoints that an SQL clause with these values chooses; all without one.
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> ReadLatest(std::string_view where,
                                                                         const Values& values);
  absl::Status SetWanted(const std::vector<std::string>& ledgers, bool wanted);
  // Drops ledgers without unsigned entries from the index of those to sign. Only speeds Unsigned
  // up, which compares sizes itself.
  void ClearSigned();
  // Waits until the registry's entry is known to be on the standby; its size was read with it.
  absl::Status AwaitRegistry(uint64_t index, uint64_t registry_size);
  // NOT_FOUND unless the log is the registry or an existing ledger.
  absl::Status CheckLog(const std::string& log) const;

  Database& database_;
  Clock& clock_;
  absl::Mutex mutex_;
  Beat other_ ABSL_GUARDED_BY(mutex_);
  // The registry's size in the latest commit that is known to be on the standby; and the registry's
  // checkpoint.
  uint64_t durable_registry_size_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string durable_registry_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::postgres
