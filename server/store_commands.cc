#include "server/store_commands.h"

#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "flags/app.h"
#include "google/protobuf/util/json_util.h"
#include "ledger_store/embedded/folder_dump.h"
#include "ledger_store/embedded/folder_fsck.h"
#include "ledger_store/embedded/recovery.h"
#include "ledger_store/evidence/fsck.h"
#include "ledger_store/evidence/signing_key_file.h"
#include "merkle/authenticator.h"
#include "merkle/base64.h"
#include "merkle/compact_tree.h"
#include "server/command_progress.h"
#include "server/open_store.h"
#include "server/signing.h"
#include "server/stored_history.h"

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

constexpr char kDumpHelp[] = R"(Prints every entry that can still be read, one JSON object a line.

Examples:
  dpledger-server dump --store /var/lib/dpledger/store --output entries.jsonl
  dpledger-server dump --store ./store --ledger projects/p/ledgers/a | jq .entry

What has to be passed over is said on stderr.
Exit code: 0 all was read, 3 something was passed over, 1 the store cannot be read at all.)";

constexpr char kRecoverHelp[] =
    R"(Makes a store open again whose log is damaged, without what stands behind the damage.

Works on a copy, which takes the store's place only if it holds all that was signed: no fewer
entries than the last checkpoint in the second place, and the same roots. The original is kept
beside it. What was acknowledged after that checkpoint may be missing; receipts tell.

Examples:
  dpledger-server recover --store /var/lib/dpledger/store
  dpledger-server recover --store ./store --checkpoint ./checkpoint-from-a-witness

Exit code: 0 recovered, 1 refused, and nothing was changed.)";

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append({'\\', c});
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += absl::StrFormat("\\u%04x", byte);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

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
    absl::StrAppend(&findings, findings.empty() ? "" : ",", "{\"place\":", Quote(finding.place),
                    ",\"what\":", Quote(finding.what), "}");
  }
  std::string notes;
  for (const std::string& note : report.notes()) {
    absl::StrAppend(&notes, notes.empty() ? "" : ",", Quote(note));
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

int Fsck(const Place& place, bool json) {
  const absl::StatusOr<HeadKeys> keys = place.Keys();
  if (!keys.ok()) return Fail(keys.status());
  FsckReport report;
  absl::Status status;
  {
    CommandProgress progress;
    FsckOptions options;
    options.checkpoint_file = place.CheckpointFile();
    options.keys = *keys;
    options.check_history = [](LedgerReader& store, const std::string& ledger) {
      return CheckHistory(store, ledger);
    };
    options.progress = [&](const FsckReport& so_far) {
      progress.Show(absl::StrCat(so_far.ledgers, " ledgers, ", so_far.entries, " entries, ",
                                 so_far.count(), " findings"));
    };
    if (place.postgres.empty()) {
      status = embedded::FsckFolder(place.folder, options, report);
    } else {
      status = FsckDatabase(place.postgres, options, report);
    }
  }
  if (!status.ok()) {
    if (json) {
      std::cout << "{\"error\":{\"code\":" << Quote(absl::StatusCodeToString(status.code()))
                << ",\"message\":" << Quote({status.message().data(), status.message().size()})
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

std::string EntryLine(const embedded::SurvivingEntry& entry) {
  v1::LedgerEntry parsed;
  std::string readable;
  if (!parsed.ParseFromArray(entry.bytes.data(), static_cast<int>(entry.bytes.size())) ||
      !google::protobuf::util::MessageToJsonString(parsed, &readable).ok()) {
    readable = "null";
  }
  return absl::StrCat("{\"ledger\":", Quote(entry.ledger), ",\"sequence\":", entry.sequence,
                      ",\"entry\":", readable, ",\"bytes\":\"", merkle::Base64Encode(entry.bytes),
                      "\",\"leaf_hash\":\"", HexEncode(merkle::ToBytes(entry.leaf_hash)),
                      "\",\"signed\":", entry.is_signed ? "true" : "false", "}\n");
}

int Dump(const Place& place, const std::string& ledger, const std::string& output) {
  std::ofstream file;
  if (!output.empty()) {
    file.open(output, std::ios::binary | std::ios::trunc);
    if (!file) return Fail(absl::UnavailableError(absl::StrCat(output, ": cannot be written")));
  }
  std::ostream& out = output.empty() ? std::cout : file;
  FsckReport skipped;
  absl::Status status;
  {
    CommandProgress progress;
    embedded::DumpOptions options;
    options.ledger = ledger;
    options.checkpoint_file = place.CheckpointFile();
    options.entry = [&](const embedded::SurvivingEntry& entry) {
      out << EntryLine(entry);
      progress.Show(absl::StrCat(skipped.entries, " entries"));
      return out ? absl::OkStatus() : absl::UnavailableError("the output cannot be written");
    };
    status = embedded::DumpFolder(place.folder, options, skipped);
  }
  out.flush();
  if (status.ok() && !out) status = absl::UnavailableError("the output cannot be written");
  if (!status.ok()) return Fail(status);
  PrintReport(skipped, std::cerr);
  std::cerr << skipped.entries << " entries of " << skipped.ledgers << " ledgers\n";
  return skipped.clean() ? kDone : kDamaged;
}

int Recover(const Place& place, const std::string& checkpoint) {
  embedded::RecoveryOptions options;
  options.folder = place.folder;
  options.checkpoint_file = checkpoint.empty() ? place.CheckpointFile() : checkpoint;
  options.now = absl::Now();
  const absl::StatusOr<embedded::Recovered> recovered = embedded::Recover(options);
  if (!recovered.ok()) return Fail(recovered.status());
  uint64_t entries = 0;
  uint64_t beyond = 0;
  for (const embedded::Recovered::Ledger& ledger : recovered->ledgers) {
    entries += ledger.size;
    beyond += ledger.size - ledger.signed_size;
  }
  std::cout << place.folder << ": holds " << recovered->ledgers.size() << " ledgers with "
            << entries << " entries, " << beyond << " of them not signed yet.\n"
            << "Its registry has " << recovered->registry_size
            << " entries; the checkpoint outside signs " << recovered->checkpoint_size
            << ", all of which are there.\n"
            << "At most entries that were acknowledged after that checkpoint are missing: a client "
               "whose receipt goes beyond its ledger will say so.\n"
            << "The damaged store is kept as " << recovered->kept_as << "\n";
  return kDone;
}

}  // namespace

void AddStoreCommands(flags::App& app, std::function<int()>& chosen) {
  struct Given {
    Place place;
    bool json = false;
    std::string ledger;
    std::string output;
    std::string checkpoint;
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

  flags::App& dump = *app.add_subcommand("dump", kDumpHelp);
  place.AddStore(dump);
  place.AddCheckpointFile(dump);
  dump.add_option("--ledger", given->ledger, "Only this one; all unless told");
  dump.add_option("--output", given->output, "File to write; stdout unless told")
      ->type_name("FILE");
  dump.callback([given, &chosen] {
    chosen = [given] { return Dump(given->place, given->ledger, given->output); };
  });

  flags::App& recover = *app.add_subcommand("recover", kRecoverHelp);
  place.AddStore(recover);
  place.AddCheckpointFile(recover);
  recover
      .add_option("--checkpoint", given->checkpoint,
                  "Another file with a signed checkpoint of the store's registry")
      ->type_name("FILE");
  recover.callback(
      [given, &chosen] { chosen = [given] { return Recover(given->place, given->checkpoint); }; });
}

}  // namespace dpledger::server
