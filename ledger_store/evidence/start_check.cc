#include "ledger_store/evidence/start_check.h"

#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

// How often a ledger may be signed by another process while we look at it.
constexpr int kMaxLooks = 100;

constexpr absl::string_view kHowToGoOn =
    ". Put the store back as it was, or a newer backup of it; `dpledger-server recover --help` "
    "says "
    "what else there is";

absl::Status Refused(absl::string_view what) {
  return WithReason(absl::DataLossError(absl::StrCat(what, kHowToGoOn)), {"STORE_WENT_BACK", {}});
}

absl::Status TooShort(const Registry& registry, const std::string& where,
                      absl::string_view signed_size) {
  std::string what =
      absl::StrCat("the store holds less than what was signed of it: its registry has ",
                   registry.size(), " entries, the checkpoint in ", where, " says ", signed_size);
  if (where != kWitnesses) {
    absl::StrAppend(&what, ". If the ledgers were removed on purpose, remove ", where, " and ",
                    where, ".previous too");
  }
  return Refused(what);
}

// The largest checkpoint among the copies that a key of the registry signed.
std::optional<merkle::Checkpoint> LargestCopy(const Registry& registry,
                                              const std::vector<std::string>& copies) {
  std::optional<merkle::Checkpoint> largest;
  for (const std::string& copy : copies) {
    const absl::StatusOr<merkle::Checkpoint> checkpoint =
        merkle::OpenCheckpoint(copy, registry.origin(), registry.keys());
    if (checkpoint.ok() && (!largest.has_value() || checkpoint->size > largest->size)) {
      largest = *checkpoint;
    }
  }
  return largest;
}

// The ledger's last checkpoint with its signature verified, and its tiles looked at.
absl::StatusOr<registry::Point> VerifiedLast(LedgerReader& store, Registry& registry,
                                             const std::string& ledger) {
  absl::StatusOr<SignedCheckpoint> last = LastOf(store.checkpoints(), registry, ledger);
  for (int look = 0; absl::IsAborted(last.status()) && look < kMaxLooks; ++look) {
    RETURN_IF_ERROR(registry.CatchUp(store.checkpoints()));
    last = LastOf(store.checkpoints(), registry, ledger);
  }
  RETURN_IF_ERROR(last.status());
  RETURN_IF_ERROR(ResumeSigned(store.checkpoints(), ledger, *last).status());
  return last->head.last;
}

// Whether the checkpoint says what the registry says last of the ledger, whoever signed it.
bool IsAsRegistered(const Registry& registry, const std::string& ledger,
                    const v1::StoredCheckpoint& stored) {
  const std::string origin = OriginOf(registry.origin(), ledger);
  const registry::Head registered = registry.HeadOf(origin);
  if (stored.note().empty()) return registered == registry::Head();
  return ToStored(stored.note(), registered).SerializeAsString() == stored.SerializeAsString() &&
         merkle::StatesTree(stored.note(), origin, registered.last.size,
                            merkle::View(registered.last.root));
}

// That the ledger has what is signed of it up to `last`.
absl::Status CheckHolds(LedgerReader& store, const v1::Ledger& ledger,
                        const registry::Point& last) {
  uint64_t size = ledger.size();
  // What goes beyond is hashed to the head's root before it is signed.
  if (size > 0 && last.size == size && ledger.root_hash() != merkle::ToBytes(last.root)) {
    return Refused(absl::StrCat(ledger.name(), ": its head has another root at size ", size,
                                " than was signed"));
  }
  if (last.size > size) {  // signed since it was listed?
    ASSIGN_OR_RETURN(const v1::Ledger now, store.Get(ledger.name(), kNoWriters));
    size = now.size();
  }
  if (last.size <= size) return absl::OkStatus();
  return Refused(
      absl::StrCat(ledger.name(), ": has ", size, " entries, but ", last.size, " were signed"));
}

}  // namespace

