#include "ledger_store/evidence/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/big_endian.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

constexpr size_t kPageEntries = 10'000;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("the registry: ", ToAbsl(what)));
}

constexpr int kLevel = 8;  // a tree of 2^63 leaves has tiles of levels 0 to 7
constexpr uint64_t kBlock = 256, kIndexBytes = 8;

uint64_t IndexAt(std::string_view block, uint64_t place) {
  return merkle::FromBigEndian(block.substr(place * kIndexBytes, kIndexBytes));
}

absl::Status Misplaced(const std::string& ledger, uint64_t point) {
  return absl::DataLossError(absl::StrCat(ledger, ": the place of its registration ", point,
                                          " in the registry is missing or wrong"));
}

// What a stored checkpoint says, whoever signed it.
absl::StatusOr<SignedCheckpoint> AsItSays(const v1::StoredCheckpoint& stored) {
  absl::StatusOr<merkle::Checkpoint> checkpoint = merkle::ReadCheckpoint(stored.note());
  if (checkpoint.ok() && checkpoint->size == stored.size())
    return SignedCheckpoint{*std::move(checkpoint), stored.note(), {}};
  return Damaged(
      absl::StrCat("a checkpoint cannot be read: ",
                   checkpoint.ok() ? "its sizes differ" : checkpoint.status().message()));
}

absl::Status Mismatch(const std::string& what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat("signing_key: ", what)),
                    {"KEY_MISMATCH", {}});
}

// Entries that the root of a checkpoint covers.
class EndReader {
 public:
  EndReader(LedgerReader& store, const SignedCheckpoint& end)
      : store_(store), reader_(store, kRegistryLog, end) {}

  absl::StatusOr<v1::LedgerEntry> At(uint64_t index) {
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     ReadLog(store_, kRegistryLog, index, 1));
    if (entries.size() != 1 || index >= reader_.size())
      return Damaged(absl::StrCat("entry ", index, " is missing"));
    RETURN_IF_ERROR(reader_.Check(index, entries));
    return registry::ParseRegistryEntry(entries[0]);
  }

  // That no entry of the last publication, behind entry `key`, names a key. The key before signs
  // such a publication too, so that its signature alone does not show that it was replaced.
  absl::Status CheckNoKeyBehind(uint64_t key) {
    for (uint64_t end = reader_.size() - 1; end > key + 1;) {
      const uint64_t tile = (end - 1) / merkle::kTileWidth * merkle::kTileWidth;
      const uint64_t first = std::max(tile, key + 1);
      ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       ReadLog(store_, kRegistryLog, first, end - first));
      if (entries.size() != end - first)
        return Damaged(absl::StrCat("an entry from ", first, " on is missing"));
      RETURN_IF_ERROR(reader_.Check(first, entries));
      for (; end > first; --end) {
        ASSIGN_OR_RETURN(const v1::LedgerEntry entry,
                         registry::ParseRegistryEntry(entries[end - 1 - first]));
        if (entry.has_map_root()) return absl::OkStatus();  // of the publication before
        if (entry.has_key_rotate())
          return Damaged(
              absl::StrCat("its checkpoint does not say that entry ", end - 1, " names a key"));
      }
    }
    return absl::OkStatus();
  }

 private:
  LedgerReader& store_;
  LogReader reader_;
};

}  // namespace

std::string OriginOf(std::string_view registry_origin, const std::string& log) {
  if (log == kRegistryLog) return std::string(registry_origin);
  return absl::StrCat(ToAbsl(registry_origin), "/", log);
}

absl::StatusOr<SignedCheckpoint> OpenStored(const v1::StoredCheckpoint& stored,
                                            std::string_view origin,
                                            const std::vector<merkle::VerifierKey>& keys) {
  const auto refused = [&](const absl::Status& why) {
    return absl::DataLossError(absl::StrCat(
        ToAbsl(origin), ": its stored checkpoint is not one that was signed: ", why.message()));
  };
  absl::StatusOr<merkle::Checkpoint> checkpoint =
      merkle::OpenCheckpoint(stored.note(), origin, keys);
  if (!checkpoint.ok()) return refused(checkpoint.status());
  if (checkpoint->size != stored.size()) {
    return refused(absl::DataLossError(
        absl::StrCat("it says size ", checkpoint->size, ", stored is ", stored.size())));
  }
  registry::Head head;
  if (stored.points() > 0) {
    const std::optional<merkle::Hash> chain = merkle::HashFrom(stored.chain());
    if (!chain.has_value()) return refused(absl::DataLossError("its chain is not a hash"));
    head = {stored.points(),
            {stored.registry_index(), checkpoint->size, checkpoint->root, stored.state()},
            *chain};
  }
  return SignedCheckpoint{*std::move(checkpoint), stored.note(), head};
}

