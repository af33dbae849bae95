// How a recorder opens its ledger, and brings spool and server to one state.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/call.h"
#include "client/internal/refusals.h"
#include "client/recorder.h"
#include "connection/connection.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "google/protobuf/util/message_differencer.h"

namespace dpledger::client {
namespace {

using Stub = v1::LedgerService::Stub;

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

v1::WriterStatus FindWriter(const v1::Ledger& ledger, const std::string& writer) {
  for (const v1::WriterStatus& status : ledger.writers()) {
    if (status.writer() == writer) return status;
  }
  return {};
}

absl::StatusOr<v1::Ledger> GetOrCreate(Stub& stub, const v1::CreateLedgerRequest& request,
                                       const std::string& writer, bool may_make,
                                       absl::Time deadline) {
  v1::GetLedgerRequest get;
  get.set_name(request.name());
  get.set_first_writer(writer);
  absl::StatusOr<v1::Ledger> ledger = internal::Call(stub, &Stub::GetLedger, get, deadline);
  if (!may_make || !absl::IsNotFound(ledger.status())) return ledger;
  ledger = internal::Call(stub, &Stub::CreateLedger, request, deadline);
  // Another writer of the same ledger was faster; what it declared is compared like any other.
  if (absl::IsAlreadyExists(ledger.status()))
    return internal::Call(stub, &Stub::GetLedger, get, deadline);
  return ledger;
}

v1::Declaration Normalised(v1::Declaration declaration) {
  if (declaration.spool_policy() == v1::SPOOL_POLICY_UNSPECIFIED) {
    declaration.set_spool_policy(v1::FAIL_CLOSED);
  }
  return declaration;
}

// A filter that is left out under a budget is the budget's.
absl::Status CheckSame(const v1::Ledger& ledger, v1::Declaration declaration) {
  const v1::Declaration& made = ledger.declaration();
  if (!declaration.budget().empty() && !declaration.has_filter() && made.has_filter()) {
    *declaration.mutable_filter() = made.filter();
  }
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Normalised(made), Normalised(std::move(declaration)))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "declaration: ledger ", ledger.name(), " was made with another one (its value -> yours): ",
      absl::StrReplaceAll(absl::StripSuffix(differences, "\n"), {{"\n", "; "}})));
}

}  // namespace

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
  absl::MutexLock lock(&recorder->mutex_);
  RETURN_IF_ERROR(recorder->Start());
  return recorder;
}

absl::Status PrivacyRecorder::Start() {
  if (options_.connect != nullptr) {
    ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, options_.connect());
    servers_ = std::make_unique<connection::Servers>(std::move(channel));
  } else {
    ASSIGN_OR_RETURN(const connection::ServerAccess server, Complete(options_.server));
    ASSIGN_OR_RETURN(log_keys_, connection::LogKeys::Parse(server.log_key));
    ASSIGN_OR_RETURN(servers_, connection::Servers::Of(server));
  }
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
  incarnation_ = connection::NewRequestId();
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
  const absl::StatusOr<v1::Ledger> opened = OpenLedger(/*may_make=*/!known, deadline);
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
  if (!writer.closed() && !spool_->state().writer_closed) return absl::OkStatus();
  GiveBackRest(deadline);  // in case a process was killed between its last entry and this
  return absl::FailedPreconditionError(
      absl::StrCat("writer: ", options_.writer, " has closed in ", options_.ledger,
                   ": that run is over. A further run has a ledger of its own, named by `ledger`, "
                   "such as ",
                   options_.ledger.substr(options_.ledger.rfind('/') + 1),
                   "-2, and says plan_independent if its plan looked at no output of this one; "
                   "another part of the same run has a writer name of its own"));
}

absl::StatusOr<v1::Ledger> PrivacyRecorder::OpenLedger(bool may_make, absl::Time deadline) {
  v1::CreateLedgerRequest wanted;
  wanted.set_name(options_.ledger);
  *wanted.mutable_declaration() = options_.declaration;
  wanted.set_new_dataset(options_.new_dataset);
  wanted.set_request_id(connection::NewRequestId());
  v1::Ledger ledger;
  const auto open = [&](Stub& stub, absl::Time until) -> absl::Status {
    ASSIGN_OR_RETURN(ledger, GetOrCreate(stub, wanted, options_.writer, may_make, until));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Change(deadline, absl::Seconds(10), open));
  RETURN_IF_ERROR(CheckSame(ledger, options_.declaration));
  if (ledger.state() != v1::SEALED) return ledger;
  return absl::FailedPreconditionError(absl::StrCat("ledger: ", options_.ledger, " is sealed"));
}

}  // namespace dpledger::client
