#include "ledger_store/evidence/notary.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/registry.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger {
namespace {

constexpr size_t kMaxOriginBytes = 256;

bool HasReason(const absl::Status& status, std::string_view reason) {
  return ReasonOf(status).reason == reason;
}

LedgerPoint PointOf(const v1::Ledger& head) {
  return {head.size(), merkle::HashFrom(head.root_hash()).value_or(merkle::Hash{})};
}

}  // namespace

// A publication being made.
struct Notary::Draft {
  Publication publication;
  merkle::TileBuilder registry;                // with the entries of the publication
  absl::Time recorded_time;                    // of those entries
  std::map<merkle::Hash, merkle::Hash> heads;  // leaves of the map that those entries change
  SigningRound round;
  absl::Status damage;  // DATA_LOSS of the first ledger that is not what was acknowledged
};

std::string DefaultOrigin(const merkle::Ed25519PublicKey& key) {
  const merkle::Hash hash = merkle::Sha256({merkle::View(key)});
  return absl::StrCat("dpledger-", HexEncode(merkle::ToBytes(hash).substr(0, 8)));
}

Notary::Notary(NotaryOptions options, LedgerStore& store)
    : options_(std::move(options)),
      store_(store),
      entry_clock_(*options_.clock),
      second_place_(options_.checkpoint_file),
      other_grew_(options_.clock->Steady()) {}

absl::StatusOr<std::unique_ptr<Notary>> Notary::Open(NotaryOptions options, LedgerStore& store) {
  std::unique_ptr<Notary> notary(new Notary(std::move(options), store));
  ASSIGN_OR_RETURN(const uint64_t unread, notary->TakeRegistry());
  RETURN_IF_ERROR(notary->CheckOrigin());
  RETURN_IF_ERROR(notary->CheckKey());
  if (!notary->second_place_.path().empty()) {
    RETURN_IF_ERROR(notary->CheckPlaces());
  }
  ASSIGN_OR_RETURN(notary->left_to_check_,
                   CheckLedgers(store, notary->registry_, notary->options_.check_evidence_for,
                                *notary->options_.clock));
  notary->left_to_check_.registry_entries = unread;
  return notary;
}

absl::StatusOr<uint64_t> Notary::TakeRegistry() {
  uint64_t unread = 0;
  const absl::StatusOr<v1::StoredCheckpoint> end = store_.checkpoints().Latest(kRegistryLog);
  if (end.ok() && end->size() > options_.read_at_most) {
    const absl::Status resumed = registry_.Resume(store_);
    if (!resumed.ok() && !absl::IsDataLoss(resumed) && !absl::IsUnimplemented(resumed))
      return resumed;
    why_read_whole_ = std::string(resumed.message());
    if (resumed.ok()) unread = end->size();
  }
  RETURN_IF_ERROR(registry_.CatchUp(store_.checkpoints()));  // says what is damaged, if anything
  return unread;
}

absl::Status Notary::CheckPlaces() const {
  if (!options_.elsewhere || second_place_.IsThere())
    return CheckSecondPlace(store_, registry_, second_place_);
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, options_.elsewhere(Origin()));
  return CheckCopies(store_, registry_, copies, kWitnesses);
}

absl::StatusOr<SigningRound> Notary::Round(const std::set<std::string>* only) {
  CheckpointStore& checkpoints = store_.checkpoints();
  const absl::StatusOr<uint64_t> epoch = checkpoints.AcquireLease(options_.holder, options_.lease);
  if (!epoch.ok() && !HasReason(epoch.status(), "SIGNER_ELSEWHERE")) return epoch.status();
  const uint64_t size_before = registry_.size();
  RETURN_IF_ERROR(registry_.CatchUp(checkpoints));
  if (!epoch.ok()) {
    if (only != nullptr && !only->empty()) {
      RETURN_IF_ERROR(checkpoints.Want({only->begin(), only->end()}));
    }
    return Follow(epoch.status(), size_before);
  }
  RETURN_IF_ERROR(CheckKey());
  std::set<std::string> wanted;
  if (only != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<std::string> elsewhere, checkpoints.TakeWanted());
    wanted = *only;
    wanted.insert(elsewhere.begin(), elsewhere.end());
    only = &wanted;
  }
  ASSIGN_OR_RETURN(Draft draft, MakeDraft(*epoch, only));
  if (!draft.publication.registry_entries.empty()) {
    RETURN_IF_ERROR(AddMapRoot(draft));
    RETURN_IF_ERROR(AddRegistry(draft));
    RETURN_IF_ERROR(checkpoints.Publish(draft.publication));
    RETURN_IF_ERROR(registry_.CatchUp(checkpoints));  // reads back what was written
  }
  MakeReadable();
  // In quiet rounds too: a witness may have been away when the checkpoint was new.
  if (options_.cosigner && !registry_.empty()) RETURN_IF_ERROR(Cosign(*epoch));
  RETURN_IF_ERROR(MakePublic());
  RETURN_IF_ERROR(draft.damage);
  draft.round.alive = true;
  draft.round.clock_jump = entry_clock_.Jump();
  return draft.round;
}

