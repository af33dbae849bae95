#include "ledger_store/evidence/fsck.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/request_runs.h"
#include "ledger_store/bundle/entry_frame.h"
#include "ledger_store/bundle/ledger_rules.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "merkle/compact_tree.h"
#include "merkle/tile_tree.h"

namespace dpledger {
namespace {

constexpr uint64_t kPageEntries = 8192;  // a multiple of a tile's width

std::string EntryPlace(const std::string& log, uint64_t sequence) {
  return absl::StrCat(LogName(log), ": entry ", sequence);
}

std::string Hex(const merkle::Hash& hash) { return HexEncode(merkle::ToBytes(hash)); }

// Compares the published tiles of a log with those that its entries give.
class TileCheck {
 public:
  TileCheck(CheckpointReader& store, std::string log, FsckReport& report)
      : store_(store), log_(std::move(log)), report_(report) {}

  // Those that have changed since the last call. All of them must be published.
  void Compare(merkle::TileBuilder& tree) {
    for (const auto& [id, hashes] : tree.TakeChanged()) {
      const std::string place =
          absl::StrCat(LogName(log_), ": tile of level ", id.level, " and index ", id.index);
      const absl::StatusOr<std::string> stored = store_.ReadTile(log_, id);
      ++report_.tiles;
      if (!stored.ok()) {
        report_.Add(place, stored.status());
      } else if (!stored->starts_with(hashes)) {
        report_.Add(place, stored->size() < hashes.size() ? "has fewer hashes than were published"
                                                          : "differs from what the entries give");
      }
    }
  }

 private:
  CheckpointReader& store_;
  const std::string log_;
  FsckReport& report_;
};

// A fork is answered in the child, a grant in the budget, and a refused batch nowhere: what tells
// of them bears their ids.
bool IsAnswered(const bundle::EntryFrame& entry) {
  return entry.body != v1::LedgerEntry::kForkNoticeFieldNumber &&
         entry.body != v1::LedgerEntry::kGrantedFieldNumber &&
         entry.body != v1::LedgerEntry::kConflictFieldNumber;
}

// Compares the stored answers of requests with a ledger's entries: each batch of entries has its
// answer, with the receipt that the entries give, and there are no others. A batch whose answer is
// lost would be stored again by a retry that does not say its position. Each `tree` is that of the
// entries before, from the first on.
class ReceiptCheck {
 public:
  ReceiptCheck(LedgerReader& store, std::string ledger, FsckReport& report)
      : store_(store), ledger_(std::move(ledger)), report_(report) {}

  void BeforeEntry(const bundle::EntryFrame& entry, const merkle::TileBuilder& tree) {
    if (!requests_.Begins(entry.writer, entry.request_id, entry.body)) return;
    EndBatch(tree);
    request_id_ = entry.request_id;
    first_ = tree.size();
    answered_ = IsAnswered(entry);
    if (answered_) ++answers_;
  }

  void AtEnd(const merkle::TileBuilder& tree) {
    EndBatch(tree);
    const absl::StatusOr<uint64_t> stored = store_.CountAnswered(ledger_);
    if (absl::IsUnimplemented(stored.status())) return;
    if (!stored.ok()) return report_.Add(ledger_, stored.status());
    if (*stored != answers_) {
      report_.Add(ledger_, absl::StrCat("has records of ", *stored,
                                        " answered requests, its entries are those of ", answers_));
    }
  }

 private:
  void EndBatch(const merkle::TileBuilder& tree) {
    if (!answered_ || tree.size() == first_) return;
    const std::string place = absl::StrCat(ledger_, ": request ", request_id_);
    const absl::StatusOr<v1::StoredRequest> request = store_.Answered(ledger_, request_id_);
    if (absl::IsUnimplemented(request.status())) return;
    if (!request.ok()) return report_.Add(place, request.status());
    const v1::Receipt& receipt = request->receipt();
    if (request->request_hash().size() != sizeof(merkle::Hash)) {
      report_.Add(place, "its record has no request hash");
    }
    if (receipt.first_sequence() != first_ || receipt.count() != tree.size() - first_ ||
        receipt.size() != tree.size() || receipt.root_hash() != merkle::ToBytes(tree.Root())) {
      report_.Add(place, absl::StrCat("its receipt is not that of entries ", first_, " to ",
                                      tree.size() - 1));
    }
  }

