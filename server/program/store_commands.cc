#include "server/program/store_commands.h"

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"
#include "flags/app.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/embedded/recovery.h"
#include "ledger_store/evidence/fsck.h"
#include "merkle/authenticator.h"
#include "registry/signing_key_file.h"
#include "server/program/command_progress.h"
#include "server/program/open_store.h"
#include "server/questions/stored_history.h"
#include "server/signing/signing.h"

namespace dpledger::server {
namespace {

enum Exit : int { kDone = 0, kFailure = 1, kDamaged = 3 };

constexpr char kFsckHelp[] =
    R"(Reads everything in a store, repairs nothing, and says what is damaged.

Examples:
  dpledger-server fsck --store /var/lib/dpledger/store
  dpledger-server fsck --store ./store --checkpoint-copy /mnt/other/store.checkpoint --json
  dpledger-server fsck --postgres ./connection --checkpoint-copy ./ledgers.checkpoint
  dpledger-server fsck --postgres ./connection --signing-key ./ledgers.signing-key

Exit code: 0 clean, 3 something is damaged, 1 the store cannot be read at all.)";

constexpr char kRecoverHelp[] =
    R"(Saves what can be read of a damaged store into a new folder. The store itself stays as it is.

  FOLDER/store            a store that opens: the damaged one up to the damage in its log. Only if
                          it holds everything that was signed; then move it to the store's place
  FOLDER/<ledger>.bundle  each ledger whose signed entries are all there: `dpledger ledger verify`
                          checks it, `dpledger ledger import` takes it into another store
  FOLDER/entries.jsonl    every other entry that can be read, and whether it is proven to be signed

There must be room for three copies of the store. What is damaged or missing is said on stderr.

Examples:
  dpledger-server recover --store /var/lib/dpledger/store --to /var/lib/dpledger/recovered
  dpledger-server recover --store ./store --to ./recovered --checkpoint-copy ./from-a-witness

Exit code: 0 nothing is damaged, 3 something is and the rest was saved, 1 nothing was saved.)";

int Fail(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return kFailure;
}

struct Place {
  std::string folder = "./var/store";
  std::string postgres;
  std::string checkpoint_file;
  std::string key_file;

  void AddStore(flags::App& app) {
    app.add_option("--store", folder, "Folder of the ledgers")
        ->capture_default_str()
        ->type_name("FOLDER");
  }
  void AddCheckpointFile(flags::App& app) {
    app.add_option("--checkpoint-copy", checkpoint_file,
                   "File that keeps the latest checkpoint outside the store; "
                   "<store folder>.checkpoint unless told")
        ->check(flags::ExistingFile())
        ->type_name("FILE");
  }
  void AddKeyFile(flags::App& app) {
    app.add_option("--signing-key", key_file,
                   "The server's signing key: heads are checked for their authenticators too; "
                   "<store folder>.signing-key if it is there, unless told")
        ->type_name("FILE");
  }
  // Of the heads; none without a key.
  absl::StatusOr<HeadKeys> Keys() const {
    const bool asked = !key_file.empty();
    if (!asked && !postgres.empty()) return HeadKeys();
    const absl::StatusOr<merkle::Ed25519PrivateKey> key =
        ReadSigningKey(asked ? key_file : SigningOptions::Beside(folder).key_file);
    if (!key.ok() && !asked) return HeadKeys();
    RETURN_IF_ERROR(key.status());
    return HeadKeys{std::make_shared<const merkle::Authenticator>(*key, kHeadPurpose), nullptr};
  }
  std::string CheckpointFile() const {
    if (!checkpoint_file.empty() || !postgres.empty()) return checkpoint_file;
    return SigningOptions::Beside(folder).checkpoint_file;
  }
};

std::string ReportJson(const FsckReport& report) {
  std::string findings;
  for (const Finding& finding : report.findings()) {
    absl::StrAppend(&findings, findings.empty() ? "" : ",",
                    "{\"place\":", JsonString(finding.place),
                    ",\"what\":", JsonString(finding.what), "}");
  }
  std::string notes;
  for (const std::string& note : report.notes()) {
    absl::StrAppend(&notes, notes.empty() ? "" : ",", JsonString(note));
  }
  return absl::StrCat("{\"clean\":", report.clean() ? "true" : "false",
                      ",\"ledgers\":", report.ledgers, ",\"entries\":", report.entries,
                      ",\"tiles\":", report.tiles, ",\"registry_size\":", report.registry_size,
                      ",\"finding_count\":", report.count(), ",\"findings\":[", findings,
                      "],\"notes\":[", notes, "]}");
}