v1::StoredCheckpoint ToStored(std::string note, const registry::Head& head) {
  v1::StoredCheckpoint stored;
  stored.set_note(std::move(note));
  stored.set_size(head.last.size);
  stored.set_registry_index(head.last.index);
  stored.set_points(head.points);
  stored.set_state(head.last.state);
  stored.set_chain(merkle::ToBytes(head.chain));
  return stored;
}

absl::Status Registry::CatchUp(CheckpointReader& store) {
  absl::StatusOr<v1::StoredCheckpoint> latest = store.Latest(kRegistryLog);
  if (absl::IsNotFound(latest.status())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> entries, store.ReadRegistry(0, 1));
    if (empty() && entries.empty()) return absl::OkStatus();
    // Another process may have begun it between the two looks: then its checkpoint is there too.
    latest = store.Latest(kRegistryLog);
    if (absl::IsNotFound(latest.status())) return Damaged("it has entries but no checkpoint");
  }
  RETURN_IF_ERROR(latest.status());
  if (latest->note() == checkpoint_.note) return absl::OkStatus();
  if (latest->size() < size()) {
    return Damaged(
        absl::StrCat("its checkpoint went back from ", size(), " to ", latest->size(), " entries"));
  }
  if (empty()) {
    ASSIGN_OR_RETURN(const SignedCheckpoint says, AsItSays(*latest));
    log_ = registry::RegistryLog(says.checkpoint.origin);
  }
  while (size() < latest->size()) {
    const size_t wanted = std::min<uint64_t>(kPageEntries, latest->size() - size());
    ASSIGN_OR_RETURN(const std::vector<std::string> entries, store.ReadRegistry(size(), wanted));
    if (entries.empty()) {
      return Damaged(
          absl::StrCat("has ", size(), " entries, but ", latest->size(), " were signed"));
    }
    for (const std::string& entry : entries) RETURN_IF_ERROR(Append(entry));
    tree_.TakeChanged();  // they are stored
  }
  if (keys().empty()) return Damaged("its checkpoint is that of no entries");
  ASSIGN_OR_RETURN(SignedCheckpoint checkpoint, OpenStored(*latest, origin(), {keys().back()}));
  if (checkpoint.checkpoint.root != Root()) {
    return Damaged(absl::StrCat("its ", size(), " entries do not hash to the signed root"));
  }
  if (!log_.ends_with_map())
    return Damaged(absl::StrCat("its ", size(), " signed entries do not end with the map's root"));
  checkpoint_ = std::move(checkpoint);
  return absl::OkStatus();
}

absl::Status Registry::Append(std::string_view entry) {
  const absl::Status taken = log_.Take(entry);
  if (!taken.ok()) {
    const absl::Status damaged = Damaged(FromAbsl(taken.message()));
    const ErrorReason reason = ReasonOf(taken);
    return reason.reason.empty() ? damaged : WithReason(damaged, reason);
  }
  tree_.Append(merkle::LeafHash(entry));
  return absl::OkStatus();
}

absl::Status Registry::Resume(LedgerReader& store) {
  ASSIGN_OR_RETURN(auto stored, store.checkpoints().LatestOfAll());
  const v1::StoredCheckpoint own = stored[kRegistryLog];
  stored.erase(kRegistryLog);
  ASSIGN_OR_RETURN(const SignedCheckpoint end, AsItSays(own));
  const std::string& origin = end.checkpoint.origin;
  EndReader entries(store, end);

  v1::RegistryState state;
  state.set_origin(origin);
  state.set_size(own.size());
  if (own.key_entries().empty() || own.key_entries(0) != 0)
    return Damaged("its checkpoint does not say that entry 0 names a key");
  for (const uint64_t index : own.key_entries()) {
    const auto& before = state.key_entries();
    if (!before.empty() && index <= before[before.size() - 1])
      return Damaged("the entries that its checkpoint says name keys do not rise");
    ASSIGN_OR_RETURN(const v1::LedgerEntry entry, entries.At(index));
    state.add_verifier_keys(entry.key_rotate().verifier_key());
    state.add_key_entries(index);
  }
  RETURN_IF_ERROR(entries.CheckNoKeyBehind(*own.key_entries().rbegin()));
  ASSIGN_OR_RETURN(const v1::LedgerEntry last, entries.At(own.size() - 1));
  state.set_recorded_seconds(last.recorded_time().seconds());
  state.set_ends_with_map(last.has_map_root());
  for (const auto& [name, of] : stored) {
    ASSIGN_OR_RETURN(const SignedCheckpoint says, AsItSays(of));
    v1::RegistryState::Ledger& ledger = *state.add_ledgers();
    ledger.set_origin(OriginOf(origin, name));
    ledger.set_points(of.points());
    ledger.set_index(of.registry_index());
    ledger.set_size(of.size());
    ledger.set_root(merkle::ToBytes(says.checkpoint.root));
    ledger.set_state(of.state());
    ledger.set_chain(of.chain());
  }
  ASSIGN_OR_RETURN(registry::RegistryLog log, registry::RegistryLog::FromState(state));
  if (last.map_root().ledgers() != log.map().size() ||
      last.map_root().root_hash() != merkle::ToBytes(log.map().Root())) {
    return Damaged("what the ledgers' checkpoints keep of their heads is not what it says last");
  }
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, ResumeSigned(store.checkpoints(), kRegistryLog, end));
  ASSIGN_OR_RETURN(checkpoint_, OpenStored(own, origin, {log.keys().back()}));
  log_ = std::move(log);
  tree_ = std::move(tree);
  return absl::OkStatus();
}

