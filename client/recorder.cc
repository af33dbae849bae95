#include "client/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/call.h"
#include "client/internal/refusals.h"
#include "connection/connection.h"
#include "events/answerable.h"
#include "events/event_values.h"
#include "events/field_checks.h"
#include "events/resumed_round.h"
#include "events/writer_rules.h"

namespace dpledger::client {
namespace {

// A batch holds 10,000 entries; one is the sampling event.
constexpr size_t kMaxQueries = 9999;
constexpr char kSpoolFull[] = "SPOOL_FULL";  // Spool::Append

uint64_t EpochOf(const v1::EpochProgress& progress) {
  return progress.scheme().has_disjoint_batches() ? progress.scheme().disjoint_batches().epoch()
                                                  : progress.scheme().random_allocation().epoch();
}

// After a loss of power a spool that is not synced may know fewer rounds than the server has.
EpochPosition PositionOf(const v1::EpochProgress& spooled, const v1::EpochProgress& stored) {
  EpochPosition position{EpochOf(spooled), spooled.rounds()};
  if (stored.has_scheme() && EpochOf(stored) == position.epoch) {
    position.rounds = std::max(position.rounds, stored.rounds());
  }
  return position;
}

constexpr uint64_t kFewestMore = 8;  // rounds that a grant is raised by, where they fit

// How many rounds an epoch of the scheme has, whose number is taken off; 1 without epochs.
uint64_t TakeEpoch(v1::SamplingScheme& scheme) {
  if (scheme.has_disjoint_batches()) {
    scheme.mutable_disjoint_batches()->clear_epoch();
    return scheme.disjoint_batches().batches_per_epoch();
  }
  if (scheme.has_random_allocation()) {
    scheme.mutable_random_allocation()->clear_epoch();
    return scheme.random_allocation().rounds_per_epoch();
  }
  return 1;
}

// As many times `once` as `times`, but no more than a plan may say.
uint64_t Times(uint64_t once, uint64_t times) {
  constexpr uint64_t kMost = uint64_t{1} << 53;
  return once * std::min(times, std::max<uint64_t>(1, kMost / once));
}

// `times` rounds (in whole epochs), or mechanisms, like the batch's last one: an event of a plan.
// Precondition: the batch has an event; times > 0.
v1::Event EventsLike(const v1::AppendBatchRequest& batch, uint64_t times) {
  v1::Event like;
  for (const v1::NewEntry& entry : batch.entries()) {
    const v1::Event& event = entry.event();
    if (event.has_sampling()) *like.mutable_rounds()->mutable_scheme() = event.sampling().scheme();
    if (event.has_sum_query()) *like.mutable_rounds()->add_queries() = event.sum_query().query();
    if (event.has_mechanism()) like = event;
  }
  if (like.has_mechanism()) {
    const uint64_t once = like.mechanism().has_count() ? like.mechanism().count() : 1;
    like.mutable_mechanism()->set_count(Times(once, times));
    return like;
  }
  v1::RoundsEvent& rounds = *like.mutable_rounds();
  const uint64_t epoch = TakeEpoch(*rounds.mutable_scheme());
  rounds.set_count(Times(epoch, (times + epoch - 1) / epoch));
  return like;
}

}  // namespace

PrivacyRecorder::PrivacyRecorder(RecorderOptions options) : options_(std::move(options)) {
  kept_.state = options_.state;
}

PrivacyRecorder::~PrivacyRecorder() { stopping_ = true; }

absl::Status PrivacyRecorder::AppendOpened() {
  if (opened_) return absl::OkStatus();
  std::vector<v1::NewEntry> entries(1);
  v1::Opened& opened = *entries[0].mutable_opened();
  opened.set_incarnation(incarnation_);
  opened.set_previous(previous_incarnation_);
  if (options_.carries_epochs != nullptr) {
    ASSIGN_OR_RETURN(const bool carries,
                     options_.carries_epochs(
                         {options_.ledger, options_.writer, incarnation_, previous_incarnation_}));
    opened.set_carries_epochs(carries);
  }
  const bool carries = opened.carries_epochs();
  RETURN_IF_ERROR(AppendBatch(std::move(entries)));
  opened_ = true;
  const Spool::State state = spool_->state();
  first_position_ = state.end;
  if (carries && state.status.has_epoch()) {
    kept_.epoch = PositionOf(state.status.epoch(), known_epoch_);
  }
  return absl::OkStatus();
}

absl::Status PrivacyRecorder::CheckEvent(const v1::Event& event) const {
  RETURN_IF_ERROR(events::CheckEvent(event));
  return events::CheckAnswerable(options_.declaration.adjacency(), event);
}

absl::Status PrivacyRecorder::CheckOpen() const {
  RETURN_IF_ERROR(delivery_->Refusal());
  if (!closed_ && !spool_->state().writer_closed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("writer: ", options_.writer, " has closed in ", options_.ledger));
}

absl::Status PrivacyRecorder::AppendBatch(std::vector<v1::NewEntry> entries) {
  v1::AppendBatchRequest batch;
  batch.set_ledger(options_.ledger);
  batch.set_writer(options_.writer);
  batch.set_request_id(connection::NewRequestId());
  batch.set_incarnation(incarnation_);
  batch.set_writer_position(spool_->state().entries - entries_before_);
  const int64_t minute = absl::ToUnixSeconds(CutToMinute(options_.clock->Now()));
  for (v1::NewEntry& entry : entries) {
    entry.mutable_claimed_time()->set_seconds(minute);
    *batch.add_entries() = std::move(entry);
  }
  ASSIGN_OR_RETURN(const uint64_t position, spool_->Append(batch));
  if (sync_ != nullptr) {
    sync_->Request(position + 1);
  } else {
    delivery_->Offer(position + 1);
  }
  return absl::OkStatus();
}

absl::Status PrivacyRecorder::WaitForRoom(absl::Duration timeout,
                                          absl::FunctionRef<absl::Status()> append) {
  absl::Time deadline = absl::InfinitePast();
  while (true) {
    const uint64_t drained = spool_->state().acknowledged;  // before: what comes meanwhile counts
    const absl::Status appended = append();
    if (appended.ok() || ReasonOf(appended).reason != kSpoolFull) return appended;
    if (deadline == absl::InfinitePast()) deadline = absl::Now() + timeout;
    const absl::Status drains = delivery_->AwaitDrain(drained, deadline);
    if (absl::IsDeadlineExceeded(drains)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          appended.message(), "; for ", absl::FormatDuration(timeout), " the ", drains.message()));
    }
    RETURN_IF_ERROR(drains);
  }
}

