#include "server/questions/lineage.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr size_t kMaxForks = 100;

// A prefix that is still to be read.
struct Wanted {
  v1::Ledger ledger;
  uint64_t size;
  std::string root;  // empty: that of the ledger, if all of it is wanted
};

absl::StatusOr<Wanted> FindLedger(LedgerReader& store, const std::string& name,
                                  uint64_t up_to_sequence) {
  Wanted wanted;
  ASSIGN_OR_RETURN(wanted.ledger, store.Get(name));
  if (up_to_sequence > wanted.ledger.size()) {
    return WithReason(
        absl::OutOfRangeError(absl::StrCat("subject.up_to_sequence: must be at most the ledger's "
                                           "size, ",
                                           wanted.ledger.size(), ", got ", up_to_sequence)),
        {"BEYOND_LEDGER", {{"current_sequence", absl::StrCat(wanted.ledger.size())}}});
  }
  wanted.size = up_to_sequence != 0 ? up_to_sequence : wanted.ledger.size();
  return wanted;
}

absl::StatusOr<Wanted> FindParent(LedgerReader& store, const v1::Ledger& child) {
  const v1::Fork& fork = child.fork();
  absl::StatusOr<v1::Ledger> parent = store.Get(fork.parent());
  if (absl::IsNotFound(parent.status())) {
    return absl::DataLossError(absl::StrCat(child.name(), ": is a fork of ", fork.parent(),
                                            ", which this store does not have"));
  }
  RETURN_IF_ERROR(parent.status());
  if (fork.parent_size() == 0 || fork.parent_size() > parent->size()) {
    return absl::DataLossError(absl::StrCat(child.name(), ": is a fork of ", fork.parent(), " at ",
                                            fork.parent_size(), " entries, and that ledger has ",
                                            parent->size()));
  }
  return Wanted{*std::move(parent), fork.parent_size(), fork.parent_root()};
}

absl::Status CheckComplete(const Wanted& wanted) {
  if (!wanted.ledger.has_import()) return absl::OkStatus();
  const uint64_t all = wanted.ledger.import().size();
  // Entry 0 is the import itself. So many entries can also be too few copied ones; the reader
  // counts those.
  if (wanted.size > all) return absl::OkStatus();
  const uint64_t taken = wanted.size - 1;
  return WithReason(
      absl::FailedPreconditionError(
          absl::StrCat(wanted.ledger.name(), ": holds ", taken, " of the ", all,
                       " entries that it copies; what the others cost is not known")),
      {"IMPORT_INCOMPLETE", {{"taken", absl::StrCat(taken)}, {"size", absl::StrCat(all)}}});
}

absl::Status OverlapError(const LedgerPrefix& copy, const LedgerPrefix& other,
                          const std::string& why) {
  return WithReason(
      absl::FailedPreconditionError(
          absl::StrCat(copy.ledger.name(), ": ", why, " ", other.ledger.name(),
                       ": what both hold would count twice; name the one that holds more")),
      {"COPIES_OVERLAP", {{"ledger", copy.ledger.name()}, {"other", other.ledger.name()}}});
}

absl::StatusOr<Lineage> ReadOnce(LedgerReader& store, HistoryCache& histories,
                                 const SignedRoot& signed_root, const std::string& name,
                                 uint64_t up_to_sequence, const accountant::Limits& limits) {
  std::vector<Wanted> wanted(1);
  ASSIGN_OR_RETURN(wanted[0], FindLedger(store, name, up_to_sequence));
  if (signed_root && wanted[0].size < wanted[0].ledger.size()) {
    ASSIGN_OR_RETURN(const merkle::Hash root, signed_root(name, wanted[0].size, limits));
    wanted[0].root = merkle::ToBytes(root);
  }
  while (wanted.back().ledger.has_fork()) {
    if (wanted.size() > kMaxForks) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            name, ": is a fork of a fork more than ", kMaxForks, " deep")),
                        {"FORKS_TOO_DEEP", {{"ledger", name}}});
    }
    ASSIGN_OR_RETURN(Wanted parent, FindParent(store, wanted.back().ledger));
    wanted.push_back(std::move(parent));
  }
  Lineage lineage;
  for (Wanted& one : wanted) {
    RETURN_IF_ERROR(CheckComplete(one));
    ASSIGN_OR_RETURN(HistoryCache::HistoryPointer history,
                     histories.Read(one.ledger, one.size, one.root, limits));
    if (absl::Status complete = history->reader.CheckComplete(); !complete.ok()) {
      return WithReason(
          absl::Status(complete.code(), absl::StrCat(one.ledger.name(), ": ", complete.message())),
          ReasonOf(complete));
    }
    lineage.push_back({std::move(one.ledger), std::move(history)});
  }
  return lineage;
}

}  // namespace

absl::StatusOr<Lineage> ReadLineage(LedgerReader& store, HistoryCache& histories,
                                    const SignedRoot& signed_root, const std::string& name,
                                    uint64_t up_to_sequence, const accountant::Limits& limits) {
  absl::StatusOr<Lineage> lineage =
      ReadOnce(store, histories, signed_root, name, up_to_sequence, limits);
  // A database that failed over between the description and the entries looks like damage.
  if (!absl::IsDataLoss(lineage.status())) return lineage;
  return ReadOnce(store, histories, signed_root, name, up_to_sequence, limits);
}

std::vector<const questions::HistoryReader*> AncestorsOf(const Lineage& lineage) {
  std::vector<const questions::HistoryReader*> ancestors;
  for (size_t i = 1; i < lineage.size(); ++i) ancestors.push_back(&lineage[i].history->reader);
  return ancestors;
}

questions::LedgerPart LedgerPrefix::part() const {
  questions::LedgerPart part;
  part.name = ledger.name();
  part.root = history->tree.Root();
  part.reader = std::shared_ptr<const questions::HistoryReader>(history, &history->reader);
  if (ledger.has_import()) {
    for (const auto& [name, writer] : history->reader.writers()) part.writers.push_back(writer);
  } else {
    part.writers = {ledger.writers().begin(), ledger.writers().end()};
  }
  return part;
}

absl::Status CheckNoCopyTwice(const std::vector<Lineage>& lineages, HistoryCache& histories,
                              const accountant::Limits& limits) {
  std::vector<LedgerPrefix> prefixes;  // each ledger once, whichever part of it
  std::set<std::string> names;
  for (const Lineage& lineage : lineages) {
    for (const LedgerPrefix& prefix : lineage) {
      if (names.insert(prefix.ledger.name()).second) prefixes.push_back(prefix);
    }
  }
  for (const LedgerPrefix& copy : prefixes) {
    if (!copy.ledger.has_import()) continue;
    const v1::Import& import = copy.ledger.import();
    for (const LedgerPrefix& other : prefixes) {
      if (&other == &copy) continue;
      if (other.ledger.has_import() && other.ledger.import().origin() == import.origin()) {
        return OverlapError(copy, other, absl::StrCat("copies ", import.origin(), ", and so does"));
      }
      // A copy of a ledger on this server: its origin ends with the name, its bytes are the same.
      if (!absl::EndsWith(import.origin(), other.ledger.name()) ||
          other.ledger.size() < import.size()) {
        continue;
      }
      ASSIGN_OR_RETURN(const HistoryCache::HistoryPointer original,
                       histories.Read(other.ledger, import.size(), "", limits));
      if (merkle::ToBytes(original->tree.Root()) == import.root_hash()) {
        return OverlapError(copy, other, "is a copy of");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
