#include "server/program/backup_commands.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "ledger_store/embedded/backup.h"
#include "ledger_store/embedded/folder.h"
#include "questions/answers.h"
#include "server/program/command_progress.h"
#include "server/snapshot_door.h"

namespace dpledger::server {
namespace {

enum Exit : int { kDone = 0, kFailure = 1, kDamaged = 3 };

constexpr char kBackupHelp[] =
    R"(Copies a store into a new folder, while its server runs or not.

The copy holds everything that was acknowledged before the command began, and no key: keep the
signing key elsewhere. Run it as the server's user or as root, on the server's machine.

Examples:
  dpledger-server backup --store /var/lib/dpledger/store --to /backup/ledgers-2026-11-22
  dpledger-server fsck --store /backup/ledgers-2026-11-22/store
  dpledger-server restore --from /backup/ledgers-2026-11-22 --store /var/lib/dpledger/store

Ledgers in PostgreSQL are backed up with the database: pg_basebackup, pgBackRest or pg_dump.
Exit code: 0 done, 1 refused or failed, and nothing was left at --to.)";

constexpr char kRestoreHelp[] =
    R"(Puts a backup in the place of a store, after comparing every byte with the backup's hashes.

Stop the server, and move the old folder away first: --store must not be there. The signing key
belongs beside it, as <store folder>.signing-key.

Examples:
  dpledger-server restore --from /backup/ledgers-2026-11-22 --store /var/lib/dpledger/store

Exit code: 0 done, 1 refused or failed, 3 the backup is damaged; then nothing was left at --store.)";

volatile sig_atomic_t interrupted = 0;

// Ctrl-C ends the copy, which removes what there is of it.
void HeedInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return absl::IsDataLoss(status) ? kDamaged : kFailure;
}

std::string Mebibytes(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

embedded::CopyProgress ShowOn(CommandProgress& progress, const SnapshotLease* lease) {
  return [&progress, lease](uint64_t bytes) {
    progress.Show(absl::StrCat("copied ", Mebibytes(bytes)));
    if (interrupted != 0) return absl::CancelledError("interrupted; nothing was kept");
    if (lease != nullptr && !lease->held())
      return absl::UnavailableError("the server has ended; try again");
    return absl::OkStatus();
  };
}

// What a store is copied from: the snapshot of its server, or the store itself while none runs.
struct Source {
  std::unique_ptr<SnapshotLease> lease;
  std::optional<embedded::FolderLock> lock;
  std::string folder;
};

absl::StatusOr<Source> SourceOf(const std::string& store) {
  Source source;
  absl::StatusOr<std::unique_ptr<SnapshotLease>> lease = SnapshotLease::Take(store);
  if (lease.ok()) {
    source.lease = *std::move(lease);
    source.folder = SnapshotFolder(store);
    return source;
  }
  if (!absl::IsNotFound(lease.status())) return lease.status();
  absl::StatusOr<embedded::FolderLock> lock =
      embedded::FolderLock::Take(store, embedded::FolderLock::Kind::kShared);
  if (!lock.ok()) {
    return absl::Status(lock.status().code(),
                        absl::StrCat(lock.status().message(), ". It does not answer at ",
                                     SnapshotSocket(store), ": its log says why"));
  }
  source.lock.emplace(*std::move(lock));
  source.folder = store;
  return source;
}

int Backup(const std::string& store, const std::string& to) {
  HeedInterrupts();
  // Whoever waits for the server comes first.
  if (::nice(10) == -1) errno = 0;
  const absl::Time begun = absl::Now();
  absl::StatusOr<Source> source = SourceOf(store);
  if (!source.ok()) return Fail(source.status());
  absl::StatusOr<embedded::BackupManifest> made;
  {
    CommandProgress progress;
    made = embedded::MakeBackup(source->folder, to,
                                {.created = absl::FromUnixSeconds(absl::ToUnixSeconds(begun)),
                                 .version = questions::Version(),
                                 .files = {}},
                                ShowOn(progress, source->lease.get()));
  }
  if (!made.ok()) return Fail(made.status());
  std::cout << to << ": " << made->files.size() << " files with " << Mebibytes(made->bytes())
            << ", as they were at "
            << absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", made->created, absl::UTCTimeZone())
            << (source->lease != nullptr ? ", of a server that runs" : "") << "\n"
            << "Check it: dpledger-server fsck --store " << to << "/store\n";
  return kDone;
}

int Restore(const std::string& from, const std::string& store) {
  HeedInterrupts();
  absl::StatusOr<embedded::BackupManifest> restored;
  {
    CommandProgress progress;
    restored = embedded::RestoreBackup(from, store, ShowOn(progress, nullptr));
  }
  if (!restored.ok()) return Fail(restored.status());
  std::cout << store << ": " << restored->files.size() << " files with "
            << Mebibytes(restored->bytes()) << ", as they were at "
            << absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", restored->created, absl::UTCTimeZone())
            << "\nThe server needs the signing key beside it, and refuses the store if the second "
               "place tells of more than it holds.\n";
  return kDone;
}

}  // namespace

void AddBackupCommands(flags::App& app, std::function<int()>& chosen) {
  struct Places {
    std::string store = "./var/store";
    std::string other;
    std::string postgres;
  };
  const auto places = std::make_shared<Places>();
  flags::App& backup = *app.add_subcommand("backup", kBackupHelp);
  backup.add_option("--store", places->store, "Folder of the ledgers")
      ->capture_default_str()
      ->type_name("FOLDER");
  backup.add_option("--to", places->other, "Folder to make; its parent must be there")
      ->required()
      ->type_name("FOLDER");
  backup.add_option("--postgres", places->postgres, "Not for this command: it says what is")
      ->type_name("FILE")
      ->check([](const std::string&) {
        return std::string(
            "ledgers in PostgreSQL are backed up with the database: pg_basebackup, pgBackRest, or "
            "pg_dump --schema=dpledger (docs/operating.md, \"Backup and restore\")");
      });
  backup.callback(
      [places, &chosen] { chosen = [places] { return Backup(places->store, places->other); }; });

  flags::App& restore = *app.add_subcommand("restore", kRestoreHelp);
  restore.add_option("--from", places->other, "Folder that backup made")
      ->required()
      ->type_name("FOLDER");
  restore.add_option("--store", places->store, "Folder to make of it")
      ->capture_default_str()
      ->type_name("FOLDER");
  restore.callback(
      [places, &chosen] { chosen = [places] { return Restore(places->other, places->store); }; });
}

}  // namespace dpledger::server