absl::StatusOr<SignedCheckpoint> LastOf(CheckpointReader& store, const Registry& registry,
                                        const std::string& ledger) {
  const std::string origin = OriginOf(registry.origin(), ledger);
  const registry::Head registered = registry.HeadOf(origin);
  const absl::StatusOr<v1::StoredCheckpoint> stored = store.Latest(ledger);
  if (absl::IsNotFound(stored.status())) {
    if (registered == registry::Head()) return SignedCheckpoint();
    return absl::DataLossError(absl::StrCat(ledger, ": entry ", registered.last.index,
                                            " of the registry names a checkpoint of it at size ",
                                            registered.last.size, ", but the store has none"));
  }
  RETURN_IF_ERROR(stored.status());
  if (stored->registry_index() >= registry.size()) {
    return WithReason(absl::AbortedError(absl::StrCat(ledger, ": was signed by another process")),
                      {"SIGNER_REPLACED", {}});
  }
  ASSIGN_OR_RETURN(SignedCheckpoint last, OpenStored(*stored, origin, registry.keys()));
  if (registered == last.head) return last;
  return absl::DataLossError(absl::StrCat(ledger, ": its stored checkpoint, of ",
                                          last.checkpoint.size, " entries, is not the one of ",
                                          registered.last.size, " entries that entry ",
                                          registered.last.index, " of the registry names"));
}

absl::Status CheckSecondPlace(LedgerReader& store, const Registry& registry,
                              const CheckpointFile& file) {
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, file.Read());
  return CheckCopies(store, registry, copies, file.path());
}

absl::Status CheckNothingSigned(const CheckpointFile& file) {
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, file.Read());
  if (copies.empty()) return absl::OkStatus();
  return TooShort(Registry(), file.path(), "that there are more");
}

absl::Status CheckCopies(LedgerReader& store, const Registry& registry,
                         const std::vector<std::string>& copies, const std::string& where) {
  if (copies.empty()) return absl::OkStatus();
  if (registry.empty()) return TooShort(registry, where, "that there are more");
  const std::optional<merkle::Checkpoint> copy = LargestCopy(registry, copies);
  if (!copy.has_value()) {
    return Refused(absl::StrCat(
        where,
        ": no copy of the checkpoint in it verifies under the origin and a key of the "
        "store's registry: it belongs to another store, or is damaged, or the store has lost the "
        "entries that name its keys"));
  }
  if (copy->size > registry.size()) {
    return TooShort(registry, where, absl::StrCat(copy->size));
  }
  LogReader reader(store, kRegistryLog, registry.checkpoint());
  ASSIGN_OR_RETURN(const merkle::Hash root, reader.RootAt("size", copy->size));
  if (root == copy->root) return absl::OkStatus();
  return Refused(absl::StrCat("the store's registry has another root at size ", copy->size,
                              " than the checkpoint in ", where,
                              ": they tell two different histories"));
}

absl::StatusOr<LeftToCheck> CheckLedgers(LedgerReader& store, Registry& registry,
                                         absl::Duration time, Clock& clock) {
  const absl::Duration end = clock.Steady() + time;
  LeftToCheck left;
  std::map<std::string, v1::StoredCheckpoint> stored;  // all there are, once the time is over
  size_t registered = 0;
  // By name. Those looked at after `end` are compared only.
  const auto check = [&](const v1::Ledger& ledger) -> absl::Status {
    const std::string& name = ledger.name();
    const bool compare_only = left.ledgers > 0 || clock.Steady() >= end;
    if (compare_only && stored.empty()) {
      ASSIGN_OR_RETURN(stored, store.checkpoints().LatestOfAll());
    }
    registry::Point last;
    if (compare_only && IsAsRegistered(registry, name, stored[name])) {
      last = registry.HeadOf(OriginOf(registry.origin(), name)).last;
      ++left.ledgers;
    } else {
      ASSIGN_OR_RETURN(last, VerifiedLast(store, registry, name));
      if (left.ledgers == 0) left.after = name;
    }
    registered += registry.ledgers().count(OriginOf(registry.origin(), name));
    return CheckHolds(store, ledger, last);
  };
  RETURN_IF_ERROR(store.ForEach("projects/-", check));
  if (registered == registry.ledgers().size()) return left;
  for (const auto& [origin, head] : registry.ledgers()) {
    const bool ours = origin.starts_with(absl::StrCat(registry.origin(), "/"));
    const std::string name = ours ? origin.substr(registry.origin().size() + 1) : origin;
    const absl::Status found =
        ours ? store.Get(name, kNoWriters).status() : absl::NotFoundError("");
    if (absl::IsNotFound(found) || absl::IsInvalidArgument(found)) {
      return Refused(absl::StrCat(name, ": ", head.last.size,
                                  " entries of it were signed, but the store has no such ledger"));
    }
    RETURN_IF_ERROR(found);
  }
  return left;
}

}  // namespace dpledger