absl::StatusOr<uint64_t> PrivacyRecorder::AppendNumbered(
    absl::FunctionRef<std::vector<v1::Event>(uint64_t)> make) {
  uint64_t number = 0;
  const auto append = [&]() -> absl::Status {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    std::vector<v1::Event> events = make(next_number_);
    for (const v1::Event& event : events) RETURN_IF_ERROR(CheckEvent(event));
    RETURN_IF_ERROR(AppendOpened());
    v1::WriterStatus status = spool_->state().status;
    std::vector<v1::NewEntry> entries;
    for (v1::Event& event : events) {
      RETURN_IF_ERROR(events::TakeRound(events::StepOf(event), status));
      *entries.emplace_back().mutable_event() = std::move(event);
    }
    RETURN_IF_ERROR(AppendBatch(std::move(entries)));
    number = next_number_++;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WaitForRoom(options_.full_spool_timeout, append));
  return number;
}

absl::StatusOr<uint64_t> PrivacyRecorder::RecordRound(const v1::SamplingScheme& scheme,
                                                      v1::SampleSource source,
                                                      std::vector<v1::SumQuery> queries) {
  const auto sample = events::ValueOf(scheme);
  RETURN_IF_ERROR(events::Within("scheme", sample.status()));
  if (source == v1::SAMPLE_STATED) RETURN_IF_ERROR(CheckEpochKept(*sample, /*keeper=*/nullptr));
  if (queries.empty() || queries.size() > kMaxQueries) {
    return FieldError("queries",
                      absl::StrCat("must be 1 to ", kMaxQueries, ", got ", queries.size()));
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    RETURN_IF_ERROR(PrefixField(events::Element("queries", static_cast<int>(i)),
                                events::ValueOf(queries[i]).status()));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (resumed_from_) {
      RETURN_IF_ERROR(events::CheckResumedRound(*resumed_from_, scheme, queries));
      resumed_from_.reset();
    }
  }
  return AppendNumbered([&](uint64_t round) {
    std::vector<v1::Event> events(1 + queries.size());
    v1::SamplingEvent& sampling = *events[0].mutable_sampling();
    sampling.set_round(round);
    *sampling.mutable_scheme() = scheme;
    sampling.set_source(source);
    for (size_t i = 0; i < queries.size(); ++i) {
      v1::SumQueryEvent& sum_query = *events[1 + i].mutable_sum_query();
      sum_query.set_round(round);
      *sum_query.mutable_query() = queries[i];
    }
    return events;
  });
}

absl::StatusOr<uint64_t> PrivacyRecorder::RecordMechanism(const v1::MechanismEvent& mechanism) {
  return AppendNumbered([&](uint64_t) {
    std::vector<v1::Event> events(1);
    *events[0].mutable_mechanism() = mechanism;
    return events;
  });
}

absl::Status PrivacyRecorder::RequestGrant(const std::vector<v1::Event>& plan) {
  const absl::Time deadline = absl::Now() + options_.open_timeout;
  // A grant is kept while a writer is open, and given back when all have closed: this one is a
  // writer from here on.
  uint64_t opened = 0;
  const auto open = [&]() -> absl::Status {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    RETURN_IF_ERROR(AppendOpened());
    opened = first_position_;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WaitForRoom(options_.open_timeout, open));
  RETURN_IF_ERROR(delivery_->Await(opened, deadline));
  return Grant(v1::GRANT_PLAN, plan, deadline);
}

