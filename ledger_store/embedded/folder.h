// A store's folder, for programs other than the server, and folders of files that they make beside
// it. Thread safe.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/evidence/fsck.h"
#include "ledger_store/store.h"

namespace dpledger::embedded {

// Locks the file that RocksDB locks while a server has the store open. Writes nothing.
class FolderLock {
 public:
  // kShared: other readers may take it meanwhile, no server may open the store. kExclusive: nobody
  // else may.
  enum class Kind { kShared, kExclusive };
  // FAILED_PRECONDITION (STORE_IN_USE) if the lock is held. OK if the folder has no lock file or
  // the file cannot be locked (read-only media): then nobody uses it.
  static absl::StatusOr<FolderLock> Take(const std::string& folder, Kind kind);

 private:
  explicit FolderLock(int fd) : file_(fd) {}
  bundle::FileDescriptor file_;
};

// Syncs the folder and the files in it, and gives all of them `like`'s owner, and the folder its
// mode: who runs a command need not be whom the server runs as. Errors carry errno's text.
absl::Status SyncAll(const std::string& folder, const struct stat& like);

// Checks the folder of an embedded store without changing it: every block of its table files, its
// logs, whether RocksDB opens it with all that was synced, and then what it reads there
// (ledger_store/evidence/fsck.h). What a server would not open is not looked into.
// NOT_FOUND if there is no store; FAILED_PRECONDITION if a server has it open (STORE_IN_USE) or it
// has another format; errors of the disk. Everything else is a finding in `report`.
absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger::embedded

namespace dpledger {

// Whether there is a store in the folder, as far as its files' names tell.
bool HoldsEmbeddedStore(const std::string& folder);

// Reads the store in a folder that no server has open. Nothing in the folder is written. Several
// programs may read it at once; a server that would open it meanwhile is refused.
// Thread safe. FAILED_PRECONDITION (STORE_IN_USE) if a server has the folder open, or if it has
// another format; DATA_LOSS if its records are damaged, inconsistent or not authentic; UNAVAILABLE
// and errors of errno for other errors of the disk. Precondition: this process does not have the
// folder open, whose lock it would lose.
absl::StatusOr<std::unique_ptr<LedgerReader>> OpenEmbeddedToRead(const std::string& folder,
                                                                 const HeadKeys& keys);

}  // namespace dpledger
