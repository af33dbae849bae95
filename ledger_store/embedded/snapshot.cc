#include "ledger_store/embedded/snapshot.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "rocksdb/utilities/checkpoint.h"

namespace dpledger::embedded {

absl::Status MakeSnapshot(rocksdb::DB& db, const SyncedPoint& synced, const std::string& folder) {
  rocksdb::Checkpoint* made = nullptr;
  const rocksdb::Status begun = rocksdb::Checkpoint::Create(&db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (!begun.ok()) return DiskError("begin a snapshot", begun);
  absl::Cleanup remove = [&folder] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    std::filesystem::remove_all(folder + ".tmp", ignored);  // RocksDB's, before it renames it
  };
  // Logs are copied, not flushed into tables: a flush that fails would stop the database.
  constexpr uint64_t kNeverFlush = std::numeric_limits<uint64_t>::max();
  const rocksdb::Status copied = checkpoint->CreateCheckpoint(folder, kNeverFlush);
  if (!copied.ok()) return DiskError("make a snapshot", copied);
  RETURN_IF_ERROR(WriteSyncedRecord(folder, synced));
  std::move(remove).Cancel();
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
