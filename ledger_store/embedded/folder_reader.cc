#include "ledger_store/embedded/folder_reader.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/folder_lock.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/read_only_database.h"
#include "ledger_store/embedded/stepped_store.h"
#include "ledger_store/embedded/synced_record.h"

namespace dpledger {
namespace embedded {
namespace {

class FolderReader : public LedgerReader {
 public:
  FolderReader(FolderLock lock, std::unique_ptr<rocksdb::Env> env,
               std::unique_ptr<SteppedStore> store)
      : lock_(std::move(lock)), env_(std::move(env)), store_(std::move(store)) {}

  absl::StatusOr<v1::Ledger> Get(const std::string& name, const WriterRange& writers) override {
    return store_->Get(name, writers);
  }
  absl::StatusOr<std::vector<v1::Ledger>> List(const std::string& parent, const std::string& after,
                                               size_t limit, const WriterRange& writers) override {
    return store_->List(parent, after, limit, writers);
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    return store_->Read(name, first, max_entries, max_bytes);
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    return store_->GetHistory(name);
  }
  CheckpointReader& checkpoints() override { return store_->checkpoints(); }

 private:
  const FolderLock lock_;
  const std::unique_ptr<rocksdb::Env> env_;    // the store's database uses it
  const std::unique_ptr<SteppedStore> store_;  // last: it goes first
};

}  // namespace
}  // namespace embedded

bool HoldsEmbeddedStore(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder + "/CURRENT", ignored);
}

absl::StatusOr<std::unique_ptr<LedgerReader>> OpenEmbeddedToRead(const std::string& folder,
                                                                 const HeadKeys& keys) {
  ASSIGN_OR_RETURN(embedded::FolderLock lock,
                   embedded::FolderLock::Take(folder, embedded::FolderLock::Kind::kShared));
  RETURN_IF_ERROR(embedded::CheckLogs(folder).status());
  RETURN_IF_ERROR(embedded::CheckSyncedAtRest(folder));
  embedded::ReadOnlyDatabase opened =
      embedded::OpenReadOnly(folder, rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  if (!opened.status.ok()) {
    return embedded::DiskError(absl::StrCat("read the store in ", folder), opened.status);
  }
  RETURN_IF_ERROR(embedded::CheckVersion(*opened.db, folder));
  ASSIGN_OR_RETURN(std::unique_ptr<embedded::SteppedStore> store,
                   embedded::OpenSteppedStore(std::move(opened.db), *Clock::System(), keys));
  return std::make_unique<embedded::FolderReader>(std::move(lock), std::move(opened.env),
                                                  std::move(store));
}

}  // namespace dpledger