void PrintReport(const FsckReport& report, std::ostream& out) {
  for (const Finding& finding : report.findings()) {
    out << finding.place << ": " << finding.what << "\n";
  }
  if (report.count() > report.findings().size()) {
    out << "and " << report.count() - report.findings().size() << " more\n";
  }
  for (const std::string& note : report.notes()) out << "note: " << note << "\n";
}

// Whatever the heads are, all is compared that can be.
absl::Status FsckDatabase(const std::string& postgres, FsckOptions options, FsckReport& report) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LedgerStore> store, OpenStore("", postgres, {}));
  std::unique_ptr<LedgerStore> authenticated;
  if (options.keys.current != nullptr) {
    ASSIGN_OR_RETURN(authenticated, OpenStore("", postgres, options.keys));
    options.authenticated = authenticated.get();
  }
  dpledger::Fsck(*store, options, report);
  return absl::OkStatus();
}

FsckOptions OptionsOf(const Place& place, const HeadKeys& keys, CommandProgress& progress) {
  FsckOptions options;
  options.checkpoint_file = place.CheckpointFile();
  options.keys = keys;
  options.check_history = [](LedgerReader& store, const std::string& ledger) {
    return CheckHistory(store, ledger);
  };
  options.progress = [&](const FsckReport& so_far) {
    progress.Show(absl::StrCat(so_far.ledgers, " ledgers, ", so_far.entries, " entries, ",
                               so_far.count(), " findings"));
  };
  return options;
}

int Fsck(const Place& place, bool json) {
  const absl::StatusOr<HeadKeys> keys = place.Keys();
  if (!keys.ok()) return Fail(keys.status());
  FsckReport report;
  absl::Status status;
  {
    CommandProgress progress;
    const FsckOptions options = OptionsOf(place, *keys, progress);
    if (place.postgres.empty()) {
      status = embedded::FsckFolder(place.folder, options, report);
    } else {
      status = FsckDatabase(place.postgres, options, report);
    }
  }
  if (!status.ok()) {
    if (json) {
      std::cout << "{\"error\":{\"code\":" << JsonString(absl::StatusCodeToString(status.code()))
                << ",\"message\":" << JsonString({status.message().data(), status.message().size()})
                << "}}\n";
      return kFailure;
    }
    return Fail(status);
  }
  if (json) {
    std::cout << ReportJson(report) << "\n";
  } else {
    PrintReport(report, std::cout);
    std::cout << (report.clean() ? "clean" : absl::StrCat(report.count(), " findings")) << ": "
              << report.ledgers << " ledgers with " << report.entries << " entries, "
              << report.tiles << " tiles, a registry of " << report.registry_size << " entries\n";
  }
  return report.clean() ? kDone : kDamaged;
}

int Recover(const Place& place, const std::string& to) {
  embedded::RecoveryOptions options{.folder = place.folder, .to = to, .fsck = {}};
  const absl::StatusOr<HeadKeys> keys = place.Keys();
  if (!keys.ok()) return Fail(keys.status());
  absl::StatusOr<embedded::Recovered> recovered;
  {
    CommandProgress progress;
    options.fsck = OptionsOf(place, *keys, progress);
    recovered = embedded::Recover(options);
  }
  if (!recovered.ok()) return Fail(recovered.status());
  PrintReport(recovered->report, std::cerr);
  if (recovered->has_store) {
    std::cout << to << "/store: opens, and holds everything that was signed\n";
  }
  std::cout << recovered->bundles << " bundles with " << recovered->bundled << " entries\n"
            << to << "/entries.jsonl: " << recovered->others << " entries more\n";
  return recovered->report.clean() ? kDone : kDamaged;
}

}  // namespace

void AddStoreCommands(flags::App& app, std::function<int()>& chosen) {
  struct Given {
    Place place;
    bool json = false;
    std::string to;
  };
  const auto given = std::make_shared<Given>();
  Place& place = given->place;
  flags::App& fsck = *app.add_subcommand("fsck", kFsckHelp);
  place.AddStore(fsck);
  fsck.add_option("--postgres", place.postgres,
                  "Check the PostgreSQL database whose connection string this file holds")
      ->type_name("FILE");
  place.AddCheckpointFile(fsck);
  place.AddKeyFile(fsck);
  fsck.add_flag("--json", given->json, "Print one JSON object");
  fsck.callback([given, &chosen] { chosen = [given] { return Fsck(given->place, given->json); }; });

  flags::App& recover = *app.add_subcommand("recover", kRecoverHelp);
  place.AddStore(recover);
  recover.add_option("--to", given->to, "Folder that is made, for what is saved")
      ->required()
      ->type_name("FOLDER");
  place.AddCheckpointFile(recover);
  place.AddKeyFile(recover);
  recover.callback(
      [given, &chosen] { chosen = [given] { return Recover(given->place, given->to); }; });
}

}  // namespace dpledger::server