absl::StatusOr<SigningRound> Notary::Follow(const absl::Status& refusal, uint64_t size_before) {
  if (registry_.empty()) return refusal;              // until that process has begun it
  if (size_before == 0) RETURN_IF_ERROR(CheckKey());  // Open has seen none
  RETURN_IF_ERROR(MakePublic());
  SigningRound round;
  round.elsewhere = true;
  round.clock_jump = entry_clock_.Jump();
  const std::string beat = ReasonOf(refusal).metadata["beat"];
  const bool renewed = std::exchange(other_beat_, beat) != beat;
  const bool grew = registry_.size() > size_before;
  const absl::Duration now = options_.clock->Steady();
  if (grew) other_grew_ = now;
  round.alive = grew || (renewed && now - other_grew_ <= kLongestUnsigned);
  if (!round.alive && renewed) {
    ASSIGN_OR_RETURN(const UnsignedLedgers left, store_.checkpoints().Unsigned("", 1));
    round.alive = left.last.empty();
  }
  return round;
}

absl::Status Notary::Release() { return store_.checkpoints().ReleaseLease(options_.holder); }

absl::StatusOr<std::optional<SignedCheckpoint>> Notary::Latest(const std::string& log) const {
  const std::shared_ptr<const PublicRegistry> shown = registry();
  if (shown == nullptr) return std::nullopt;
  if (log == kRegistryLog) return shown->checkpoint;
  const absl::StatusOr<v1::StoredCheckpoint> stored = store_.checkpoints().Latest(log);
  if (absl::IsNotFound(stored.status())) {
    RETURN_IF_ERROR(store_.Get(log).status());
    return std::nullopt;
  }
  RETURN_IF_ERROR(stored.status());
  if (stored->registry_index() >= shown->checkpoint.checkpoint.size) return std::nullopt;
  return OpenStored(*stored, OriginOf(shown->checkpoint.checkpoint.origin, log), shown->keys);
}

std::shared_ptr<const PublicRegistry> Notary::registry() const {
  absl::MutexLock lock(&mutex_);
  return public_;
}

SignedCheckpoint Notary::Readable() const {
  absl::MutexLock lock(&mutex_);
  return readable_;
}

std::string Notary::Origin() const {
  if (!registry_.empty()) return registry_.origin();
  return options_.origin.empty() ? DefaultOrigin(options_.key->public_key()) : options_.origin;
}

merkle::VerifierKey Notary::OwnKey() const {
  return {Origin(), merkle::SignatureType::kEd25519, options_.key->public_key()};
}

bool Notary::KeyIsNew() const { return registry_.empty() || registry_.keys().back() != OwnKey(); }

absl::Status Notary::CheckOrigin() const {
  const std::string origin = Origin();
  if (!options_.origin.empty() && options_.origin != origin) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "log_origin: this store's registry is signed as ", origin,
            ", and that name cannot change; leave --log-origin out or give that name, got ",
            options_.origin)),
        {"ORIGIN_MISMATCH", {}});
  }
  if (origin.size() > kMaxOriginBytes || !merkle::SignNote("\n", origin, *options_.key).ok()) {
    return FieldError("log_origin",
                      absl::StrCat("must be UTF-8 of at most ", kMaxOriginBytes,
                                   " bytes without spaces, plus signs and control characters"));
  }
  return absl::OkStatus();
}

