#include "dpledger/client.h"

#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/hex.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "client/export.h"
#include "client/recorder.h"
#include "client/run_state.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "events/declaration_rules.h"
#include "events/event_values.h"
#include "events/grant_rules.h"
#include "events/names.h"
#include "local/local_ledgers.h"

namespace dpledger {
namespace {

// Messages number what values count from 0 on, behind UNSPECIFIED.
static_assert(static_cast<int>(Adjacency::kZeroOut) + 1 == v1::ZERO_OUT);
static_assert(static_cast<int>(client::Parameters::kAdaptive) + 1 == v1::ADAPTIVE);

struct FilterMessage {
  v1::Filter& message;
  void operator()(const client::RdpFilter& rdp) const {
    message.mutable_rdp()->set_order(rdp.order);
    message.mutable_rdp()->set_epsilon(rdp.epsilon);
  }
  void operator()(const client::ZcdpFilter& zcdp) const {
    message.mutable_zcdp()->set_rho(zcdp.rho);
  }
  void operator()(const client::GdpFilter& gdp) const { message.mutable_gdp()->set_mu(gdp.mu); }
  void operator()(const client::MixtureFilter& mixture) const {
    message = events::MixtureFilter(mixture.epsilon, mixture.delta);
  }
  void operator()(std::monostate) const {}
};

// UNSPECIFIED stands for what is not set.
v1::Declaration ToMessage(const client::Declaration& declaration) {
  v1::Declaration message;
  message.set_dataset(declaration.dataset);
  message.set_unit_of_privacy(declaration.unit_of_privacy);
  if (declaration.adjacency) {
    message.set_adjacency(static_cast<v1::Adjacency>(static_cast<int>(*declaration.adjacency) + 1));
  }
  if (declaration.parameters) {
    message.set_parameters(
        static_cast<v1::Parameters>(static_cast<int>(*declaration.parameters) + 1));
  }
  message.set_planned_rounds(declaration.planned_rounds);
  message.set_plan_independent(declaration.plan_independent);
  if (declaration.filter.index() != 0)
    std::visit(FilterMessage{*message.mutable_filter()}, declaration.filter);
  // A name that is none is the server's to refuse.
  const absl::StatusOr<std::string> budget = events::FullLedgerName(declaration.budget);
  message.set_budget(budget.ok() && !declaration.budget.empty() ? *budget : declaration.budget);
  const auto blocks = events::BlocksFromText(declaration.blocks);
  if (blocks.ok()) {
    *message.mutable_blocks() = *blocks;
  } else {
    message.add_blocks();  // likewise
  }
  message.set_released(declaration.released);
  message.set_description(declaration.description);
  return message;
}

// "adult" of "projects/p/ledgers/adult".
std::string LastName(const std::string& ledger) { return ledger.substr(ledger.rfind('/') + 1); }

// The folder of a ledger for which neither a server nor a folder is named. Says so on stderr, once
// for each.
std::string DefaultPath(const std::string& ledger) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const said = new std::set<std::string>;
  const std::string path = absl::StrCat(LastName(ledger), ".ledger");
  absl::MutexLock lock(&mutex);
  if (said->insert(path).second) {
    std::fprintf(stderr, "dpledger: no server is named: the ledger is kept in this folder, in %s\n",
                 path.c_str());
  }
  return path;
}

// The folder of a local ledger; empty: it is on a server.
absl::StatusOr<std::string> PathOf(const RecorderOptions& options,
                                   const connection::ServerAccess& server) {
  if (options.path.empty()) {
    ASSIGN_OR_RETURN(const bool on_server, connection::IsServerMeant(server));
    if (on_server || !local::IsBuilt()) return std::string();
    return DefaultPath(options.ledger);
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

// 0 leaves a timeout as it is.
absl::Status ReadTimeouts(const RecorderOptions& options, client::RecorderOptions& read) {
  for (const auto& [field, seconds, timeout] :
       {std::tuple("open_timeout_seconds", options.open_timeout_seconds, &read.open_timeout),
        {"release_timeout_seconds", options.release_timeout_seconds, &read.release_timeout},
        {"full_spool_timeout_seconds", options.full_spool_timeout_seconds,
         &read.full_spool_timeout},
        {"close_timeout_seconds", options.close_timeout_seconds, &read.close_timeout},
        {"stall_timeout_seconds", options.stall_timeout_seconds, &read.stall_timeout}}) {
    if (!(std::isfinite(seconds) && seconds >= 0)) {
      return FieldError(field, absl::StrCat("must be finite and >= 0, got ", seconds));
    }
    if (seconds > 0) *timeout = absl::Seconds(seconds);
  }
  return absl::OkStatus();
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
  read.declaration = ToMessage(options.declaration);
  RETURN_IF_ERROR(PrefixField("declaration", events::CheckDeclaration(read.declaration)));
  ASSIGN_OR_RETURN(const std::string path, PathOf(options, read.server));
  if (!path.empty()) read.connect = [path] { return local::OpenLedgers(path); };
  read.spool_folder = !options.spool_folder.empty() ? options.spool_folder
                      : !path.empty()               ? path + "/spool"
                                                    : LastName(options.ledger) + ".spool";
  if (options.spool_bound_bytes != 0) read.spool_bound_bytes = options.spool_bound_bytes;
  read.policy = options.policy == Policy::kSpool ? v1::SPOOL : v1::FAIL_CLOSED;
  read.plan_varies = options.plan_varies;
  read.automatic_grants = options.automatic_grants;
  read.new_dataset = options.new_dataset;
  RETURN_IF_ERROR(ReadTimeouts(options, read));
  if (!options.state) return read;
  const auto& [key_file, folder] = *options.state;
  ASSIGN_OR_RETURN(
      read.state,
      rules::Within("state",
                    client::RunState::Open(folder.empty() ? read.spool_folder : folder, key_file)));
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
