#include "client/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/events_like.h"
#include "client/internal/open_ledger.h"
#include "client/internal/refusals.h"
#include "connection/connection.h"
#include "events/answerable.h"
#include "events/event_values.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/resumed_round.h"
#include "events/writer_rules.h"

namespace dpledger::client {
namespace {

// A batch holds 10,000 entries; one is the sampling event.
constexpr size_t kMaxQueries = 9999;
constexpr char kSpoolFull[] = "SPOOL_FULL";              // Spool::Append
constexpr absl::Duration kOneChange = absl::Seconds(5);  // then it is asked for again
constexpr uint64_t kFewestMore = 8;  // rounds that a grant is raised by, where they fit

absl::Status CheckOptions(const RecorderOptions& options) {
  if (options.connect == nullptr) RETURN_IF_ERROR(Complete(options.server).status());
  RETURN_IF_ERROR(events::CheckToken("writer", options.writer));
  if (options.policy != v1::FAIL_CLOSED && options.policy != v1::SPOOL) {
    return FieldError("policy", "must be FAIL_CLOSED or SPOOL");
  }
  if (options.automatic_grants && options.declaration.budget().empty()) {
    return FieldError("automatic_grants", "must be given with a budget");
  }
  // Without a pause between tries, a trainer that has lost its server would do nothing but try.
  for (const auto& [field, pause] : {std::pair("first_backoff", options.first_backoff),
                                     std::pair("longest_backoff", options.longest_backoff),
                                     std::pair("stall_timeout", options.stall_timeout)}) {
    if (pause >= absl::Milliseconds(1)) continue;
    return FieldError(field,
                      absl::StrCat("must be 1ms or more, got ", absl::FormatDuration(pause)));
  }
  return absl::OkStatus();
}

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

v1::WriterStatus FindWriter(const v1::Ledger& ledger, const std::string& writer) {
  for (const v1::WriterStatus& status : ledger.writers()) {
    if (status.writer() == writer) return status;
  }
  return {};
}

}  // namespace

PrivacyRecorder::PrivacyRecorder(RecorderOptions options) : options_(std::move(options)) {
  kept_.state = options_.state;
}

PrivacyRecorder::~PrivacyRecorder() { stopping_ = true; }

absl::StatusOr<std::unique_ptr<PrivacyRecorder>> PrivacyRecorder::Open(RecorderOptions options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(options.ledger, events::FullLedgerName(options.ledger));
  options.declaration.set_spool_policy(options.policy);
  if (options.state != nullptr) {
    options.carries_epochs = [state = options.state](const RunPosition& position) {
      return state->CarryOn(position);
    };
  }
  auto recorder = std::unique_ptr<PrivacyRecorder>(new PrivacyRecorder(std::move(options)));
  for (size_t i = 0; i < recorder->options_.planned_events.size(); ++i) {
    const absl::Status checked = recorder->CheckEvent(recorder->options_.planned_events[i]);
    if (!checked.ok()) return PrefixField(absl::StrCat("planned_events[", i, "]"), checked);
  }
  absl::MutexLock lock(&recorder->mutex_);
  RETURN_IF_ERROR(recorder->Start());
  return recorder;
}

absl::Status PrivacyRecorder::Connect() {
  if (options_.connect != nullptr) {
    ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, options_.connect());
    servers_ = std::make_unique<connection::Servers>(std::move(channel));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const connection::ServerAccess server, Complete(options_.server));
  ASSIGN_OR_RETURN(log_keys_, connection::LogKeys::Parse(server.log_key));
  ASSIGN_OR_RETURN(servers_, connection::Servers::Of(server));
  return absl::OkStatus();
}

