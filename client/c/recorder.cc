// The recorder of the C interface.
#include <climits>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/calls.h"
#include "client/c/handles.h"
#include "client/c/options.h"
#include "client/event_recorder.h"
#include "connection/server_access.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/event_values.h"
#include "events/field_checks.h"
#include "events/grant_rules.h"

namespace dpledger::client::c {
namespace {

constexpr size_t kDeclarationOfVersion1 = offsetof(dpledger_declaration, filter_delta);

absl::StatusOr<decltype(Declaration::filter)> ReadFilter(const dpledger_declaration& read) {
  RETURN_IF_ERROR(CheckConstant("declaration.filter", read.filter, 0, DPLEDGER_MIXTURE_FILTER));
  if (read.filter != DPLEDGER_RDP_FILTER) {
    RETURN_IF_ERROR(CheckZero("declaration.filter_order", read.filter_order, " for this filter"));
  }
  if (read.filter != DPLEDGER_MIXTURE_FILTER) {
    RETURN_IF_ERROR(CheckZero("declaration.filter_delta", read.filter_delta, " for this filter"));
  }
  switch (read.filter) {
    case DPLEDGER_RDP_FILTER:
      return RdpFilter{read.filter_order, read.filter_bound};
    case DPLEDGER_ZCDP_FILTER:
      return ZcdpFilter{read.filter_bound};
    case DPLEDGER_GDP_FILTER:
      return GdpFilter{read.filter_bound};
    case DPLEDGER_MIXTURE_FILTER:
      return MixtureFilter{read.filter_bound, read.filter_delta};
    default:
      RETURN_IF_ERROR(
          CheckZero("declaration.filter_bound", read.filter_bound, " without a filter"));
      return std::monostate();
  }
}

absl::StatusOr<Declaration> ReadDeclaration(const dpledger_declaration* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_declaration>("declaration", given, kDeclarationOfVersion1));
  Declaration declaration;
  ASSIGN_OR_RETURN(declaration.dataset, ReadText("declaration.dataset", read.dataset));
  ASSIGN_OR_RETURN(declaration.unit_of_privacy,
                   ReadText("declaration.unit_of_privacy", read.unit_of_privacy));
  ASSIGN_OR_RETURN(declaration.released, ReadText("declaration.released", read.released, ""));
  ASSIGN_OR_RETURN(declaration.description,
                   ReadText("declaration.description", read.description, ""));
  RETURN_IF_ERROR(CheckConstant("declaration.adjacency", read.adjacency, DPLEDGER_ADD_OR_REMOVE_ONE,
                                DPLEDGER_ZERO_OUT));
  declaration.adjacency = static_cast<Adjacency>(read.adjacency - DPLEDGER_ADD_OR_REMOVE_ONE);
  RETURN_IF_ERROR(
      CheckConstant("declaration.parameters", read.parameters, DPLEDGER_FIXED, DPLEDGER_ADAPTIVE));
  declaration.parameters = static_cast<Parameters>(read.parameters - DPLEDGER_FIXED);
  declaration.planned_rounds = read.planned_rounds;
  ASSIGN_OR_RETURN(declaration.plan_independent,
                   ReadFlag("declaration.plan_independent", read.plan_independent));
  ASSIGN_OR_RETURN(declaration.filter, ReadFilter(read));
  ASSIGN_OR_RETURN(declaration.budget, ReadText("declaration.budget", read.budget, ""));
  ASSIGN_OR_RETURN(declaration.blocks, ReadText("declaration.blocks", read.blocks, ""));
  RETURN_IF_ERROR(PrefixField("declaration", events::BlocksFromText(declaration.blocks).status()));
  return declaration;
}

// To callers that were compiled before there were local ledgers, no server is an error.
absl::Status CheckServerOfOldCaller(const dpledger_recorder_options& read,
                                    const dpledger::RecorderOptions& options) {
  if (read.struct_size > offsetof(dpledger_recorder_options, path)) return absl::OkStatus();
  connection::ServerAccess server(options.server);
  server.ca = options.ca;
  server.certificate = options.certificate;
  server.key = options.certificate_key;
  server.token_file = options.token_file;
  return Complete(std::move(server)).status();
}

absl::StatusOr<dpledger::RecorderOptions> ReadOptions(const dpledger_recorder_options* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_recorder_options>(
                       "options", given, offsetof(dpledger_recorder_options, state)));
  dpledger::RecorderOptions options;
  ASSIGN_OR_RETURN(options.server, ReadText("server", read.server, ""));
  ASSIGN_OR_RETURN(options.ca, ReadText("ca", read.ca, ""));
  ASSIGN_OR_RETURN(options.certificate, ReadText("certificate", read.certificate, ""));
  ASSIGN_OR_RETURN(options.certificate_key, ReadText("certificate_key", read.certificate_key, ""));
  ASSIGN_OR_RETURN(options.token_file, ReadText("token_file", read.token_file, ""));
  ASSIGN_OR_RETURN(options.log_key, ReadText("log_key", read.log_key, ""));
  ASSIGN_OR_RETURN(options.path, ReadText("path", read.path, ""));
  ASSIGN_OR_RETURN(options.ledger, ReadText("ledger", read.ledger));
  ASSIGN_OR_RETURN(options.writer, ReadText("writer", read.writer, options.writer.c_str()));
  ASSIGN_OR_RETURN(options.declaration, ReadDeclaration(read.declaration));
  RETURN_IF_ERROR(CheckServerOfOldCaller(read, options));
  ASSIGN_OR_RETURN(options.spool_folder, ReadText("spool_folder", read.spool_folder, ""));
  options.spool_bound_bytes = read.spool_bound_bytes;
  RETURN_IF_ERROR(CheckConstant("policy", read.policy, 0, DPLEDGER_SPOOL));
  if (read.policy == DPLEDGER_SPOOL) options.policy = Policy::kSpool;
  ASSIGN_OR_RETURN(options.plan_varies, ReadFlag("plan_varies", read.plan_varies));
  ASSIGN_OR_RETURN(options.automatic_grants, ReadFlag("automatic_grants", read.automatic_grants));
  ASSIGN_OR_RETURN(options.new_dataset, ReadFlag("new_dataset", read.new_dataset));
  options.open_timeout_seconds = read.open_timeout_seconds;
  options.release_timeout_seconds = read.release_timeout_seconds;
  options.full_spool_timeout_seconds = read.full_spool_timeout_seconds;
  options.close_timeout_seconds = read.close_timeout_seconds;
  options.stall_timeout_seconds = read.stall_timeout_seconds;
  if (read.state == nullptr) return options;
  ASSIGN_OR_RETURN(const auto state, ReadStruct<dpledger_run_state>("state", read.state));
  options.state.emplace();
  ASSIGN_OR_RETURN(options.state->folder, ReadText("state.folder", state.folder, ""));
  ASSIGN_OR_RETURN(options.state->key_file, ReadText("state.key_file", state.key_file));
  return options;
}

