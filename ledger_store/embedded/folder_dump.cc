#include "ledger_store/embedded/folder_dump.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/folder_lock.h"
#include "ledger_store/embedded/surviving_records.h"
#include "ledger_store/embedded/surviving_store.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "merkle/compact_tree.h"

namespace dpledger::embedded {
namespace {

// Tells which entries of a ledger are under its checkpoint: by their proofs, or, where tiles are
// damaged, by the root of all of them.
class SignedPrefix {
 public:
  SignedPrefix(SurvivingStore& store, const SurvivingStore::Ledger& ledger,
               const Registry& registry)
      : store_(store), ledger_(ledger) {
    const absl::StatusOr<SignedCheckpoint> last = LastOf(store, registry, ledger.name);
    if (!last.ok() || last->checkpoint.size == 0) return;
    size_ = last->checkpoint.size;
    root_ = last->checkpoint.root;
    reader_ = std::make_unique<LogReader>(store, ledger.name, *last);
  }

  uint64_t size() const { return size_; }

  bool Covers(uint64_t sequence, const merkle::Hash& leaf) {
    if (sequence >= size_) return false;
    if (tiles_are_good_) {
      const absl::StatusOr<LeafProof> proof = reader_->ProveInclusion(sequence, size_);
      if (proof.ok()) return proof->leaf_hash == leaf;
      tiles_are_good_ = false;
    }
    if (!all_.has_value()) all_ = HashAll() == root_;
    return *all_;
  }

 private:
  std::optional<merkle::Hash> HashAll() {
    merkle::CompactTree tree;
    const auto add = [&](uint64_t first, const std::vector<std::string_view>& entries) {
      if (first != tree.size()) return absl::CancelledError("");
      for (std::string_view entry : entries) {
        if (tree.size() < size_) tree.Append(merkle::LeafHash(entry));
      }
      return absl::OkStatus();
    };
    const absl::Status scanned = store_.ScanBatches(ledger_, 0, add);
    if (!scanned.ok() || tree.size() != size_) return std::nullopt;
    return tree.Root();
  }

  SurvivingStore& store_;
  const SurvivingStore::Ledger& ledger_;
  uint64_t size_ = 0;
  merkle::Hash root_ = {};
  std::unique_ptr<LogReader> reader_;
  bool tiles_are_good_ = true;
  std::optional<bool> all_;
};

absl::Status DumpLedger(SurvivingStore& store, const SurvivingStore::Ledger& ledger,
                        const Registry& registry, const DumpOptions& options, FsckReport& skipped) {
  const bool named = !ledger.name.empty();
  SurvivingEntry entry;
  entry.ledger = named ? ledger.name : absl::StrCat("ledger id ", ledger.id);
  std::optional<SignedPrefix> prefix;
  if (named) prefix.emplace(store, ledger, registry);
  const auto skip_to = [&](uint64_t end, const char* why) {
    if (entry.sequence >= end) return;
    skipped.Add(absl::StrCat(entry.ledger, ": entries ", entry.sequence, " to ", end - 1), why);
    entry.sequence = end;
  };
  const auto dump = [&](uint64_t first,
                        const std::vector<std::string_view>& entries) -> absl::Status {
    skip_to(first, "are in no file that can be read");
    for (size_t i = entry.sequence - first; i < entries.size(); ++i, ++entry.sequence) {
      entry.bytes = entries[i];
      entry.leaf_hash = merkle::LeafHash(entry.bytes);
      entry.is_signed = named && prefix->Covers(entry.sequence, entry.leaf_hash);
      ++skipped.entries;
      RETURN_IF_ERROR(options.entry(entry));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(store.ScanBatches(ledger, 0, dump));
  ++skipped.ledgers;
  if (ledger.head.has_value()) {
    skip_to(ledger.head->tree.size(), "are in no file that can be read");
  }
  if (named) skip_to(prefix->size(), "were signed, but are in no file that can be read");
  return absl::OkStatus();
}

// Entries do not depend on what lists the files.
bool IsOfAnotherKind(const Damage& damage) { return absl::StartsWith(damage.place, "MANIFEST-"); }

}  // namespace

absl::Status DumpFolder(const std::string& folder, const DumpOptions& options,
                        FsckReport& skipped) {
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder, FolderLock::Kind::kShared));
  ASSIGN_OR_RETURN(const std::unique_ptr<SurvivingRecords> records, SurvivingRecords::Open(folder));
  FsckReport of_records;
  ASSIGN_OR_RETURN(const std::unique_ptr<SurvivingStore> store,
                   SurvivingStore::Open(*records, /*keys=*/{}, of_records));
  if (!options.ledger.empty() && store->FindByName(options.ledger) == nullptr) {
    return absl::NotFoundError(absl::StrCat(options.ledger, ": no such ledger can be read"));
  }
  Registry registry;
  if (const absl::Status caught_up = registry.CatchUp(*store); !caught_up.ok()) {
    skipped.Note(absl::StrCat("nothing is shown as signed: ", caught_up.message()));
  }
  if (!options.checkpoint_file.empty()) {
    // What lay behind the end of a log that was cut is in no file that could tell of it.
    const CheckpointFile outside(options.checkpoint_file);
    const absl::Status held = CheckSecondPlace(*store, registry, outside);
    if (!held.ok()) skipped.Add(outside.path(), held);
  }
  for (const auto& [id, ledger] : store->ledgers()) {
    if (!options.ledger.empty() && ledger.name != options.ledger) continue;
    RETURN_IF_ERROR(DumpLedger(*store, ledger, registry, options, skipped));
  }
  for (const Damage& damage : records->damage()) {
    if (!IsOfAnotherKind(damage)) skipped.Add(damage.place, damage.what);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
