#include "registry/registry_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/compact_tree.h"

namespace dpledger::registry {

absl::StatusOr<v1::LedgerEntry> ParseRegistryEntry(std::string_view bytes) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::InvalidArgumentError("is not a LedgerEntry");
  v1::LedgerEntry plain;
  plain.set_sequence(entry.sequence());
  *plain.mutable_recorded_time() = entry.recorded_time();
  if (entry.has_key_rotate()) {
    *plain.mutable_key_rotate() = entry.key_rotate();
  } else if (entry.has_map_root()) {
    *plain.mutable_map_root() = entry.map_root();
  } else {
    *plain.mutable_registered() = entry.registered();
  }
  plain.DiscardUnknownFields();
  if (plain.SerializeAsString() != bytes || entry.recorded_time().seconds() % 60 != 0 ||
      entry.recorded_time().nanos() != 0) {
    return absl::InvalidArgumentError(
        "must have a sequence, a recorded_time of a whole minute and a key, a registered ledger or "
        "a map's root, in the one spelling of a LedgerEntry");
  }
  return entry;
}

absl::StatusOr<Point> PointOf(const v1::LedgerEntry& entry, std::string_view registry_origin) {
  const v1::Registered& registered = entry.registered();
  const std::string prefix = absl::StrCat(ToAbsl(registry_origin), "/");
  const std::optional<merkle::Hash> root = merkle::HashFrom(registered.root_hash());
  if (registered.size() == 0 || !root.has_value() ||
      (registered.state() != v1::OPEN && registered.state() != v1::SEALED) ||
      !registered.origin().starts_with(prefix) || registered.origin().size() == prefix.size()) {
    return absl::InvalidArgumentError(
        "must register a ledger of this registry with size, root and state");
  }
  return Point{entry.sequence(), registered.size(), *root, registered.state()};
}

absl::Status RegistryLog::Bad(std::string_view what) const {
  return absl::DataLossError(absl::StrCat("entry ", size_, " ", ToAbsl(what)));
}

absl::Status RegistryLog::Take(std::string_view bytes) {
  const absl::StatusOr<v1::LedgerEntry> entry = ParseRegistryEntry(bytes);
  if (!entry.ok()) return Bad(FromAbsl(entry.status().message()));
  if (entry->sequence() != size_)
    return Bad(absl::StrCat("says that it is entry ", entry->sequence()));
  const absl::Time recorded = absl::FromUnixSeconds(entry->recorded_time().seconds());
  if (recorded < last_recorded_time_) return Bad("was recorded before the one before it");
  if (!entry->has_key_rotate() && keys_.empty()) return Bad("stands before the first key");
  ends_with_map_ = false;
  last_registered_.clear();
  if (entry->has_key_rotate()) {
    RETURN_IF_ERROR(TakeKey(entry->key_rotate()));
  } else if (entry->has_registered()) {
    RETURN_IF_ERROR(TakeRegistered(*entry));
  } else {
    RETURN_IF_ERROR(TakeMapRoot(entry->map_root()));
  }
  last_recorded_time_ = recorded;
  ++size_;
  return absl::OkStatus();
}

absl::Status RegistryLog::TakeKey(const v1::KeyRotate& rotate) {
  const absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(rotate.verifier_key());
  if (!key.ok() || key->type != merkle::SignatureType::kEd25519 || key->name != origin_)
    return Bad(absl::StrCat("names no Ed25519 key of ", origin_));
  if (std::find(keys_.begin(), keys_.end(), *key) != keys_.end())
    return Bad("names a key that was used before");
  keys_.push_back(*key);
  key_entries_.push_back(size_);
  return absl::OkStatus();
}