absl::Status Notary::CheckKey() const {
  return CheckSigner(registry_, *options_.key, options_.previous_key.get());
}

absl::StatusOr<UnsignedLedgers> Notary::HeadsOf(const std::set<std::string>& ledgers) const {
  UnsignedLedgers found;
  for (const std::string& name : ledgers) {
    absl::StatusOr<v1::Ledger> head = store_.Get(name, kNoWriters);
    if (head.ok()) {
      found.ledgers.push_back(*std::move(head));
    } else if (absl::IsDataLoss(head.status())) {
      found.damaged.push_back({name, head.status()});
    } else if (!absl::IsNotFound(head.status())) {
      return head.status();
    }
  }
  return found;
}

absl::StatusOr<Notary::Draft> Notary::MakeDraft(uint64_t lease_epoch,
                                                const std::set<std::string>* only) {
  Draft draft;
  draft.publication.lease_epoch = lease_epoch;
  draft.publication.registry_size = registry_.size();
  draft.registry = registry_.tree();
  draft.recorded_time = std::max(CutToMinute(entry_clock_.Now()), registry_.last_recorded_time());
  if (KeyIsNew()) {
    v1::LedgerEntry entry;
    entry.mutable_key_rotate()->set_verifier_key(OwnKey().ToText());
    RETURN_IF_ERROR(AddEntry(std::move(entry), draft));
  }
  ASSIGN_OR_RETURN(UnsignedLedgers found, only != nullptr ? HeadsOf(*only)
                                                          : store_.checkpoints().Unsigned(
                                                                looked_at_, options_.max_ledgers));
  if (!found.last.empty()) looked_at_ = found.last;
  draft.round.more = found.ledgers.size() + found.damaged.size() == options_.max_ledgers;
  for (const DamagedLedger& ledger : found.damaged) draft.damage.Update(ledger.status);
  std::vector<v1::Ledger>& heads = found.ledgers;
  // Those that have little to sign first: one that has much must not keep them waiting.
  const auto signed_of = [this](const v1::Ledger& head) {
    return registry_.HeadOf(OriginOf(Origin(), head.name()));
  };
  const auto behind = [&](const v1::Ledger& head) {
    return head.size() - signed_of(head).last.size;
  };
  std::stable_sort(heads.begin(), heads.end(),
                   [&](const v1::Ledger& a, const v1::Ledger& b) { return behind(a) < behind(b); });
  RETURN_IF_ERROR(AddLedgers(heads, draft));
  return draft;
}