absl::Status PrivacyRecorder::Start() {
  RETURN_IF_ERROR(Connect());
  ASSIGN_OR_RETURN(spool_, Spool::Open({.folder = options_.spool_folder,
                                        .ledger = options_.ledger,
                                        .writer = options_.writer,
                                        .bound_bytes = options_.spool_bound_bytes,
                                        .synced = options_.policy == v1::SPOOL}));
  // A killed process may have left what it had not synced, and it is sent at once.
  if (options_.policy == v1::SPOOL) RETURN_IF_ERROR(spool_->Sync());
  const absl::Time deadline = absl::Now() + options_.open_timeout;
  const absl::Status reached = Reconcile(deadline);
  if (!reached.ok() && !MayGoOnAfter(reached)) return reached;
  if (options_.policy == v1::SPOOL) {
    sync_ = std::make_unique<internal::GroupSync>(spool_.get(),
                                                  [this](uint64_t end) { delivery_->Offer(end); });
  }
  RETURN_IF_ERROR(CheckOpen());
  const Spool::State state = spool_->state();
  incarnation_ = internal::NewRequestId();
  entries_before_ = state.entries;
  previous_incarnation_ = state.status.incarnation();
  next_number_ = first_number_ = state.next_round;
  // The server knows of an incarnation before it releases anything, or of the one that it carries
  // on: whatever becomes of this spool, the ledger says that something may be missing. Under
  // FAIL_CLOSED the first release waits for that as well, and an opening that records nothing
  // leaves the ledger as it was; but an epoch is carried on before its next round.
  if (options_.policy == v1::SPOOL || options_.carries_epochs != nullptr) {
    RETURN_IF_ERROR(AppendOpened());
    const absl::Status opened =
        reached.ok() ? delivery_->Await(spool_->state().end, deadline) : absl::OkStatus();
    if (!opened.ok() && (previous_incarnation_.empty() || !MayGoOnAfter(opened))) return opened;
  }
  if (options_.declaration.parameters() == v1::FIXED && !options_.plan_varies) {
    resumed_from_ = spool_->LastRound();
  }
  return absl::OkStatus();
}

bool PrivacyRecorder::MayGoOnAfter(const absl::Status& error) const {
  return options_.policy == v1::SPOOL && spool_->state().confirmed && !internal::IsRefusal(error);
}

absl::Status PrivacyRecorder::Reconcile(absl::Time deadline) {
  const Spool::State state = spool_->state();
  // A server that has acknowledged something has the ledger or has lost it, and is given no new
  // one.
  const bool known = state.acknowledged_entries > 0;
  const absl::StatusOr<v1::Ledger> opened = internal::OpenLedger(
      *servers_, {options_.ledger, options_.declaration, options_.new_dataset, /*may_make=*/!known},
      options_.writer, deadline,
      internal::Backoff(options_.first_backoff, options_.longest_backoff));
  const absl::StatusOr<v1::Ledger> ledger =
      known && absl::IsNotFound(opened.status()) ? v1::Ledger() : opened;
  if (!ledger.ok() && !MayGoOnAfter(ledger.status())) return ledger.status();
  const v1::WriterStatus writer =
      ledger.ok() ? FindWriter(*ledger, options_.writer) : v1::WriterStatus();
  known_epoch_ = writer.epoch();
  if (ledger.ok() && writer.entry_count() < state.acknowledged_entries) {
    return absl::DataLossError(absl::StrCat(
        "server: holds ", writer.entry_count(), " entries of writer ", options_.writer, " in ",
        options_.ledger, ", but has acknowledged ", state.acknowledged_entries, " to the spool ",
        spool_->path(), ": it has lost them, or is not the server that this spool belongs to"));
  }
  std::function<absl::Status(const v1::AppendBatchRequest&)> raise;
  if (options_.automatic_grants) {
    raise = [this](const v1::AppendBatchRequest& refused) { return RaiseGrant(refused); };
  }
  delivery_ = std::make_unique<internal::Delivery>(
      spool_.get(), servers_.get(), options_.ledger,
      internal::Delivery::Options{.first_backoff = options_.first_backoff,
                                  .longest_backoff = options_.longest_backoff,
                                  .stall_timeout = options_.stall_timeout,
                                  .log_keys = log_keys_,
                                  .withdraws = options_.policy == v1::FAIL_CLOSED,
                                  .raise = std::move(raise)},
      ledger.status());
  RETURN_IF_ERROR(ledger.status());
  RETURN_IF_ERROR(delivery_->Await(state.end, deadline));
  RETURN_IF_ERROR(spool_->Acknowledge(state.end, delivery_->receipt()));
  RETURN_IF_ERROR(
      spool_->Confirm(writer.entry_count(), writer.has_round() ? writer.last_round() + 1 : 0));
  if (!writer.closed()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("writer: ", options_.writer, " has closed in ", options_.ledger,
                   ": that run is over. A further run has a ledger of its own, named by `ledger`, "
                   "such as ",
                   options_.ledger.substr(options_.ledger.rfind('/') + 1),
                   "-2, and says plan_independent if its plan looked at no output of this one; "
                   "another part of the same run has a writer name of its own"));
}

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
  if (!spool_->state().writer_closed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("writer: ", options_.writer, " has closed in ", options_.ledger));
}