absl::Status CheckSigner(const Registry& registry, const merkle::Ed25519PrivateKey& key,
                         const merkle::Ed25519PrivateKey* previous) {
  if (registry.empty()) return absl::OkStatus();
  const std::vector<merkle::VerifierKey>& keys = registry.keys();
  const merkle::VerifierKey& current = keys.back();
  const merkle::VerifierKey own = {registry.origin(), merkle::SignatureType::kEd25519,
                                   key.public_key()};
  if (own == current) return absl::OkStatus();
  if (std::find(keys.begin(), keys.end(), own) != keys.end()) {
    return Mismatch(absl::StrCat(own.ToText(), " was replaced by ", current.ToText(),
                                 ", and does not sign any more: give the key that replaced it"));
  }
  if (previous == nullptr || previous->public_key() != current.public_key) {
    return Mismatch(absl::StrCat(
        "this store's registry is signed with ", current.ToText(), ", not with ", own.ToText(),
        ": give the file of that key; or, to change keys, give that file as "
        "--previous-signing-key beside the new --signing-key, once"));
  }
  if (keys.size() < bundle::kMaxKeys) return absl::OkStatus();
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "signing_key: this store's registry has had ", keys.size(),
                        " keys, and no bundle takes more: go on with ", current.ToText())),
                    {"TOO_MANY_KEYS", {}});
}

merkle::TileId RegistrationsTile(uint64_t point) { return {kLevel, point / kBlock}; }

absl::StatusOr<std::string> WithRegistration(const std::string& ledger, const registry::Head& last,
                                             std::string stored, uint64_t index) {
  const uint64_t before = last.points % kBlock;
  // It is longer if another signer has published meanwhile; then the store refuses this one.
  stored.resize(std::min(stored.size(), before * kIndexBytes));
  if (before > 0 &&
      (stored.size() < before * kIndexBytes || IndexAt(stored, before - 1) != last.last.index)) {
    return Misplaced(ledger, last.points - 1);
  }
  stored += merkle::BigEndian(index);
  return stored;
}

absl::StatusOr<std::vector<uint64_t>> ReadRegistrations(CheckpointReader& store,
                                                        const std::string& ledger, uint64_t first,
                                                        uint64_t end) {
  std::vector<uint64_t> indices;
  while (first < end) {
    const absl::StatusOr<std::string> block = store.ReadTile(ledger, RegistrationsTile(first));
    if (absl::IsNotFound(block.status())) return Misplaced(ledger, first);
    RETURN_IF_ERROR(block.status());
    const uint64_t until = std::min(end, first - first % kBlock + kBlock);
    for (; first < until; ++first) {
      const uint64_t place = first % kBlock;
      if (block->size() < (place + 1) * kIndexBytes) return Misplaced(ledger, first);
      indices.push_back(IndexAt(*block, place));
      if (indices.size() > 1 && indices.back() <= indices[indices.size() - 2])
        return Misplaced(ledger, first);
    }
  }
  return indices;
}

absl::StatusOr<uint64_t> CountRegistrations(CheckpointReader& store, const std::string& ledger,
                                            uint64_t points, uint64_t index) {
  uint64_t low = 0, high = points;  // those before `low` are below, those from `high` on are not
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const uint64_t first = middle - middle % kBlock;
    const uint64_t end = std::min(points, first + kBlock);
    ASSIGN_OR_RETURN(const std::vector<uint64_t> of, ReadRegistrations(store, ledger, first, end));
    const auto found = std::lower_bound(of.begin(), of.end(), index);
    const uint64_t below = first + static_cast<uint64_t>(found - of.begin());
    if (below > first) low = std::max(low, below);
    if (below < end) high = std::min(high, below);
  }
  return low;
}

}  // namespace dpledger
