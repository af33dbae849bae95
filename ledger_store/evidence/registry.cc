#include "ledger_store/evidence/registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "merkle/compact_tree.h"

namespace dpledger {
namespace {

constexpr size_t kPageEntries = 10'000;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("the registry: ", ToAbsl(what)));
}

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
  const absl::StatusOr<merkle::Note> note = merkle::Note::Parse(stored.note());
  if (!note.ok()) return refused(note.status());
  absl::StatusOr<merkle::Checkpoint> checkpoint = merkle::OpenCheckpoint(*note, origin, keys);
  if (!checkpoint.ok()) return refused(checkpoint.status());
  if (checkpoint->size != stored.size()) {
    return refused(absl::DataLossError(
        absl::StrCat("it says size ", checkpoint->size, ", stored is ", stored.size())));
  }
  return SignedCheckpoint{*std::move(checkpoint), stored.note(), stored.registry_index()};
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
    const absl::StatusOr<merkle::Note> note = merkle::Note::Parse(latest->note());
    const absl::StatusOr<merkle::Checkpoint> checkpoint =
        note.ok() ? merkle::ParseCheckpoint(note->text) : note.status();
    if (!checkpoint.ok()) {
      return Damaged(
          absl::StrCat("its checkpoint cannot be read: ", checkpoint.status().message()));
    }
    log_ = registry::RegistryLog(checkpoint->origin);
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
  if (!log_.last_registered().empty())
    registrations_.emplace_back(log_.last_registered(), log_.size() - 1);
  return absl::OkStatus();
}

}  // namespace dpledger