  LedgerReader& store_;
  const std::string ledger_;
  FsckReport& report_;
  events::RequestRuns requests_;
  std::string request_id_;
  uint64_t first_ = 0;     // of the present batch
  bool answered_ = false;  // whether an answer belongs to it
  uint64_t answers_ = 0;
};

class LedgerCheck {
 public:
  LedgerCheck(LedgerReader& store, const FsckOptions& options, const v1::Ledger& head,
              FsckReport& report)
      : store_(store),
        options_(options),
        head_(head),
        name_(head.name()),
        report_(report),
        tiles_(store.checkpoints(), head.name(), report),
        receipts_(store, head.name(), report) {}

  void Run(const Registry& registry, bool registry_is_whole) {
    const absl::StatusOr<SignedCheckpoint> last = LastOf(store_.checkpoints(), registry, name_);
    if (last.ok()) {
      signed_ = last->checkpoint;
    } else {
      // Without the registry as a witness, what a key of it signed still counts.
      if (registry_is_whole) report_.Add(absl::StrCat(name_, ": checkpoint"), last.status());
      const absl::StatusOr<v1::StoredCheckpoint> stored = store_.checkpoints().Latest(name_);
      const absl::StatusOr<SignedCheckpoint> opened =
          stored.ok() ? OpenStored(*stored, OriginOf(registry.origin(), name_), registry.keys())
                      : stored.status();
      if (opened.ok()) signed_ = opened->checkpoint;
    }
    if (signed_.size > head_.size()) {
      report_.Add(name_, absl::StrCat("has ", head_.size(), " entries, but ", signed_.size,
                                      " were signed"));
    }
    while (next_ < head_.size()) ReadPage();
    if (!whole_) return;
    CheckEnd();
    receipts_.AtEnd(tree_);
    if (options_.check_history) {
      report_.Add(absl::StrCat(name_, ": run-length table"), options_.check_history(store_, name_));
    }
  }

 private:
  // Pages end at the signed size, so that tiles are compared as they were published.
  void ReadPage() {
    uint64_t end = std::min(head_.size(), next_ - next_ % kPageEntries + kPageEntries);
    if (next_ < signed_.size) end = std::min(end, signed_.size);
    absl::StatusOr<std::vector<std::string>> page = ReadLog(store_, name_, next_, end - next_);
    // An engine gives no part of a page in which an entry is missing.
    while (!page.ok() && end - next_ > 1) {
      end = next_ + (end - next_) / 2;
      page = ReadLog(store_, name_, next_, end - next_);
    }
    if (!page.ok() || page->empty()) {
      PassMissing(page.ok() ? absl::DataLossError("is missing") : page.status());
      return;
    }
    for (const std::string& entry : *page) Take(entry);
    report_.entries += page->size();
    if (whole_ && next_ <= signed_.size) {
      tiles_.Compare(tree_);
      if (next_ == signed_.size && tree_.Root() != signed_.root) {
        report_.Add(absl::StrCat(name_, ": checkpoint"),
                    absl::StrCat("signs the root ", Hex(signed_.root), " at size ", signed_.size,
                                 ", the entries have the root ", Hex(tree_.Root())));
      }
    } else {
      tree_.TakeChanged();
    }
    if (options_.progress) options_.progress(report_);
  }

  void Take(const std::string& entry) {
    const uint64_t sequence = next_++;
    if (whole_) {
      const absl::StatusOr<bundle::EntryFrame> frame = bundle::ParseEntryFrame(entry);
      if (frame.ok()) receipts_.BeforeEntry(*frame, tree_);
      if (rules_hold_) {
        const absl::Status added = rules_.Add(entry);
        if (!added.ok()) {
          report_.Add(EntryPlace(name_, sequence), added);
          rules_hold_ = false;
        }
      }
      tree_.Append(merkle::LeafHash(entry));
    } else if (sequence < signed_.size) {
      CheckLeaf(sequence, merkle::LeafHash(entry));
    }
  }

  // Behind a missing entry there is no root to compare with, but still the leaf's own hash.
  void CheckLeaf(uint64_t sequence, const merkle::Hash& leaf) {
    const uint64_t index = sequence / merkle::kTileWidth;
    if (leaves_index_ != index) {
      leaves_index_ = index;
      const absl::StatusOr<std::string> tile =
          store_.checkpoints().ReadTile(name_, {.level = 0, .index = index});
      if (!tile.ok()) {
        report_.Add(absl::StrCat(name_, ": tile of level 0 and index ", index), tile.status());
      }
      leaves_ = tile.ok() ? *tile : std::string();
    }
    if (leaves_.empty()) return;
    const size_t at = sequence % merkle::kTileWidth * merkle::kHashBytes;
    if (at + merkle::kHashBytes > leaves_.size() ||
        leaves_.compare(at, merkle::kHashBytes, merkle::ToBytes(leaf)) != 0) {
      report_.Add(EntryPlace(name_, sequence), "its leaf hash is not the one in its tile");
    }
  }

