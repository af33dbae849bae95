// Remembers, in a file of its own beside RocksDB's, how far the store's log was synced. RocksDB
// takes a newest log that is gone, zeroed or cut short for one that was never written, and opens
// without a word; the record tells that acknowledged entries are missing. docs/formats.md, section
// 2, defines the bytes.
//
//  1. A record is written only after the sync that it tells of has returned, and is not synced
//     itself: after a crash or a power cut it is at most as far as the log. So it never refuses a
//     store that has lost nothing.
//  2. One slot is written at a time, each in a sector of its own: a write that is interrupted
//     leaves the other one.
//  3. It does not help against somebody who puts the whole folder back to an older copy: only the
//     second place (evidence/start_check.h) or a witness can tell that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/bundle/file.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace dpledger::embedded {

inline constexpr char kSyncedRecordFile[] = "SYNCED";

struct SyncedPoint {
  uint64_t sequence = 0;  // RocksDB's, of the last synced write
  std::string store_id;   // the database's identity, which its MANIFEST holds
};

struct SyncedRecord {
  std::optional<SyncedPoint> last;  // nullopt: no slot was written yet, or the file is not there
  int slot = -1;                    // of the last
  bool damaged = false;             // something in the file is neither a slot nor zeros
};

// Errors of the disk.
absl::StatusOr<SyncedRecord> ReadSyncedRecord(const std::string& folder);

// DATA_LOSS (STORE_WENT_BACK) if `record` says that a database that ends at `sequence` has lost
// synced writes.
absl::Status CheckSynced(const std::string& folder, const SyncedRecord& record, uint64_t sequence);

// Makes the record of a store that was copied to `folder` up to that write or beyond it. Durable.
absl::Status WriteSyncedRecord(const std::string& folder, const SyncedPoint& last);

// Before a store is opened, which would change it: as CheckSynced, with the end of the database in
// the folder. `last_logged`: as CheckLogs, which is OK, says.
absl::Status CheckSyncedAtRest(const std::string& folder, uint64_t last_logged);

// All synced writes of a database. Thread safe.
class SyncedWriter {
 public:
  // `db` must outlive this. DATA_LOSS if the record in the folder is another store's.
  static absl::StatusOr<std::unique_ptr<SyncedWriter>> Open(rocksdb::DB& db,
                                                            const std::string& folder);
  // For a database without a folder: syncs its writes, and keeps no record.
  static std::unique_ptr<SyncedWriter> Unrecorded(rocksdb::DB& db);
  SyncedWriter(const SyncedWriter&) = delete;
  SyncedWriter& operator=(const SyncedWriter&) = delete;

  // Writes and syncs the batch, then records that. Errors as DiskError; after one it is not known
  // whether the batch is durable. `what` is for the error.
  absl::Status Write(rocksdb::WriteBatch& batch, const char* what);

  // Up to where everything is known to be synced.
  SyncedPoint last() const;

 private:
  SyncedWriter(rocksdb::DB& db, int fd, std::string path, SyncedPoint last, int next_slot)
      : db_(db), file_(fd), path_(std::move(path)), last_(std::move(last)), next_slot_(next_slot) {}

  rocksdb::DB& db_;
  const bundle::FileDescriptor file_;  // -1: no record
  const std::string path_;
  mutable absl::Mutex mutex_;
  SyncedPoint last_ ABSL_GUARDED_BY(mutex_);
  int next_slot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::embedded
