// Commands about registries: watching one, and what it did wrong.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/trust_flags.h"
#include "dpledger/v1/command.pb.h"
#include "merkle/compact_tree.h"
#include "registry/contradiction.h"
#include "registry/follower.h"
#include "registry/server_source.h"

namespace dpledger::cli {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);
// One of several servers on one database may be a round behind another.
constexpr int kLooksBehind = 5;

struct FollowFlags {
  connection::ServerAccess server;
  std::string mirror;
  KeyFlags keys;
  std::string state;
  std::string evidence;
  uint64_t every = 60;
  bool once = false;
  bool prove_growth = false;

  void Check() const {
    RefuseIf(server.address.empty() == mirror.empty(), "--server",
             "or --mirror must be given, and only one of them");
    RefuseIf(prove_growth && server.address.empty(), "--prove-growth",
             "needs a --server: a mirror has no ledgers");
  }
};

std::unique_ptr<registry::RegistrySource> SourceOf(const FollowFlags& flags) {
  if (flags.server.address.empty()) return std::make_unique<registry::FolderSource>(flags.mirror);
  return registry::SourceOfServer(flags.server, kPatience);
}

// A folder that nobody has yet: evidence is never overwritten.
absl::StatusOr<std::string> KeepEvidence(const std::string& base,
                                         const registry::ContradictionFiles& files) {
  std::string folder = base;
  std::error_code error;
  for (int i = 2; !std::filesystem::create_directories(folder, error); ++i) {
    if (error) return absl::InternalError(absl::StrCat(folder, ": ", error.message()));
    folder = absl::StrCat(base, "-", i);
  }
  for (const auto& [name, content] : files)
    RETURN_IF_ERROR(WriteFileDurably(absl::StrCat(folder, "/", name), content));
  return folder;
}

// What a refusal of a follower means; null for other errors.
const char* MeaningOf(const std::string& reason) {
  if (reason == registry::kContradiction)
    return "what its key signed cannot all be true. Nothing that it says can be relied on.";
  if (reason == registry::kWentBack) {
    return "an older registry was shown than before: its store was put back, or a server or mirror "
           "is behind.";
  }
  if (reason == registry::kNotProven) {
    return "the server does not prove that the ledger's past stayed as it was. A bundle of the "
           "ledger shows whether it did.";
  }
  return nullptr;
}

// Such a refusal with its meaning and the place of its evidence; other errors as they are.
absl::Status WithEvidence(const absl::Status& status, const FollowFlags& flags,
                          const registry::Follower& follower) {
  const ErrorReason reason = ReasonOf(status);
  const char* meaning = MeaningOf(reason.reason);
  if (meaning == nullptr) return status;
  const std::string base = flags.evidence.empty() ? flags.state + ".contradiction" : flags.evidence;
  const absl::StatusOr<std::string> folder = KeepEvidence(base, follower.evidence());
  std::string to_do;
  if (!folder.ok()) {
    to_do = absl::StrCat("the evidence could not be kept: ", folder.status().message());
  } else if (reason.reason == registry::kContradiction) {
    to_do = absl::StrCat("keep ", *folder,
                         ", which shows it to anybody who knows the key (`dpledger registry check ",
                         *folder, " --key KEY`), and tell whoever runs the server.");
  } else {
    to_do = absl::StrCat("keep ", *folder, ", and ask whoever runs the server.");
  }
  return WithReason(absl::Status(status.code(), absl::StrCat(status.message(), "\n  This means: ",
                                                             meaning, "\n  What to do: ", to_do)),
                    reason);
}

v1::RegistryFollowed MessageOf(const registry::Follower& follower,
                               const registry::FollowRound& round) {
  const registry::RegistryLog& log = follower.log();
  const merkle::Checkpoint checkpoint = *merkle::ParseCheckpoint(follower.checkpoint()->text);
  v1::RegistryFollowed answer;
  answer.set_origin(checkpoint.origin);
  answer.set_size(checkpoint.size);
  answer.set_new_entries(round.entries);
  answer.set_root_hash(merkle::ToBytes(checkpoint.root));
  answer.set_ledgers(log.ledgers().size());
  answer.set_signed_by(log.keys().back().ToText());
  answer.set_growth_proofs(round.growth_proofs);
  return answer;
}

