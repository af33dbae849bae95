#include "events/writer_rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/event_values.h"
#include "events/names.h"

namespace dpledger::events {
namespace {

// Events of a file or a question have a writer without a name.
std::string OfWriter(const v1::WriterStatus& writer) {
  return writer.writer().empty() ? "" : absl::StrCat(" of writer ", writer.writer());
}

// More would make a writer's status grow without end. From then on the ledger says for ever that it
// may be short.
constexpr int kMaxMissingSpools = 16;

absl::Status Refused(const std::string& message, const std::string& reason,
                     std::map<std::string, std::string> metadata) {
  return WithReason(absl::FailedPreconditionError(message), {reason, std::move(metadata)});
}

// The schemes of this file have been checked.
accountant::SamplingScheme Checked(const v1::SamplingScheme& scheme) {
  return ValueOf(scheme).value_or(accountant::SamplingScheme{});
}
// Of a scheme by epochs.
accountant::Epoch EpochOf(const v1::SamplingScheme& scheme) {
  return accountant::EpochOf(Checked(scheme)).value_or(accountant::Epoch{1, 0});
}
accountant::SamplingScheme WithoutNumber(const v1::SamplingScheme& scheme) {
  accountant::SamplingScheme drawn = Checked(scheme);
  std::visit(
      [](auto& kind) {
        if constexpr (requires { kind.epoch; }) kind.epoch = 0;
      },
      drawn.kind);
  return drawn;
}

// Compares all but the numbers of the epochs.
bool AreEpochsOfOneKind(const v1::SamplingScheme& a, const v1::SamplingScheme& b) {
  return WithoutNumber(a) == WithoutNumber(b);
}

bool IsSameEpoch(const v1::SamplingScheme& a, const v1::SamplingScheme& b) {
  return Checked(a) == Checked(b);
}

absl::Status CheckRound(const RoundStep& step, const v1::WriterStatus& writer) {
  const bool opens = step.kind == RoundStep::Kind::kOpens;
  const bool joins_last = !opens && step.round == writer.last_round();
  if (!writer.has_round() || step.round > writer.last_round() || joins_last)
    return absl::OkStatus();
  const std::string field = opens ? "sampling.round" : "sum_query.round";
  const std::map<std::string, std::string> metadata = {
      {"field", field}, {"last_round", absl::StrCat(writer.last_round())}};
  if (step.round < writer.last_round()) {
    return Refused(absl::StrCat(field, ": must be at least ", writer.last_round(),
                                ", the last round", OfWriter(writer), ", got ", step.round),
                   "ROUND_GOES_BACK", metadata);
  }
  return Refused(absl::StrCat(field, ": round ", step.round, OfWriter(writer),
                              " has begun already, a new sample needs a new number"),
                 "ROUND_ALREADY_OPEN", metadata);
}

absl::Status CheckEpoch(const v1::SamplingScheme& scheme, const v1::WriterStatus& writer) {
  if (!writer.has_epoch()) return absl::OkStatus();
  const v1::SamplingScheme& last = writer.epoch().scheme();
  const auto [rounds, epoch] = EpochOf(scheme);
  const uint64_t last_epoch = EpochOf(last).number;
  if (epoch > last_epoch) return absl::OkStatus();
  const bool same = IsSameEpoch(scheme, last);
  if (same && writer.epoch().rounds() < rounds) return absl::OkStatus();
  const std::string field = "sampling.scheme";
  const std::map<std::string, std::string> metadata = {{"field", field},
                                                       {"epoch", absl::StrCat(last_epoch)}};
  if (!same) {
    return Refused(absl::StrCat(field, ": epoch ", epoch, " must be above ", last_epoch,
                                ", the last epoch", OfWriter(writer), ", or that epoch itself"),
                   "EPOCH_GOES_BACK", metadata);
  }
  return Refused(absl::StrCat(field, ": epoch ", epoch, OfWriter(writer), " has all its ", rounds,
                              " rounds, a further one is of a later epoch"),
                 "EPOCH_FULL", metadata);
}

// In words, without the epoch's number.
std::string Described(const v1::SamplingScheme& bins) {
  return absl::StrCat("population_size ", bins.population_size(), ", rounds_per_epoch ",
                      EpochOf(bins).rounds, ", contributions ",
                      std::max(uint64_t{1}, bins.random_allocation().contributions()));
}

absl::Status CheckFixedBins(const RoundStep& step, const v1::WriterStatus& writer) {
  if (step.fixed_bins == nullptr || !writer.has_fixed_bins() ||
      AreEpochsOfOneKind(*step.fixed_bins, writer.fixed_bins())) {
    return absl::OkStatus();
  }
  const std::string field =
      step.kind == RoundStep::Kind::kOpens ? "sampling.scheme" : "rounds.scheme";
  return Refused(
      absl::StrCat(field, ": fixed bins are drawn once", OfWriter(writer),
                   ", so each epoch must say what the first one did, ",
                   Described(writer.fixed_bins()), "; got ", Described(*step.fixed_bins)),
      "FIXED_BINS_CHANGED", {{"field", field}});
}

void KeepFixedBins(const RoundStep& step, v1::WriterStatus& writer) {
  if (step.fixed_bins == nullptr || writer.has_fixed_bins()) return;
  *writer.mutable_fixed_bins() = *step.fixed_bins;
  writer.mutable_fixed_bins()->mutable_random_allocation()->clear_epoch();
}

// All rules but that for fixed bins.
absl::Status TakeRoundAndEpoch(const RoundStep& step, v1::WriterStatus& writer) {
  if (step.kind == RoundStep::Kind::kNone) return absl::OkStatus();
  RETURN_IF_ERROR(CheckRound(step, writer));
  if (step.epoch != nullptr) {
    RETURN_IF_ERROR(CheckEpoch(*step.epoch, writer));
    v1::EpochProgress& epoch = *writer.mutable_epoch();
    if (!IsSameEpoch(epoch.scheme(), *step.epoch)) {
      *epoch.mutable_scheme() = *step.epoch;
      epoch.set_rounds(0);
    }
    epoch.set_rounds(epoch.rounds() + 1);
  }
  writer.set_has_round(true);
  writer.set_last_round(step.round);
  return absl::OkStatus();
}

void BeginEpochs(uint64_t sequence, v1::WriterStatus& writer) {
  writer.set_epochs_since(sequence);
  writer.clear_epoch();
}

int Find(std::string_view incarnation, const v1::WriterStatus& writer) {
  for (int i = 0; i < writer.missing_spools_size(); ++i) {
    if (writer.missing_spools(i).incarnation() == incarnation) return i;
  }
  return -1;
}

void AddMissing(std::string_view incarnation, uint64_t opened_sequence, bool refused,
                v1::WriterStatus& writer) {
  if (const int known = Find(incarnation, writer); known >= 0) {
    if (refused) writer.mutable_missing_spools(known)->set_refused(true);
    return;
  }
  if (writer.missing_spools_size() == kMaxMissingSpools) {
    writer.set_more_missing_spools(true);
    return;
  }
  v1::MissingSpool& missing = *writer.add_missing_spools();
  missing.set_incarnation(std::string(incarnation));
  missing.set_opened_sequence(opened_sequence);
  missing.set_refused(refused);
}

}  // namespace

RoundStep StepOf(const v1::Event& event) {
  const auto fixed = [](const v1::SamplingScheme& scheme) {
    return scheme.random_allocation().fixed_bins() ? &scheme : nullptr;
  };
  if (event.has_sampling()) {
    const v1::SamplingScheme& scheme = event.sampling().scheme();
    const bool epochs = scheme.has_disjoint_batches() || scheme.has_random_allocation();
    return {RoundStep::Kind::kOpens, event.sampling().round(), epochs ? &scheme : nullptr,
            fixed(scheme)};
  }
  if (event.has_sum_query()) return {RoundStep::Kind::kJoins, event.sum_query().round()};
  return {.fixed_bins = fixed(event.rounds().scheme())};
}

absl::Status TakeRound(const RoundStep& step, v1::WriterStatus& writer) {
  RETURN_IF_ERROR(CheckFixedBins(step, writer));
  RETURN_IF_ERROR(TakeRoundAndEpoch(step, writer));
  KeepFixedBins(step, writer);
  return absl::OkStatus();
}

absl::Status TakeStoredRound(const RoundStep& step, uint64_t sequence, v1::WriterStatus& writer) {
  if (step.epoch != nullptr && !CheckEpoch(*step.epoch, writer).ok()) BeginEpochs(sequence, writer);
  RETURN_IF_ERROR(TakeRoundAndEpoch(step, writer));
  KeepFixedBins(step, writer);
  return absl::OkStatus();
}

void TakeResume(uint64_t sequence, v1::WriterStatus& writer) { BeginEpochs(sequence, writer); }

absl::Status TakeOpened(const v1::Opened& opened, uint64_t sequence, v1::SpoolPolicy policy,
                        v1::WriterStatus& writer) {
  RETURN_IF_ERROR(CheckToken("opened.incarnation", opened.incarnation()));
  if (!opened.previous().empty()) {
    RETURN_IF_ERROR(CheckToken("opened.previous", opened.previous()));
  }
  if (opened.incarnation() == writer.incarnation()) {
    return FieldError("opened.incarnation",
                      absl::StrCat("must be new, got the last one again, ", opened.incarnation()));
  }
  const bool carried_on = opened.previous() == writer.incarnation();
  if (!carried_on && !writer.incarnation().empty() && policy == v1::SPOOL) {
    AddMissing(writer.incarnation(), writer.opened_sequence(), /*refused=*/false, writer);
  }
  if (!carried_on || !opened.carries_epochs()) BeginEpochs(sequence, writer);
  writer.set_incarnation(opened.incarnation());
  // Two copies of a spool do not know each other's entries: each incarnation counts its own.
  writer.set_late_entries(writer.entry_count());
  writer.set_opened_sequence(sequence);
  writer.set_has_round(false);
  writer.set_last_round(0);
  return absl::OkStatus();
}

absl::Status TakeClosed(uint64_t entry_count, v1::WriterStatus& writer) {
  const uint64_t count = writer.entry_count() - writer.late_entries() + 1;
  if (entry_count == count) {
    writer.set_closed(true);
    return absl::OkStatus();
  }
  return Refused(
      absl::StrCat("writer_closed.entry_count: must be ", count, ", the entries of writer ",
                   writer.writer(), " with this one, got ", entry_count),
      "WRITER_COUNT_MISMATCH",
      {{"field", "writer_closed.entry_count"}, {"entry_count", absl::StrCat(count)}});
}

void TakeConflict(std::string_view incarnation, v1::WriterStatus& writer) {
  const uint64_t opened =
      incarnation == writer.incarnation() ? writer.opened_sequence() : uint64_t{0};
  AddMissing(incarnation, opened, /*refused=*/true, writer);
  writer.set_late_entries(writer.late_entries() + 1);
}

void TakeLateEvent(v1::WriterStatus& writer) { writer.set_late_entries(writer.late_entries() + 1); }

void TakeSpoolImported(std::string_view incarnation, uint64_t sequence, v1::WriterStatus& writer) {
  const int known = Find(incarnation, writer);
  if (known >= 0) writer.mutable_missing_spools()->DeleteSubrange(known, 1);
  writer.set_late_since(sequence);
  writer.set_late_entries(writer.late_entries() + 1);
}

absl::Status CheckOwner(std::string_view caller, const v1::WriterStatus& writer) {
  if (caller.empty() || writer.owner().empty() || caller == writer.owner()) return absl::OkStatus();
  return WithReason(
      absl::PermissionDeniedError(absl::StrCat(
          "writer: ", writer.writer(),
          " belongs to another caller in this ledger, and nobody else may write under its name; "
          "write under another one")),
      {kWriterOfAnotherCaller, {{"field", "writer"}, {"writer", writer.writer()}}});
}

absl::Status TakeCaller(std::string_view caller, v1::WriterStatus& writer) {
  RETURN_IF_ERROR(CheckOwner(caller, writer));
  if (writer.owner().empty()) writer.set_owner(std::string(caller));
  return absl::OkStatus();
}

absl::Status CheckMayWrite(std::string_view incarnation, const v1::WriterStatus& writer) {
  if (writer.closed()) {
    return Refused(absl::StrCat("writer ", writer.writer(), " has closed, it writes no more"),
                   "WRITER_CLOSED", {{"writer", writer.writer()}});
  }
  if (incarnation == writer.incarnation()) return absl::OkStatus();
  return Refused(
      absl::StrCat("writer ", writer.writer(), " was opened again, by incarnation ",
                   writer.incarnation(), " at entry ", writer.opened_sequence(),
                   "; this batch is of ",
                   incarnation.empty() ? "none" : absl::StrCat("incarnation ", ToAbsl(incarnation)),
                   " and is refused"),
      "FENCED_OFF", {{"writer", writer.writer()}, {"incarnation", writer.incarnation()}});
}

bool IsNewConflict(std::string_view incarnation, const v1::WriterStatus& writer) {
  const int known = Find(incarnation, writer);
  if (known >= 0) return !writer.missing_spools(known).refused();
  return writer.missing_spools_size() < kMaxMissingSpools || !writer.more_missing_spools();
}

std::string EpochOwner(const v1::WriterStatus& writer) {
  return writer.epochs_since() == 0 ? writer.writer()
                                    : absl::StrCat(writer.writer(), "#", writer.epochs_since());
}

std::string LateOwner(std::string_view incarnation, const v1::WriterStatus& writer) {
  return absl::StrCat(writer.writer(), "#late#", ToAbsl(incarnation), "#", writer.late_since());
}

std::vector<Missing> MissingReleases(const v1::WriterStatus& writer, v1::SpoolPolicy policy) {
  std::vector<Missing> missing;
  for (const v1::MissingSpool& spool : writer.missing_spools()) {
    missing.push_back({spool.incarnation(), spool.opened_sequence(),
                       spool.refused()
                           ? "a batch of it was refused, and what it describes may have been "
                             "released; `dpledger spool import` brings its spool in"
                           : "it did not close, and the next one did not carry on its spool, which "
                             "may hold what was never delivered"});
  }
  if (writer.more_missing_spools()) {
    missing.push_back({"", 0, "more incarnations than are listed may hold undelivered events"});
  }
  if (policy == v1::SPOOL && !writer.closed()) {
    missing.push_back(
        {writer.incarnation(), writer.opened_sequence(),
         "its policy is SPOOL and it has not closed; it may hold undelivered events"});
  }
  return missing;
}

}  // namespace dpledger::events