absl::Status RegistryLog::TakeRegistered(const v1::LedgerEntry& entry) {
  const absl::StatusOr<Point> point = PointOf(entry, origin_);
  if (!point.ok()) return Bad(FromAbsl(point.status().message()));
  const std::string& origin = entry.registered().origin();
  const Head last = HeadOf(origin);
  absl::StatusOr<Head> head = last.After(*point);
  if (!head.ok()) {
    return WithReason(Bad(absl::StrCat("contradicts entry ", last.last.index, " of ", origin, ": ",
                                       head.status().message())),
                      {kContradiction,
                       {{"earlier", absl::StrCat(last.last.index)},
                        {"later", absl::StrCat(size_)},
                        {"origin", origin}}});
  }
  changed_[HeadKey(origin)] = HeadLeaf(origin, *head);
  ledgers_[origin] = *std::move(head);
  last_registered_ = origin;
  last_previous_ = last.last;
  return absl::OkStatus();
}

absl::Status RegistryLog::TakeMapRoot(const v1::MapRoot& root) {
  if (root.ledgers() != map().size() || root.root_hash() != merkle::ToBytes(map().Root())) {
    return Bad(absl::StrCat("has the root of another map: not that of the ", map().size(),
                            " ledgers before it"));
  }
  ends_with_map_ = true;
  return absl::OkStatus();
}

Head RegistryLog::HeadOf(const std::string& ledger_origin) const {
  const auto found = ledgers_.find(ledger_origin);
  return found == ledgers_.end() ? Head() : found->second;
}

const merkle::PrefixMap& RegistryLog::map() {
  if (!changed_.empty()) {
    map_ = map_.With(changed_);
    changed_.clear();
  }
  return map_;
}

v1::RegistryState RegistryLog::ToState() const {
  v1::RegistryState state;
  state.set_origin(origin_);
  for (const merkle::VerifierKey& key : keys_) state.add_verifier_keys(key.ToText());
  state.mutable_key_entries()->Assign(key_entries_.begin(), key_entries_.end());
  state.set_size(size_);
  if (size_ > 0) state.set_recorded_seconds(absl::ToUnixSeconds(last_recorded_time_));
  state.set_ends_with_map(ends_with_map_);
  for (const auto& [origin, head] : ledgers_) {
    v1::RegistryState::Ledger& ledger = *state.add_ledgers();
    ledger.set_origin(origin);
    ledger.set_points(head.points);
    ledger.set_index(head.last.index);
    ledger.set_size(head.last.size);
    ledger.set_root(merkle::ToBytes(head.last.root));
    ledger.set_state(head.last.state);
    ledger.set_chain(merkle::ToBytes(head.chain));
  }
  return state;
}

absl::StatusOr<RegistryLog> RegistryLog::FromState(const v1::RegistryState& state) {
  const auto damaged = [](auto&&... what) {
    return absl::DataLossError(absl::StrCat("the kept state: ", what...));
  };
  RegistryLog log(state.origin());
  for (const std::string& text : state.verifier_keys()) {
    absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(text);
    if (!key.ok()) return damaged("holds no key in ", text);
    log.keys_.push_back(*std::move(key));
  }
  log.key_entries_.assign(state.key_entries().begin(), state.key_entries().end());
  log.size_ = state.size();
  if (log.size_ > 0) log.last_recorded_time_ = absl::FromUnixSeconds(state.recorded_seconds());
  log.ends_with_map_ = state.ends_with_map();
  for (const v1::RegistryState::Ledger& ledger : state.ledgers()) {
    const std::optional<merkle::Hash> root = merkle::HashFrom(ledger.root());
    const std::optional<merkle::Hash> chain = merkle::HashFrom(ledger.chain());
    if (!root.has_value() || !chain.has_value() || ledger.points() == 0 ||
        (ledger.state() != v1::OPEN && ledger.state() != v1::SEALED)) {
      return damaged("holds no head of ", ledger.origin());
    }
    const Head head{
        ledger.points(), {ledger.index(), ledger.size(), *root, ledger.state()}, *chain};
    log.changed_[HeadKey(ledger.origin())] = HeadLeaf(ledger.origin(), head);
    log.ledgers_[ledger.origin()] = head;
  }
  return log;
}

}  // namespace dpledger::registry