absl::Status PrivacyRecorder::RaiseGrant(const v1::AppendBatchRequest& refused) {
  const uint64_t sixteenth =
      refused.writer_position() / static_cast<uint64_t>(refused.entries_size()) / 16;
  absl::Status raised;
  for (uint64_t more = std::max(sixteenth, kFewestMore); more > 0; more /= 2) {
    raised =
        Grant(v1::GRANT_MORE, {EventsLike(refused, more)}, absl::Now() + options_.open_timeout);
    if (ReasonOf(raised).reason != internal::kBudgetExceeded) break;
  }
  return raised;
}

absl::Status PrivacyRecorder::Grant(v1::GrantChange change, const std::vector<v1::Event>& plan,
                                    absl::Time deadline) {
  v1::GrantBudgetRequest request;
  request.set_budget(options_.declaration.budget());
  request.set_ledger(options_.ledger);
  request.mutable_plan()->Assign(plan.begin(), plan.end());
  request.set_change(change);
  request.set_request_id(connection::NewRequestId());
  return Change(deadline, kOneChange, [&](Stub& stub, absl::Time until) {
    return internal::Call(stub, &Stub::GrantBudget, request, until).status();
  });
}

absl::Status PrivacyRecorder::Change(
    absl::Time deadline, absl::Duration each,
    absl::FunctionRef<absl::Status(Stub&, absl::Time until)> call) {
  internal::Backoff backoff(options_.first_backoff, options_.longest_backoff);
  while (true) {
    const absl::Time until = std::min(deadline, absl::Now() + each);
    const std::shared_ptr<grpc::Channel> channel = servers_->channel();
    const absl::Status changed =
        servers_->MoveOn(channel, call(*v1::LedgerService::NewStub(channel), until));
    if (changed.ok() || internal::IsRefusal(changed)) return changed;
    const absl::Duration wait = backoff.Next();
    if (stopping_ || absl::Now() + wait >= deadline) return changed;
    absl::SleepFor(wait);
  }
}

absl::Status PrivacyRecorder::AwaitReleasable(uint64_t number) {
  uint64_t first = 0, end = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (number < first_number_ || number >= next_number_) {
      return absl::FailedPreconditionError(
          absl::StrCat("number: ", number, " was not recorded here"));
    }
    first = first_position_;
    end = first + (number - first_number_) + 1;
  }
  const absl::Time deadline = absl::Now() + options_.release_timeout;
  if (options_.policy == v1::FAIL_CLOSED) return delivery_->AwaitReleasable(first, end, deadline);
  RETURN_IF_ERROR(delivery_->Refusal());
  return sync_->Await(end, deadline);
}

absl::Status PrivacyRecorder::AwaitDelivered() {
  const absl::Status delivered =
      delivery_->Await(spool_->state().end, absl::Now() + options_.release_timeout);
  if (!absl::IsDeadlineExceeded(delivered)) return delivered;
  return absl::DeadlineExceededError(
      absl::StrCat(drain_status().undelivered_batches,
                   " recorded batches are not in the ledger yet: ", delivered.message()));
}

absl::Status PrivacyRecorder::Close() {
  const absl::Time deadline = absl::Now() + options_.close_timeout;
  const auto append = [&]() -> absl::Status {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(delivery_->Refusal());
    const Spool::State state = spool_->state();
    if (state.writer_closed) return absl::OkStatus();
    if (!opened_ && state.entries == 0) {
      closed_ = true;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(AppendOpened());
    std::vector<v1::NewEntry> entries(1);
    entries[0].mutable_writer_closed()->set_entry_count(spool_->state().entries - entries_before_ +
                                                        1);
    return AppendBatch(std::move(entries));
  };
  RETURN_IF_ERROR(WaitForRoom(options_.close_timeout, append));
  const uint64_t end = spool_->state().end;
  if (sync_ != nullptr) RETURN_IF_ERROR(sync_->Await(end, deadline));
  RETURN_IF_ERROR(delivery_->Await(end, deadline));
  GiveBackRest(deadline);
  return absl::OkStatus();
}

void PrivacyRecorder::GiveBackRest(absl::Time deadline) {
  if (!options_.automatic_grants) return;
  Grant(v1::GRANT_WHAT_IS_SPENT, {}, deadline).IgnoreError();
}

absl::Status PrivacyRecorder::Seal() {
  RETURN_IF_ERROR(Close());
  v1::SealLedgerRequest request;
  request.set_name(options_.ledger);
  request.set_request_id(connection::NewRequestId());
  return Change(absl::Now() + options_.close_timeout, kOneChange,
                [&](Stub& stub, absl::Time until) {
                  return internal::Call(stub, &Stub::SealLedger, request, until).status();
                });
}

PrivacyRecorder::DrainStatus PrivacyRecorder::drain_status() const {
  const internal::Delivery::Progress progress = delivery_->progress();
  return {.undelivered_batches = spool_->state().end - progress.acknowledged,
          .last_error = progress.last_error};
}

}  // namespace dpledger::client
