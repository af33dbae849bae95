// The embedded engine's CheckpointStore: records in the same RocksDB folder. A publication is one
// synced write, after the entries that it covers were synced. So even if a database loses the end
// of its log, it holds the entries of every checkpoint that it holds. The folder's lock is the
// lease to sign. Thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/checkpoint_store.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

class EmbeddedCheckpoints : public CheckpointStore {
 public:
  // Finds the registry's end, and compares each log with its checkpoint. DATA_LOSS if a log is
  // shorter than its checkpoint. The arguments must outlive this.
  static absl::StatusOr<std::unique_ptr<EmbeddedCheckpoints>> Load(rocksdb::DB& db,
                                                                   SyncedWriter& writer,
                                                                   LedgerTable& table,
                                                                   FailStop& fail_stop);

  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override;
  absl::Status Publish(const Publication& publication) override;
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> LatestOfAll() override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

 private:
  EmbeddedCheckpoints(rocksdb::DB& db, SyncedWriter& writer, LedgerTable& table,
                      FailStop& fail_stop)
      : db_(db), writer_(writer), table_(table), fail_stop_(fail_stop) {}

  absl::StatusOr<uint64_t> IdOf(const std::string& log) const;
  uint64_t registry_size() const;
  // INVALID_ARGUMENT unless the checkpoint follows the log's last one.
  absl::Status CheckFollows(const SignedLog& log, uint64_t id, uint64_t registry_size);

  rocksdb::DB& db_;
  SyncedWriter& writer_;
  LedgerTable& table_;
  FailStop& fail_stop_;
  mutable absl::Mutex mutex_;  // held for the length of a publication
  uint64_t registry_size_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::embedded
