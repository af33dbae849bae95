#include "server/signing/signing.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "registry/signing_key_file.h"

namespace dpledger::server {
namespace {

using SharedKey = std::shared_ptr<const merkle::Ed25519PrivateKey>;

// How long servers that begin on one empty database wait for the first of them.
constexpr absl::Duration kLongestBeginning = absl::Seconds(30);
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
constexpr absl::Duration kShortestLease = absl::Seconds(15);
// The machine's clock may be wrong if a store's last entry is further away.
constexpr absl::Duration kLongestQuiet = absl::Hours(24);
constexpr absl::Duration kLongestAhead = absl::Hours(1);

absl::StatusOr<SharedKey> Shared(absl::StatusOr<merkle::Ed25519PrivateKey> key) {
  RETURN_IF_ERROR(key.status());
  return std::make_shared<const merkle::Ed25519PrivateKey>(*std::move(key));
}

// OK if no key has signed the store.
absl::Status CheckUnsigned(const SigningOptions& options, LedgerStore& store) {
  const absl::Status signed_before = store.checkpoints().Latest(kRegistryLog).status();
  if (absl::IsNotFound(signed_before)) return absl::OkStatus();
  RETURN_IF_ERROR(signed_before);
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        options.key_file,
                        ": is not there, and this store is signed already; put the key back "
                        "from its backup: with another one its checkpoints cannot be carried on")),
                    {"SIGNING_KEY_MISSING", {}});
}

// A store that was never signed gets a new key; any other must be given its own. Null: there is no
// store yet.
absl::StatusOr<SharedKey> LoadKey(const SigningOptions& options, LedgerStore* store,
                                  const Log& log) {
  if (options.key != nullptr) return options.key;
  absl::StatusOr<SharedKey> key = Shared(ReadSigningKey(options.key_file));
  if (!absl::IsNotFound(key.status())) return key;
  if (store != nullptr) RETURN_IF_ERROR(CheckUnsigned(options, *store));
  RETURN_IF_ERROR(CheckNothingSigned(CheckpointFile(options.checkpoint_file)));
  if (!options.checkpoint_file.empty())
    RETURN_IF_ERROR(CheckpointFile(options.checkpoint_file).MarkNew());
  key = Shared(MakeSigningKey(options.key_file));
  if (key.ok()) {
    log.Write(
        LogLevel::kWarning, "signing_key_made",
        {{"file", std::filesystem::absolute(options.key_file).string()},
         {"message",
          "back this file up, apart from the store: nothing signs for this store without it"}});
  }
  return key;
}

// What to believe where the second place is not there.
absl::StatusOr<std::vector<std::string>> AskElsewhere(const SigningOptions& options,
                                                      const std::string& origin) {
  if (options.accept_missing_checkpoint) return std::vector<std::string>();
  absl::StatusOr<std::vector<std::string>> notes =
      options.witnessed ? options.witnessed(origin)
                        : absl::UnavailableError("there is no --witness to ask");
  // One that has cosigned nothing tells an older copy from the newest as little as none.
  if (notes.ok() && notes->empty())
    notes = absl::UnavailableError("no witness has cosigned anything of this registry");
  if (notes.ok()) return notes;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          options.checkpoint_file,
          ": is not there beside a key that was made before, so that an older copy of the store "
          "could not be told from the newest: ",
          notes.status().message(),
          ". Put the file back, or give a --witness that has cosigned this registry; if the store "
          "is known to be the newest, or new, start once with --accept-missing-checkpoint")),
      {"CHECKPOINT_COPY_MISSING", {}});
}

std::string Holder() {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  std::string random(8, '\0');
  if (::getrandom(random.data(), random.size(), 0) < 0) random.clear();
  return absl::StrCat(host, ":", ::getpid(), ":", HexEncode(random));
}

// Rounds until nothing is left. While another process begins the registry, waits for it.
absl::StatusOr<SigningRound> SignAll(Notary& notary) {
  const absl::Time give_up = absl::Now() + kLongestBeginning;
  SigningRound all;
  while (true) {
    const absl::StatusOr<SigningRound> round = notary.Sign();
    const std::string reason = ReasonOf(round.status()).reason;
    if ((reason == "SIGNER_ELSEWHERE" || reason == "SIGNER_REPLACED") && absl::Now() < give_up) {
      absl::SleepFor(kLookEvery);
      continue;
    }
    RETURN_IF_ERROR(round.status());
    all.ledgers += round->ledgers;
    all.entries += round->entries;
    if (!round->more) return all;
  }
}

// The volume that a path lies on, or will lie on; nullopt if that cannot be told.
std::optional<dev_t> VolumeOf(const std::string& path) {
  std::filesystem::path place = std::filesystem::path(path).lexically_normal();
  struct stat status = {};
  if (::stat(place.c_str(), &status) == 0) return status.st_dev;
  place = place.has_parent_path() ? place.parent_path() : std::filesystem::path(".");
  if (::stat(place.c_str(), &status) == 0) return status.st_dev;
  return std::nullopt;
}

