#include "dpledger/client.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "client/export.h"
#include "client/internal/declaration_message.h"
#include "client/internal/local.h"
#include "client/recorder.h"
#include "client/run_state.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "events/declaration_rules.h"
#include "events/event_values.h"

namespace dpledger {
namespace {

// Leaves `timeout` as it is for 0.
absl::Status ReadSeconds(std::string_view field, double seconds, absl::Duration& timeout) {
  if (!(std::isfinite(seconds) && seconds >= 0)) {
    return FieldError(field, absl::StrCat("must be finite and >= 0, got ", seconds));
  }
  if (seconds > 0) timeout = absl::Seconds(seconds);
  return absl::OkStatus();
}

// The folder of a local ledger; empty: it is on a server.
absl::StatusOr<std::string> PathOf(const RecorderOptions& options,
                                   const connection::ServerAccess& server) {
  if (options.path.empty()) {
    ASSIGN_OR_RETURN(const bool on_server, connection::IsServerMeant(server));
    if (on_server || !client::internal::HasLocalLedgers()) return std::string();
    return client::internal::DefaultPath(options.ledger);
  }
  for (const auto& [field, value] :
       {std::pair("server", &server.address), std::pair("ca", &server.ca),
        std::pair("certificate", &server.certificate), std::pair("certificate_key", &server.key),
        std::pair("token_file", &server.token_file), std::pair("log_key", &server.log_key)}) {
    if (value->empty()) continue;
    return FieldError("path", absl::StrCat("must not be given together with ", field,
                                           ", which speaks of a server"));
  }
  return options.path;
}

absl::Status ReadTimeouts(const RecorderOptions& options, client::RecorderOptions& read) {
  RETURN_IF_ERROR(
      ReadSeconds("open_timeout_seconds", options.open_timeout_seconds, read.open_timeout));
  RETURN_IF_ERROR(ReadSeconds("release_timeout_seconds", options.release_timeout_seconds,
                              read.release_timeout));
  RETURN_IF_ERROR(ReadSeconds("full_spool_timeout_seconds", options.full_spool_timeout_seconds,
                              read.full_spool_timeout));
  RETURN_IF_ERROR(
      ReadSeconds("close_timeout_seconds", options.close_timeout_seconds, read.close_timeout));
  return ReadSeconds("stall_timeout_seconds", options.stall_timeout_seconds, read.stall_timeout);
}

absl::StatusOr<client::RecorderOptions> Read(const RecorderOptions& options) {
  client::RecorderOptions read;
  read.server.address = options.server;
  read.server.ca = options.ca;
  read.server.certificate = options.certificate;
  read.server.key = options.certificate_key;
  read.server.token_file = options.token_file;
  read.server.log_key = options.log_key;
  read.ledger = options.ledger;
  read.writer = options.writer;
  read.declaration = client::internal::ToMessage(options.declaration);
  const absl::Status declared = events::CheckDeclaration(read.declaration);
  if (!declared.ok()) return PrefixField("declaration", declared);
  ASSIGN_OR_RETURN(const std::string path, PathOf(options, read.server));
  if (!path.empty()) read.connect = [path] { return client::internal::OpenLocal(path); };
  read.spool_folder = !options.spool_folder.empty() ? options.spool_folder
                      : !path.empty()               ? path + "/spool"
                                      : client::internal::LastName(options.ledger) + ".spool";
  if (options.spool_bound_bytes != 0) read.spool_bound_bytes = options.spool_bound_bytes;
  read.policy = options.policy == Policy::kSpool ? v1::SPOOL : v1::FAIL_CLOSED;
  read.plan_varies = options.plan_varies;
  read.automatic_grants = options.automatic_grants;
  read.new_dataset = options.new_dataset;
  RETURN_IF_ERROR(ReadTimeouts(options, read));
  if (!options.state) return read;
  auto state = client::RunState::Open(
      options.state->folder.empty() ? read.spool_folder : options.state->folder,
      options.state->key_file);
  if (!state.ok()) return PrefixField("state", state.status());
  read.state = *std::move(state);
  return read;
}

Interval ToInterval(const v1::Interval& interval) { return {interval.lower(), interval.upper()}; }

}  // namespace

Recorder::Recorder(std::shared_ptr<client::PrivacyRecorder> recorder)
    : recorder_(std::move(recorder)) {}

absl::StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const RecorderOptions& options) {
  ASSIGN_OR_RETURN(client::RecorderOptions read, Read(options));
  ASSIGN_OR_RETURN(auto opened, client::PrivacyRecorder::Open(std::move(read)));
  return std::unique_ptr<Recorder>(new Recorder(std::move(opened)));
}

std::shared_ptr<client::EventRecorder> Recorder::events() const { return recorder_; }

absl::StatusOr<uint64_t> Recorder::RecordRound(const SamplingScheme& scheme,
                                               const std::vector<SumQuery>& queries) {
  return recorder_->RecordRound(scheme, accountant::SampleSource::kStated, queries);
}

absl::StatusOr<uint64_t> Recorder::RecordMechanism(const accountant::Mechanism& mechanism) {
  v1::Event event;
  events::ToMessage(mechanism, event);
  return recorder_->RecordMechanism(event.mechanism());
}

absl::Status Recorder::RequestGrant(const std::vector<accountant::Event>& plan) {
  std::vector<v1::Event> events(plan.size());
  for (size_t i = 0; i < plan.size(); ++i) events::ToMessage(plan[i], events[i]);
  return recorder_->RequestGrant(events);
}

absl::Status Recorder::AwaitReleasable(uint64_t number) {
  return recorder_->AwaitReleasable(number);
}

absl::Status Recorder::Close() { return recorder_->Close(); }

absl::Status Recorder::Seal() { return recorder_->Seal(); }

absl::Status Recorder::Ask(
    absl::FunctionRef<absl::Status(const std::shared_ptr<grpc::Channel>& channel)> call) const {
  RETURN_IF_ERROR(recorder_->AwaitDelivered());
  return recorder_->servers().Ask(call);
}

absl::StatusOr<Cost> Recorder::ComputeCost(double delta) const {
  v1::ComputeEpsilonResponse answer;
  RETURN_IF_ERROR(Ask([&](const auto& channel) -> absl::Status {
    ASSIGN_OR_RETURN(answer, client::ComputeEpsilon(channel, ledger(), delta));
    return absl::OkStatus();
  }));
  const auto& details = answer.details();
  if (details.ledgers_size() != 1) {
    return absl::InternalError("server: its answer names no ledger");
  }
  Cost cost{.epsilon = ToInterval(answer.epsilon()),
            .delta = answer.delta(),
            .entries = details.ledgers(0).size(),
            .ledger = details.ledgers(0).name(),
            .root = HexEncode(details.ledgers(0).root_hash()),
            .method = details.method(),
            .warnings = {details.warnings().begin(), details.warnings().end()},
            .answer = answer.SerializeAsString()};
  if (answer.has_planned_epsilon()) cost.planned_epsilon = ToInterval(answer.planned_epsilon());
  return cost;
}

absl::Status Recorder::Export(const std::string& file) const {
  if (file.empty()) return FieldError("file", "must name a file, got nothing");
  return client::ExportLedger(recorder_->servers().channel(), ledger(), file);
}

Recorder::DrainStatus Recorder::drain_status() const {
  client::PrivacyRecorder::DrainStatus status = recorder_->drain_status();
  return {status.undelivered_batches, std::move(status.last_error)};
}

const std::string& Recorder::ledger() const { return recorder_->ledger(); }

}  // namespace dpledger
