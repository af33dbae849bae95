// The PostgreSQL engine's CheckpointStore. Who may sign is a row with an epoch: a publication locks
// it, and is refused under an epoch that has passed. Leases end by the database's clock.
//
//  1. Publish returns OK after a commit that is known to be on the standby: the entries that a
//     checkpoint speaks of were committed before it, and so are there too.
//  2. Latest gives no checkpoint that a failover could still take back: it waits for a commit of
//     its own, unless it knows the checkpoint to be older than one that it has waited for.
// Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/checkpoint_store.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

class PostgresCheckpoints : public CheckpointStore {
 public:
  // `database` outlives this.
  explicit PostgresCheckpoints(Database& database) : database_(database) {}

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<std::vector<v1::Ledger>> Unsigned(const std::string& after, size_t limit) override;
  absl::Status Publish(const Publication& publication) override;
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

 private:
  // Checks a publication in the open transaction; what writes it. If `repeated`, an earlier run may
  // have stored it.
  absl::StatusOr<std::vector<Statement>> Store(Connection& connection,
                                               const Publication& publication, bool repeated) const;
  // NOT_FOUND unless the log is the registry or a ledger that is there.
  absl::Status CheckLog(const std::string& log) const;

  Database& database_;
  absl::Mutex mutex_;
  // So long was the registry in a commit that is known to be on the standby; and its own
  // checkpoint.
  uint64_t durable_registry_size_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string durable_registry_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::postgres