absl::Status PrivacyRecorder::AppendBatch(std::vector<v1::NewEntry> entries) {
  v1::AppendBatchRequest batch;
  batch.set_ledger(options_.ledger);
  batch.set_writer(options_.writer);
  batch.set_request_id(internal::NewRequestId());
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

absl::Status PrivacyRecorder::CheckResumed(const v1::SamplingScheme& scheme,
                                           const std::vector<v1::SumQuery>& queries) {
  absl::MutexLock lock(&mutex_);
  if (!resumed_from_.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(events::CheckResumedRound(*resumed_from_, scheme, queries));
  resumed_from_.reset();
  return absl::OkStatus();
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
    const absl::Status checked = events::ValueOf(queries[i]).status();
    if (!checked.ok()) return PrefixField(events::Element("queries", static_cast<int>(i)), checked);
  }
  RETURN_IF_ERROR(CheckResumed(scheme, queries));
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
  const auto open = [this]() -> absl::Status {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(CheckOpen());
    return AppendOpened();
  };
  RETURN_IF_ERROR(WaitForRoom(options_.open_timeout, open));
  uint64_t opened = 0;
  {
    absl::MutexLock lock(&mutex_);
    opened = first_position_;
  }
  RETURN_IF_ERROR(delivery_->Await(opened, deadline));
  return Grant(v1::GRANT_PLAN, plan, deadline);
}

absl::Status PrivacyRecorder::RaiseGrant(const v1::AppendBatchRequest& refused) {
  const uint64_t sixteenth =
      refused.writer_position() / static_cast<uint64_t>(refused.entries_size()) / 16;
  absl::Status raised;
  for (uint64_t more = std::max(sixteenth, kFewestMore); more > 0; more /= 2) {
    raised = Grant(v1::GRANT_MORE, {internal::EventsLike(refused, more)},
                   absl::Now() + options_.open_timeout);
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
  request.set_request_id(internal::NewRequestId());
  return Change(deadline, [&request](v1::LedgerService::Stub& stub, grpc::ClientContext& context) {
    v1::GrantBudgetResponse response;
    return stub.GrantBudget(&context, request, &response);
  });
}

absl::Status PrivacyRecorder::Change(
    absl::Time deadline,
    absl::FunctionRef<grpc::Status(v1::LedgerService::Stub&, grpc::ClientContext&)> call) {
  internal::Backoff backoff(options_.first_backoff, options_.longest_backoff);
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(std::min(deadline, absl::Now() + kOneChange)));
    const std::shared_ptr<grpc::Channel> channel = servers_->channel();
    const auto stub = v1::LedgerService::NewStub(channel);
    const absl::Status changed =
        servers_->MoveOn(channel, connection::FromGrpc(call(*stub, context)));
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
  uint64_t end = 0;
  {
    absl::MutexLock lock(&mutex_);
    end = spool_->state().end;
  }
  const absl::Status delivered = delivery_->Await(end, absl::Now() + options_.release_timeout);
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
    if (state.writer_closed || (!opened_ && state.entries == 0)) return absl::OkStatus();
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
  // While others still write it is refused; and what is not given back here is when the ledger is
  // sealed.
  if (options_.automatic_grants) Grant(v1::GRANT_WHAT_IS_SPENT, {}, deadline).IgnoreError();
  return absl::OkStatus();
}

absl::Status PrivacyRecorder::Seal() {
  RETURN_IF_ERROR(Close());
  v1::SealLedgerRequest request;
  request.set_name(options_.ledger);
  request.set_request_id(internal::NewRequestId());
  return Change(absl::Now() + options_.close_timeout,
                [&request](v1::LedgerService::Stub& stub, grpc::ClientContext& context) {
                  v1::Ledger sealed;
                  return stub.SealLedger(&context, request, &sealed);
                });
}

PrivacyRecorder::DrainStatus PrivacyRecorder::drain_status() const {
  const internal::Delivery::Progress progress = delivery_->progress();
  return {.undelivered_batches = spool_->state().end - progress.acknowledged,
          .last_error = progress.last_error};
}

}  // namespace dpledger::client
