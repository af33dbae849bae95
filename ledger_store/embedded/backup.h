// Backups of a store: a copy of its files in a folder of its own, with a manifest that proves the
// copy whole. docs/formats.md, section 2, defines the manifest.
//
//   FOLDER/BACKUP    the manifest
//   FOLDER/store/    the files: a store that fsck reads and a server opens
//
//  1. A backup holds no key, token or second place: those are beside a store, not in it.
//  2. A backup, or a store that was restored, gets its name when it is whole and synced. Until then
//     it is FOLDER.partial, which an error removes.
//  3. Nothing is taken from a backup that its manifest does not name, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "ledger_store/embedded/backup_manifest.h"

namespace dpledger::embedded {

// Told of the bytes that were copied so far. An error ends the copy with that error.
using CopyProgress = std::function<absl::Status(uint64_t bytes)>;

// Copies the store in the folder `from`, which must be at rest or a snapshot, to the backup `to`,
// whose parent must be there. ALREADY_EXISTS if something has that name. Errors of the disk and of
// `progress`.
absl::StatusOr<BackupManifest> MakeBackup(const std::string& from, const std::string& to,
                                          const BackupManifest& about,
                                          const CopyProgress& progress);

// Copies the store out of the backup `from` to the folder `to`, as MakeBackup, and gives it to the
// owner of the folder that `to` is in. DATA_LOSS if a file is not what the manifest says; NOT_FOUND
// if there is no manifest; INVALID_ARGUMENT for one that is damaged.
absl::StatusOr<BackupManifest> RestoreBackup(const std::string& from, const std::string& to,
                                             const CopyProgress& progress);

}  // namespace dpledger::embedded