void WarnOfPlaces(const SigningOptions& options, const Log& log) {
  if (options.store_folder.empty() || options.checkpoint_file.empty()) return;
  const std::optional<dev_t> volume = VolumeOf(options.store_folder);
  if (!volume.has_value() || VolumeOf(options.checkpoint_file) != volume) return;
  const bool key_too = VolumeOf(options.key_file) == volume;
  log.Write(LogLevel::kWarning, "places_share_a_volume",
            {{"store", options.store_folder},
             {"checkpoint_copy", options.checkpoint_file},
             {"signing_key", options.key_file},
             {"signing_key_too", key_too},
             {"message",
              "a snapshot of that volume, put back later, takes the store and its second place "
              "back together, and this server cannot notice that entries are gone; keep "
              "--checkpoint-copy on another volume, or have witnesses cosign"}});
}

// The first entry of this process trusts the time of day, and a recorded time never goes back.
void WarnOfClock(const Notary& notary, Clock& clock, const Log& log) {
  const absl::Time last = notary.last_recorded_time();
  const absl::Time now = clock.Now();
  if (last == absl::InfinitePast()) return;
  if (now - last > kLongestQuiet || last - now > kLongestAhead) {
    log.Write(
        LogLevel::kWarning, "clock_far_from_last_entry",
        {{"seconds_since_last_entry", absl::ToInt64Seconds(now - last)},
         {"message", "check this machine's clock: recorded times follow it, and never go back"}});
  }
}

}  // namespace

absl::Duration SigningOptions::Lease() const { return std::max(kShortestLease, 3 * every); }

SigningOptions SigningOptions::Beside(const std::string& store_folder) {
  SigningOptions options;
  options.key_file = dpledger::Beside(store_folder, ".signing-key");
  options.checkpoint_file = dpledger::Beside(store_folder, ".checkpoint");
  return options;
}

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenUnderKey(
    SigningOptions& options, bool is_new,
    const std::function<absl::StatusOr<std::unique_ptr<LedgerStore>>(const HeadKeys&)>& open,
    const Log& log) {
  absl::StatusOr<SharedKey> key = Shared(ReadSigningKey(options.key_file));
  if (absl::IsNotFound(key.status())) {
    std::unique_ptr<LedgerStore> unsigned_store;
    if (!is_new) {
      ASSIGN_OR_RETURN(unsigned_store, open({}));
    }
    key = LoadKey(options, unsigned_store.get(), log);
  }
  RETURN_IF_ERROR(key.status());
  options.key = *key;
  SharedKey previous;
  if (!options.previous_key_file.empty()) {
    ASSIGN_OR_RETURN(previous, Shared(ReadSigningKey(options.previous_key_file)));
  }
  const auto head_key = [](const SharedKey& of) {
    return of == nullptr ? nullptr
                         : std::make_shared<const merkle::Authenticator>(*of, kHeadPurpose);
  };
  auto store = open({.current = head_key(*key), .previous = head_key(previous)});
  if (!absl::IsDataLoss(store.status())) return store;
  // Heads that a wrong key reads look like damage.
  const auto without_keys = open({});
  Registry registry;
  if (!without_keys.ok() || !registry.CatchUp((*without_keys)->checkpoints()).ok()) return store;
  RETURN_IF_ERROR(CheckSigner(registry, **key, previous.get()));
  return store;
}

absl::Status SignTheRest(Notary& notary, bool signs) {
  absl::StatusOr<SigningRound> round = SigningRound{.more = signs};
  while (round.ok() && round->more) round = notary.Sign();
  absl::Status done = round.status();
  done.Update(notary.Release());
  return done;
}

absl::StatusOr<std::unique_ptr<Notary>> OpenNotary(const SigningOptions& options,
                                                   LedgerStore& store, const Log& log) {
  WarnOfPlaces(options, log);
  NotaryOptions notary_options;
  ASSIGN_OR_RETURN(notary_options.key, LoadKey(options, &store, log));
  if (!options.previous_key_file.empty()) {
    ASSIGN_OR_RETURN(notary_options.previous_key,
                     Shared(ReadSigningKey(options.previous_key_file)));
  }
  notary_options.origin = options.origin;
  notary_options.checkpoint_file = options.checkpoint_file;
  notary_options.elsewhere = [&options](const std::string& origin) {
    return AskElsewhere(options, origin);
  };
  notary_options.holder = Holder();
  notary_options.cosigner = options.cosigner;
  notary_options.lease = options.Lease();
  notary_options.clock = options.clock;
  ASSIGN_OR_RETURN(std::unique_ptr<Notary> notary, Notary::Open(std::move(notary_options), store));
  WarnOfClock(*notary, *options.clock, log);
  ASSIGN_OR_RETURN(const SigningRound round, SignAll(*notary));
  const std::shared_ptr<const PublicRegistry> registry = notary->registry();
  log.Write(LogLevel::kInfo, "signing",
            {{"origin", registry->checkpoint.checkpoint.origin},
             {"verifier_key", registry->keys.back().ToText()},
             {"keys", static_cast<int64_t>(registry->keys.size())},
             {"registry_size", static_cast<int64_t>(registry->checkpoint.checkpoint.size)},
             {"ledgers_signed", static_cast<int64_t>(round.ledgers)},
             {"entries_read", static_cast<int64_t>(round.entries)}});
  ASSIGN_OR_RETURN(const uint64_t renewed, store.RenewHeads());
  if (renewed > 0) {
    log.Write(LogLevel::kInfo, "heads_under_new_key", {{"ledgers", static_cast<int64_t>(renewed)}});
  }
  return notary;
}

}  // namespace dpledger::server
