// Opens a RocksDB folder as a store: its lock, its format version, and RocksDB's errors as this
// project's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "google/protobuf/message_lite.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace dpledger::embedded {

// Opens or makes the database in `folder`. FAILED_PRECONDITION if a server has it open
// (STORE_IN_USE), or if it has another format version; DATA_LOSS if it is damaged; UNAVAILABLE for
// other errors of the disk.
absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenDatabase(const std::string& folder,
                                                          rocksdb::Env* env);

// Opens the database in `folder` to be looked at, by the server's options but for the recovery
// mode: no file is made, written, renamed or removed, and logs are replayed in memory. `db` is null
// unless the status is OK.
rocksdb::Status OpenReadOnly(
    const std::string& folder, std::unique_ptr<rocksdb::DB>& db,
    rocksdb::WALRecoveryMode recovery = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);

// Makes `folder`, which must not be there, hold a store with every write that was synced before the
// call. Tables are hard links where the folder is on the database's volume; the logs are copied, at
// most 256 MiB (rocksdb_options.h). `synced` was read before the call: the snapshot's own synced
// record. On an error `folder` is gone. A full disk fails the snapshot, and not the database:
// nothing is flushed. Errors as DiskError.
struct SyncedPoint;  // synced_record.h
absl::Status MakeSnapshot(rocksdb::DB& db, const SyncedPoint& synced, const std::string& folder);

// That the database has a format that this program reads; gives one that is empty its version.
// FAILED_PRECONDITION naming both formats; DATA_LOSS if the version is gone.
absl::Status CheckVersion(rocksdb::DB& db, const std::string& folder);

// DATA_LOSS for damaged data, UNAVAILABLE for any other error. Precondition: `status` is not OK.
absl::Status DiskError(std::string_view operation, const rocksdb::Status& status);

// Calls `visit` with each key that begins with `prefix` (the prefix cut off) and its value. `what`
// is for errors, which are DiskError's and those of `visit`.
absl::Status Scan(rocksdb::DB& db, const std::string& prefix, std::string_view what,
                  const std::function<absl::Status(std::string_view, std::string_view)>& visit);

// Reads the record under `key`. NOT_FOUND if there is none; otherwise errors as DiskError.
absl::Status GetRecord(rocksdb::DB& db, const std::string& key,
                       google::protobuf::MessageLite& record);

// Keeps the first error of the disk. After it the disk cannot be trusted, so from then on the whole
// store answers with this error. Thread safe.
class FailStop {
 public:
  // OK, or UNAVAILABLE (STORE_FAILED) since the first error.
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return failure_;
  }

  // Stops the store with `cause`, unless it has stopped already. Returns status().
  absl::Status Fail(const absl::Status& cause) {
    absl::MutexLock lock(&mutex_);
    if (failure_.ok()) {
      failure_ = WithReason(
          absl::UnavailableError(absl::StrCat(
              "the store has stopped after an error of the disk and acknowledges nothing more: ",
              cause.message())),
          {"STORE_FAILED", {}});
    }
    return failure_;
  }

  // The answer to a failed read. UNAVAILABLE, an error of the disk, stops the store; damaged data
  // (DATA_LOSS) and missing data do not.
  absl::Status OfRead(const absl::Status& error) {
    return absl::IsUnavailable(error) ? Fail(error) : error;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace dpledger::embedded