template <typename Message>
absl::StatusOr<Message> Parse(const char* field, const void* bytes, size_t size) {
  RETURN_IF_ERROR(CheckGiven({{field, bytes}}));
  Message message;
  if (size > INT_MAX || !message.ParseFromArray(bytes, static_cast<int>(size))) {
    return FieldError(field, absl::StrCat("must be a serialised ", Message::descriptor()->name(),
                                          ", got ", size, " bytes that are not"));
  }
  return message;
}

}  // namespace
}  // namespace dpledger::client::c

using namespace dpledger::client::c;  // NOLINT: the functions below are all of this file

extern "C" {

dpledger_status dpledger_recorder_open(const dpledger_recorder_options* options,
                                       dpledger_recorder** recorder, dpledger_error* error) {
  using dpledger::Recorder;
  return GuardNew(error, "recorder", recorder, {},
                  [&]() -> absl::StatusOr<std::unique_ptr<Recorder>> {
                    ASSIGN_OR_RETURN(const auto read, ReadOptions(options));
                    return Recorder::Open(read);
                  });
}

dpledger_status dpledger_recorder_close(dpledger_recorder* recorder, dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}}, [&] { return recorder->recorder->Close(); });
}

dpledger_status dpledger_recorder_seal(dpledger_recorder* recorder, dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}}, [&] { return recorder->recorder->Seal(); });
}

void dpledger_recorder_free(dpledger_recorder* recorder) { delete recorder; }

const char* dpledger_recorder_ledger(const dpledger_recorder* recorder) {
  return recorder != nullptr ? recorder->recorder->ledger().c_str() : nullptr;
}

dpledger_status dpledger_recorder_drain_status(const dpledger_recorder* recorder,
                                               uint64_t* undelivered_batches,
                                               dpledger_error* last_error, dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}, {"undelivered_batches", undelivered_batches}}, [&] {
    const auto status = recorder->recorder->drain_status();
    *undelivered_batches = status.undelivered_batches;
    Report(status.last_error, last_error);
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_record_round(dpledger_recorder* recorder,
                                               const dpledger_sampling_scheme* scheme,
                                               const dpledger_sum_query* queries,
                                               size_t query_count, uint64_t* number,
                                               dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}, {"number", number}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto read_scheme, ReadScheme(scheme));
    ASSIGN_OR_RETURN(const auto read_queries, ReadQueries(queries, query_count));
    ASSIGN_OR_RETURN(*number, recorder->recorder->RecordRound(read_scheme, read_queries));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_record_mechanism(dpledger_recorder* recorder, const void* event,
                                                   size_t size, uint64_t* number,
                                                   dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}, {"number", number}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto read, Parse<dpledger::v1::MechanismEvent>("event", event, size));
    ASSIGN_OR_RETURN(*number, recorder->recorder->events()->RecordMechanism(read));
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_request_grant(dpledger_recorder* recorder, const void* grant,
                                                size_t size, dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const auto read, Parse<dpledger::v1::BudgetGrant>("grant", grant, size));
    std::vector<dpledger::accountant::Event> plan;
    for (int i = 0; i < read.plan_size(); ++i) {
      auto event = dpledger::events::ValueOf(read.plan(i));
      if (!event.ok()) {
        return dpledger::events::Within(dpledger::events::Element("plan", i), event.status());
      }
      plan.push_back(*std::move(event));
    }
    return recorder->recorder->RequestGrant(plan);
  });
}

dpledger_status dpledger_recorder_await_releasable(dpledger_recorder* recorder, uint64_t number,
                                                   dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}},
               [&] { return recorder->recorder->AwaitReleasable(number); });
}

dpledger_status dpledger_recorder_export(const dpledger_recorder* recorder, const char* file,
                                         dpledger_error* error) {
  return Guard(error, {{"recorder", recorder}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string path, ReadText("file", file));
    return recorder->recorder->Export(path);
  });
}

}  // extern "C"