  bool CanRead(uint64_t sequence) {
    const auto read = store_.Read(name_, sequence, 1, 1);
    return read.ok() && !read->empty();
  }

  // Looks for the next entry that can be read: in steps that double, then by halves.
  void PassMissing(const absl::Status& why) {
    uint64_t bad = next_;
    uint64_t good = head_.size();
    for (uint64_t step = 1; next_ + step < head_.size(); step *= 2) {
      if (CanRead(next_ + step)) {
        good = next_ + step;
        break;
      }
      bad = next_ + step;
    }
    while (bad + 1 < good) {
      const uint64_t middle = bad + (good - bad) / 2;
      (CanRead(middle) ? good : bad) = middle;
    }
    report_.Add(good == next_ + 1 ? EntryPlace(name_, next_)
                                  : absl::StrCat(name_, ": entries ", next_, " to ", good - 1),
                why);
    next_ = good;
    whole_ = false;
  }

  void CheckEnd() {
    if (merkle::ToBytes(tree_.Root()) != head_.root_hash()) {
      report_.Add(absl::StrCat(name_, ": head"),
                  absl::StrCat("says the root ", HexEncode(head_.root_hash()),
                               ", the entries have ", Hex(tree_.Root())));
    }
    if (!rules_hold_ || rules_.size() == 0) return;
    if (rules_.sealed() != (head_.state() == v1::SEALED)) {
      report_.Add(absl::StrCat(name_, ": head"),
                  absl::StrCat("says ", v1::LedgerState_Name(head_.state()), ", the entries are ",
                               rules_.sealed() ? "sealed" : "open"));
    }
    if (rules_.declaration().SerializeAsString() != head_.declaration().SerializeAsString()) {
      report_.Add(absl::StrCat(name_, ": head"), "has another declaration than entry 0");
    }
    if (rules_.writers() != static_cast<size_t>(head_.writers_size())) {
      report_.Add(absl::StrCat(name_, ": head"),
                  absl::StrCat("names ", head_.writers_size(), " writers, the entries have ",
                               rules_.writers()));
    }
    for (const v1::WriterStatus& writer : head_.writers()) {
      const std::optional<v1::WriterStatus> expected = rules_.StatusOf(writer.writer());
      if (expected.has_value() && expected->SerializeAsString() == writer.SerializeAsString()) {
        continue;
      }
      report_.Add(
          absl::StrCat(name_, ": head"),
          absl::StrCat("says {", writer.ShortDebugString(), "} of a writer, the entries say {",
                       expected.has_value() ? expected->ShortDebugString() : "", "}"));
    }
  }

  LedgerReader& store_;
  const FsckOptions& options_;
  const v1::Ledger& head_;
  const std::string name_;
  FsckReport& report_;
  TileCheck tiles_;
  ReceiptCheck receipts_;      // while whole_
  merkle::Checkpoint signed_;  // of size 0 if nothing is
  merkle::TileBuilder tree_;
  bundle::LedgerRules rules_;
  bool rules_hold_ = true;
  bool whole_ = true;  // all entries until now could be read
  uint64_t next_ = 0;
  std::optional<uint64_t> leaves_index_;
  std::string leaves_;  // of that tile
};

// One hash over the indices of a ledger's registrations.
void TakeRegistration(uint64_t index, merkle::Hash& chain) {
  chain = merkle::Sha256({merkle::ToBytes(chain), absl::StrCat(index)});
}

// That the stored places of the ledger's registrations are those that the registry has.
absl::Status CheckRegistrations(CheckpointReader& store, const std::string& ledger, uint64_t points,
                                const merkle::Hash& registered) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> indices,
                   ReadRegistrations(store, ledger, 0, points));
  merkle::Hash chain = {};
  for (const uint64_t index : indices) TakeRegistration(index, chain);
  if (chain == registered) return absl::OkStatus();
  return absl::DataLossError("are not where the registry has them");
}