absl::Status Follow(const FollowFlags& flags, Output& out) {
  registry::FollowerOptions options;
  options.state_file = flags.state;
  options.prove_growth = flags.prove_growth;
  ASSIGN_OR_RETURN(options.trusted, flags.keys.Keys());
  for (const merkle::VerifierKey& key : options.trusted) {
    if (key.type != merkle::SignatureType::kEd25519) {
      return FieldError("--key",
                        absl::StrCat("must be a log's here, got that of the witness ", key.name,
                                     ": following a registry asks for no cosignatures"));
    }
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<registry::Follower> follower,
                   registry::Follower::Open(std::move(options)));
  const std::unique_ptr<registry::RegistrySource> source = SourceOf(flags);
  int behind = 0;
  while (true) {
    const absl::StatusOr<registry::FollowRound> round = follower->Follow(*source);
    behind = ReasonOf(round.status()).reason == registry::kWentBack ? behind + 1 : 0;
    if (round.ok() && flags.once) return out.Answer(MessageOf(*follower, *round));
    if (round.ok() && round->entries > 0) {
      out.Note(absl::StrCat("registry of ", round->size, " entries, ", round->entries,
                            " new: as it must be"));
    }
    // A server that is away or behind comes back; what it says wrongly is said for good.
    const bool may_pass =
        absl::IsUnavailable(round.status()) || (behind > 0 && behind < kLooksBehind);
    if (!round.ok() && (flags.once || !may_pass))
      return WithEvidence(round.status(), flags, *follower);
    if (!round.ok()) out.Note(absl::StrCat("asked again: ", round.status().message()));
    std::this_thread::sleep_for(std::chrono::seconds(flags.every));
  }
}

void AddFollow(flags::App& registry, Command& chosen) {
  auto [command, flags] = AddCommand(
      registry, "follow",
      "Watches a registry: reads every entry, keeps what it said, and ends with exit code 3 and "
      "the evidence if it ever says something else.",
      "  dpledger registry follow --server 127.0.0.1:7070 --key-file server.keys --state "
      "reg.state\n"
      "  dpledger registry follow --mirror /srv/tiles --key-file server.keys --state reg.state "
      "--once",
      Follow, chosen);
  AddServer(command, flags.server);
  AddPlain(command, "--mirror", flags.mirror, "FOLDER",
           "a folder with the registry's files: checkpoint and C2SP tiles");
  flags.keys.AddTo(command);
  AddPlain(command, "--state", flags.state, "FILE",
           "what was read so far: made at the first time, needed for ever after")
      ->required();
  AddPlain(command, "--evidence", flags.evidence, "FOLDER",
           "where a contradiction is kept; without it STATE.contradiction");
  AddCount(command, "--every", flags.every, 1, "seconds between two looks; 60 if not given");
  command.add_flag("--once", flags.once, "looks once, and prints what was found");
  command.add_flag("--prove-growth", flags.prove_growth,
                   "also asks the server to prove that each signed size of a ledger begins the "
                   "next one");
}

struct CheckFlags {
  std::string folder;
  KeyFlags keys;
};

absl::Status Check(const CheckFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const std::vector<merkle::VerifierKey> keys, flags.keys.Keys());
  if (keys.empty()) return absl::InvalidArgumentError("--key: the key of the log must be given");
  registry::ContradictionFiles files;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(flags.folder, error)) {
    ASSIGN_OR_RETURN(files[file.path().filename()], ReadFile(file.path()));
  }
  if (error) return absl::NotFoundError(absl::StrCat(flags.folder, ": ", error.message()));
  v1::ContradictionProved answer;
  ASSIGN_OR_RETURN(*answer.mutable_proved(), registry::CheckContradiction(files, keys));
  return out.Answer(answer);
}

void AddCheck(flags::App& registry, Command& chosen) {
  auto [command, flags] = AddCommand(
      registry, "check",
      "Says what the files that `registry follow` kept prove against a registry. Needs nothing but "
      "them and the log's key; exit code 1 if they prove nothing.",
      "  dpledger registry check reg.state.contradiction --key-file server.keys", Check, chosen);
  command.add_option("FOLDER", flags.folder, "the folder of evidence")->required();
  flags.keys.AddTo(command);
}

}  // namespace

void AddRegistryCommands(flags::App& app, Command& chosen) {
  flags::App& registry =
      AddGroup(app, "registry", "The log of all ledgers' checkpoints: watching it.",
               "  dpledger registry follow --server 127.0.0.1:7070 --key-file server.keys --state "
               "reg.state");
  AddFollow(registry, chosen);
  AddCheck(registry, chosen);
}

}  // namespace dpledger::cli