// Ends of ledgers are read together: a store that others serve answers a few questions, not some
// for each ledger. At a time: 68 MB at most, for an entry has 64 KB at most; mostly a tenth of one.
absl::Status Notary::AddLedgers(const std::vector<v1::Ledger>& heads, Draft& draft) {
  constexpr size_t kMostLedgers = 256;
  constexpr uint64_t kMostEntries = 1024;
  constexpr uint64_t kShort = 64;  // of one ledger; what is more is read by pages
  for (size_t begin = 0, end = 0; begin < heads.size(); begin = end) {
    std::vector<TailRange> ranges;
    uint64_t entries = 0;
    for (; end < heads.size() && ranges.size() < kMostLedgers && entries < kMostEntries; ++end) {
      const v1::Ledger& head = heads[end];
      const registry::Head signed_head = registry_.HeadOf(OriginOf(Origin(), head.name()));
      const uint64_t size = signed_head.last.size;
      const bool together = head.size() > size && head.size() - size <= kShort;
      ranges.push_back({head.name(),
                        size,
                        together ? head.size() : size,
                        {RegistrationsTile(signed_head.points)}});
      entries += ranges.back().size - size;
      for (const auto& [id, width] : merkle::PartialTilesOf(size))
        ranges.back().tiles.push_back(id);
    }
    ASSIGN_OR_RETURN(const std::vector<Tail> tails, store_.ReadTails(ranges));
    for (size_t i = begin; i < end; ++i) {
      if (draft.round.entries >= options_.max_entries) {
        draft.round.more = true;
        return absl::OkStatus();
      }
      const absl::Status added = AddLedger(heads[i], tails[i - begin], draft);
      if (absl::IsDataLoss(added)) {
        refused_.insert(heads[i].name());
        draft.damage.Update(added);
      } else {
        RETURN_IF_ERROR(added);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Notary::AddEntry(v1::LedgerEntry entry, Draft& draft) const {
  entry.set_sequence(draft.registry.size());
  entry.mutable_recorded_time()->set_seconds(absl::ToUnixSeconds(draft.recorded_time));
  std::string bytes = entry.SerializeAsString();
  if (bytes.size() > merkle::kMaxEntryBytes) {
    return absl::InternalError("an entry of the registry is too long");
  }
  draft.registry.Append(merkle::LeafHash(bytes));
  draft.publication.registry_entries.push_back(std::move(bytes));
  return absl::OkStatus();
}

absl::Status Notary::AddLedger(const v1::Ledger& head, const Tail& tail, Draft& draft) {
  const std::string& name = head.name();
  if (refused_.count(name) != 0) {
    return absl::DataLossError(absl::StrCat(name, ": is damaged, and not signed any more"));
  }
  // As the registry says, whose entries were hashed to its signed root: the ledger's own note,
  // which was compared with it at the start, costs a read and a signature's verification.
  const std::string origin = OriginOf(Origin(), name);
  const registry::Head last_head = registry_.HeadOf(origin);
  const SignedCheckpoint last = {
      {origin, last_head.last.size, last_head.last.root, {}}, "", last_head};
  if (head.size() <= last.checkpoint.size) return absl::OkStatus();
  ASSIGN_OR_RETURN(merkle::TileBuilder tree, ResumeTail(tail, last, name));
  ASSIGN_OR_RETURN(const LedgerPoint point, NextPoint(head, tree, draft.round));
  RETURN_IF_ERROR(RehashTo(store_, name, point, tree));

  v1::LedgerEntry entry;
  v1::Registered& registered = *entry.mutable_registered();
  registered.set_origin(origin);
  registered.set_size(point.size);
  registered.set_root_hash(merkle::ToBytes(point.root));
  // What lies before the end may lie before SEAL too, unless SEAL was signed before.
  registered.set_state(
      last_head.last.state == v1::SEALED || point.size == head.size() ? head.state() : v1::OPEN);
  const absl::StatusOr<registry::Head> next =
      last_head.After({draft.registry.size(), point.size, point.root, registered.state()});
  if (!next.ok()) {
    return absl::DataLossError(absl::StrCat(name, ": cannot be registered at size ", point.size,
                                            ": ", next.status().message()));
  }
  SignedLog log;
  log.log = name;
  log.tiles = tree.TakeChanged();
  const merkle::TileId registrations = RegistrationsTile(last_head.points);
  const auto stored = tail.tiles.find(registrations);
  ASSIGN_OR_RETURN(
      log.tiles[registrations],
      WithRegistration(name, last_head, stored == tail.tiles.end() ? "" : stored->second,
                       draft.registry.size()));
  ASSIGN_OR_RETURN(std::string note, SignedNote(name, point.size, point.root));
  log.checkpoint = ToStored(std::move(note), *next);
  draft.heads[registry::HeadKey(origin)] = registry::HeadLeaf(origin, *next);
  RETURN_IF_ERROR(AddEntry(std::move(entry), draft));
  draft.publication.logs.push_back(std::move(log));
  draft.round.ledgers += 1;
  draft.round.entries += point.size - last.checkpoint.size;
  draft.round.more |= point.size < head.size();
  return absl::OkStatus();
}

absl::Status Notary::AddMapRoot(Draft& draft) {
  const merkle::PrefixMap map = registry_.map().With(draft.heads);
  v1::LedgerEntry entry;
  entry.mutable_map_root()->set_ledgers(map.size());
  entry.mutable_map_root()->set_root_hash(merkle::ToBytes(map.Root()));
  return AddEntry(std::move(entry), draft);
}

SignedLog Notary::SignedRegistry(std::string note, uint64_t size) const {
  SignedLog log;
  log.log = kRegistryLog;
  log.checkpoint.set_note(std::move(note));
  log.checkpoint.set_size(size);
  for (const uint64_t index : registry_.key_entries()) log.checkpoint.add_key_entries(index);
  if (KeyIsNew()) log.checkpoint.add_key_entries(registry_.size());
  return log;
}

absl::Status Notary::AddRegistry(Draft& draft) const {
  ASSIGN_OR_RETURN(std::string note,
                   SignedNote(kRegistryLog, draft.registry.size(), draft.registry.Root()));
  SignedLog log = SignedRegistry(std::move(note), draft.registry.size());
  log.tiles = draft.registry.TakeChanged();
  draft.publication.logs.push_back(std::move(log));
  return absl::OkStatus();
}

absl::StatusOr<LedgerPoint> Notary::NextPoint(const v1::Ledger& head,
                                              const merkle::TileBuilder& tree,
                                              SigningRound& round) {
  if (head.size() - tree.size() <= options_.max_entries) {
    surveyed_.erase(head.name());
    return PointOf(head);
  }
  std::vector<LedgerPoint>& points = surveyed_[head.name()];
  const auto ahead = [&](const LedgerPoint& point) { return point.size > tree.size(); };
  points.erase(points.begin(), std::find_if(points.begin(), points.end(), ahead));
  if (points.empty()) {
    round.entries += head.size() - tree.size();
    ASSIGN_OR_RETURN(points,
                     Survey(store_, head.name(), PointOf(head), tree, options_.max_entries));
  }
  return points.front();
}

absl::StatusOr<std::string> Notary::SignedNote(const std::string& log, uint64_t size,
                                               const merkle::Hash& root) const {
  merkle::Note note;
  ASSIGN_OR_RETURN(note.text, merkle::CheckpointText({OriginOf(Origin(), log), size, root, {}}));
  ASSIGN_OR_RETURN(note.signatures.emplace_back(),
                   merkle::SignNote(note.text, Origin(), *options_.key));
  // Who knows only the old key still sees that this registry carries on the one that it knows.
  if (log == kRegistryLog && KeyIsNew() && !registry_.empty()) {
    ASSIGN_OR_RETURN(note.signatures.emplace_back(),
                     merkle::SignNote(note.text, Origin(), *options_.previous_key));
  }
  return note.ToText();
}

absl::Status Notary::Cosign(uint64_t lease_epoch) {
  const uint64_t size = registry_.size();
  LogReader reader(store_, kRegistryLog, registry_.checkpoint());
  const ConsistencyProver prove_from =
      [&](uint64_t old_size) -> absl::StatusOr<std::vector<merkle::Hash>> {
    ASSIGN_OR_RETURN(PrefixProof proof, reader.ProveConsistency(old_size, size));
    return std::move(proof.hashes);
  };
  const std::vector<merkle::NoteSignature> cosignatures =
      options_.cosigner(registry_.checkpoint().note, size, prove_from);
  if (cosignatures.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(merkle::Note note, merkle::Note::Parse(registry_.checkpoint().note));
  note.signatures.insert(note.signatures.end(), cosignatures.begin(), cosignatures.end());
  Publication publication;
  publication.lease_epoch = lease_epoch;
  publication.registry_size = size;
  publication.logs.push_back(SignedRegistry(note.ToText(), size));
  RETURN_IF_ERROR(store_.checkpoints().Publish(publication));
  return registry_.CatchUp(store_.checkpoints());
}

void Notary::MakeReadable() {
  absl::MutexLock lock(&mutex_);
  readable_ = registry_.checkpoint();
}

absl::Status Notary::MakePublic() {
  MakeReadable();
  const std::string& note = registry_.checkpoint().note;
  if (!second_place_.path().empty() && note != second_note_) {
    const absl::Status written = second_place_.Write(note);
    if (!written.ok()) {
      return WithReason(
          absl::InternalError(
              absl::StrCat("the checkpoint's second place cannot be written: ", written.message())),
          {"CHECKPOINT_FILE_FAILED", {}});
    }
    second_note_ = note;
  }
  absl::MutexLock lock(&mutex_);
  if (public_ == nullptr || public_->checkpoint.note != note) {
    public_ = std::make_shared<PublicRegistry>(
        PublicRegistry{registry_.checkpoint(), registry_.keys(), registry_.map()});
  }
  return absl::OkStatus();
}

}  // namespace dpledger