// Entries and tiles of the registry as far as they can be read, whatever its checkpoint says.
// Returns a hash over the indices of each ledger's registrations, by the ledger's origin.
std::map<std::string, merkle::Hash> CheckRegistryTiles(CheckpointReader& store,
                                                       uint64_t signed_size, FsckReport& report) {
  std::map<std::string, merkle::Hash> chains;
  TileCheck tiles(store, kRegistryLog, report);
  merkle::TileBuilder tree;
  while (tree.size() < signed_size) {
    const absl::StatusOr<std::vector<std::string>> page =
        store.ReadRegistry(tree.size(), std::min(kPageEntries, signed_size - tree.size()));
    if (!page.ok() || page->empty()) {
      report.Add(EntryPlace(kRegistryLog, tree.size()),
                 page.ok() ? absl::DataLossError("is signed, but missing") : page.status());
      return chains;
    }
    for (const std::string& bytes : *page) {
      v1::LedgerEntry entry;
      if (entry.ParseFromString(bytes) && entry.has_registered())
        TakeRegistration(tree.size(), chains[entry.registered().origin()]);
      tree.Append(merkle::LeafHash(bytes));
    }
    tiles.Compare(tree);
    report.registry_entries = tree.size();
  }
  const auto beyond = store.ReadRegistry(signed_size, 1);
  if (beyond.ok() && !beyond->empty()) {
    report.Add(EntryPlace(kRegistryLog, signed_size), "is beyond what was signed");
  }
  return chains;
}

void CheckCopies(LedgerReader& store, const Registry& registry, const FsckOptions& options,
                 FsckReport& report) {
  if (options.checkpoint_file.empty()) {
    report.Note(
        "no second place was given: a store that lost its end whole looks like an older one");
    return;
  }
  const CheckpointFile file(options.checkpoint_file);
  const absl::StatusOr<std::vector<std::string>> copies = file.Read();
  if (copies.ok() && copies->empty()) {
    report.Note(absl::StrCat(file.path(),
                             ": is not there; a store that lost its end whole looks like an older "
                             "one without it"));
    return;
  }
  const absl::Status checked = CheckSecondPlace(store, registry, file);
  report.Add(file.path(), checked);
  if (!checked.ok() || !copies.ok() || registry.empty()) return;
  for (const std::string& copy : *copies) {
    report.Add(file.path(),
               merkle::OpenCheckpoint(copy, registry.origin(), registry.keys()).status());
  }
}

}  // namespace

void FsckReport::Add(std::string place, std::string what) {
  ++count_;
  if (findings_.size() < kMostKept) findings_.push_back({std::move(place), std::move(what)});
}

void FsckReport::Add(std::string place, const absl::Status& status) {
  if (!status.ok()) Add(std::move(place), std::string(status.message()));
}

void Fsck(LedgerReader& store, const FsckOptions& options, FsckReport& report) {
  CheckpointReader& checkpoints = store.checkpoints();
  Registry registry;
  const absl::Status caught_up = registry.CatchUp(checkpoints);
  report.Add("the registry", caught_up);
  std::map<std::string, merkle::Hash> registrations;
  const absl::StatusOr<v1::StoredCheckpoint> latest = checkpoints.Latest(kRegistryLog);
  if (latest.ok()) {
    report.registry_size = latest->size();
    registrations = CheckRegistryTiles(checkpoints, latest->size(), report);
  }
  CheckCopies(store, registry, options, report);
  if (options.keys.current == nullptr) {
    report.Note(
        "no signing key was given: whether heads are as a server with the key left them was not "
        "checked, only that they fit the entries");
  }

  std::set<std::string> origins;
  const auto check = [&](const v1::Ledger& ledger) {
    ++report.ledgers;
    origins.insert(OriginOf(registry.origin(), ledger.name()));
    if (options.authenticated != nullptr) {
      report.Add(absl::StrCat(ledger.name(), ": head"),
                 options.authenticated->Get(ledger.name(), kNoWriters).status());
    }
    LedgerCheck(store, options, ledger, report).Run(registry, caught_up.ok());
    if (!caught_up.ok()) return;
    const std::string origin = OriginOf(registry.origin(), ledger.name());
    report.Add(absl::StrCat(ledger.name(), ": registrations"),
               CheckRegistrations(checkpoints, ledger.name(), registry.HeadOf(origin).points,
                                  registrations[origin]));
  };
  const auto check_next = [&](const v1::Ledger& ledger) {
    check(ledger);
    return absl::OkStatus();
  };
  report.Add("the list of ledgers", store.ForEach("projects/-", check_next, WriterRange()));
  // A head that cannot be read ends the list. The registry knows the names of the others.
  const std::string ours = absl::StrCat(registry.origin(), "/");
  for (const auto& [origin, head] : registry.ledgers()) {
    if (origins.count(origin) > 0) continue;
    const absl::StatusOr<v1::Ledger> ledger =
        absl::StartsWith(origin, ours) ? store.Get(origin.substr(ours.size()))
                                       : absl::NotFoundError("it is not of this registry");
    if (ledger.ok()) {
      check(*ledger);
      continue;
    }
    report.Add(EntryPlace(kRegistryLog, head.last.index),
               absl::StrCat("signs ", head.last.size, " entries of ", origin,
                            ", but that ledger cannot be read: ", ledger.status().message()));
  }
}

}  // namespace dpledger
