#include <cmath>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "client/c/local.h"
#include "client/c/options.h"
#include "client/c/read.h"
#include "events/declaration_rules.h"

namespace dpledger::client::c {
namespace {

constexpr size_t kDeclarationOfVersion1 = offsetof(dpledger_declaration, filter_delta);

absl::Status ReadFilter(const dpledger_declaration& read, v1::Declaration& declaration) {
  RETURN_IF_ERROR(CheckConstant("declaration.filter", read.filter, 0, DPLEDGER_MIXTURE_FILTER));
  if (read.filter != DPLEDGER_RDP_FILTER) {
    RETURN_IF_ERROR(CheckZero("declaration.filter_order", read.filter_order, " for this filter"));
  }
  if (read.filter != DPLEDGER_MIXTURE_FILTER) {
    RETURN_IF_ERROR(CheckZero("declaration.filter_delta", read.filter_delta, " for this filter"));
  }
  switch (read.filter) {
    case DPLEDGER_RDP_FILTER:
      declaration.mutable_filter()->mutable_rdp()->set_order(read.filter_order);
      declaration.mutable_filter()->mutable_rdp()->set_epsilon(read.filter_bound);
      return absl::OkStatus();
    case DPLEDGER_ZCDP_FILTER:
      declaration.mutable_filter()->mutable_zcdp()->set_rho(read.filter_bound);
      return absl::OkStatus();
    case DPLEDGER_GDP_FILTER:
      declaration.mutable_filter()->mutable_gdp()->set_mu(read.filter_bound);
      return absl::OkStatus();
    case DPLEDGER_MIXTURE_FILTER:
      *declaration.mutable_filter() = events::MixtureFilter(read.filter_bound, read.filter_delta);
      return absl::OkStatus();
    default:
      return CheckZero("declaration.filter_bound", read.filter_bound, " without a filter");
  }
}

absl::StatusOr<v1::Declaration> ReadDeclaration(const dpledger_declaration* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_declaration>("declaration", given, kDeclarationOfVersion1));
  v1::Declaration declaration;
  ASSIGN_OR_RETURN(*declaration.mutable_dataset(), ReadText("declaration.dataset", read.dataset));
  ASSIGN_OR_RETURN(*declaration.mutable_unit_of_privacy(),
                   ReadText("declaration.unit_of_privacy", read.unit_of_privacy));
  ASSIGN_OR_RETURN(*declaration.mutable_released(),
                   ReadText("declaration.released", read.released, ""));
  ASSIGN_OR_RETURN(*declaration.mutable_description(),
                   ReadText("declaration.description", read.description, ""));
  RETURN_IF_ERROR(CheckConstant("declaration.adjacency", read.adjacency, DPLEDGER_ADD_OR_REMOVE_ONE,
                                DPLEDGER_ZERO_OUT));
  declaration.set_adjacency(static_cast<v1::Adjacency>(read.adjacency));
  RETURN_IF_ERROR(
      CheckConstant("declaration.parameters", read.parameters, DPLEDGER_FIXED, DPLEDGER_ADAPTIVE));
  declaration.set_parameters(static_cast<v1::Parameters>(read.parameters));
  declaration.set_planned_rounds(read.planned_rounds);
  ASSIGN_OR_RETURN(const bool plan_independent,
                   ReadFlag("declaration.plan_independent", read.plan_independent));
  declaration.set_plan_independent(plan_independent);
  RETURN_IF_ERROR(ReadFilter(read, declaration));
  return declaration;
}

// Leaves `timeout` as it is for 0.
absl::Status ReadSeconds(std::string_view field, double seconds, absl::Duration& timeout) {
  if (!(std::isfinite(seconds) && seconds >= 0)) {
    return FieldError(field, absl::StrCat("must be finite and >= 0, got ", seconds));
  }
  if (seconds > 0) timeout = absl::Seconds(seconds);
  return absl::OkStatus();
}

// The folder of a local ledger; empty: it is on a server.
absl::StatusOr<std::string> ReadPath(const dpledger_recorder_options& read,
                                     const RecorderOptions& options) {
  ASSIGN_OR_RETURN(const std::string path, ReadText("path", read.path, ""));
  if (path.empty()) {
    ASSIGN_OR_RETURN(const bool on_server, IsServerMeant(options.server));
    // To callers that were compiled before there were local ledgers, no server is an error.
    if (on_server || !HasLocalLedgers() ||
        read.struct_size <= offsetof(dpledger_recorder_options, path))
      return path;
    return DefaultPath(options.ledger);
  }
  for (const auto& [field, value] :
       {std::pair("server", read.server), std::pair("ca", read.ca),
        std::pair("certificate", read.certificate),
        std::pair("certificate_key", read.certificate_key),
        std::pair("token_file", read.token_file), std::pair("log_key", read.log_key)}) {
    if (value == nullptr || *value == '\0') continue;
    return FieldError("path", absl::StrCat("must not be given together with ", field,
                                           ", which speaks of a server"));
  }
  return path;
}

absl::StatusOr<dpledger_recorder_options> ReadOptions(const dpledger_recorder_options* given) {
  return ReadStruct<dpledger_recorder_options>("options", given,
                                               offsetof(dpledger_recorder_options, state));
}

}  // namespace

absl::StatusOr<RecorderOptions> ReadRecorderOptions(const dpledger_recorder_options* given) {
  ASSIGN_OR_RETURN(const auto read, ReadOptions(given));
  RecorderOptions options;
  ASSIGN_OR_RETURN(options.server.address, ReadText("server", read.server, ""));
  ASSIGN_OR_RETURN(options.server.ca, ReadText("ca", read.ca, ""));
  ASSIGN_OR_RETURN(options.server.certificate, ReadText("certificate", read.certificate, ""));
  ASSIGN_OR_RETURN(options.server.key, ReadText("certificate_key", read.certificate_key, ""));
  ASSIGN_OR_RETURN(options.server.token_file, ReadText("token_file", read.token_file, ""));
  ASSIGN_OR_RETURN(options.server.log_key, ReadText("log_key", read.log_key, ""));
  ASSIGN_OR_RETURN(options.ledger, ReadText("ledger", read.ledger));
  ASSIGN_OR_RETURN(options.writer, ReadText("writer", read.writer, options.writer.c_str()));
  ASSIGN_OR_RETURN(options.declaration, ReadDeclaration(read.declaration));
  ASSIGN_OR_RETURN(const std::string path, ReadPath(read, options));
  if (!path.empty()) options.connect = [path] { return OpenLocal(path); };
  ASSIGN_OR_RETURN(
      options.spool_folder,
      ReadText("spool_folder", read.spool_folder,
               (path.empty() ? LastName(options.ledger) + ".spool" : path + "/spool").c_str()));
  if (read.spool_bound_bytes != 0) options.spool_bound_bytes = read.spool_bound_bytes;
  RETURN_IF_ERROR(CheckConstant("policy", read.policy, 0, DPLEDGER_SPOOL));
  if (read.policy != 0) options.policy = static_cast<v1::SpoolPolicy>(read.policy);
  ASSIGN_OR_RETURN(options.plan_varies, ReadFlag("plan_varies", read.plan_varies));
  RETURN_IF_ERROR(
      ReadSeconds("open_timeout_seconds", read.open_timeout_seconds, options.open_timeout));
  RETURN_IF_ERROR(ReadSeconds("release_timeout_seconds", read.release_timeout_seconds,
                              options.release_timeout));
  RETURN_IF_ERROR(ReadSeconds("full_spool_timeout_seconds", read.full_spool_timeout_seconds,
                              options.full_spool_timeout));
  RETURN_IF_ERROR(
      ReadSeconds("close_timeout_seconds", read.close_timeout_seconds, options.close_timeout));
  RETURN_IF_ERROR(
      ReadSeconds("stall_timeout_seconds", read.stall_timeout_seconds, options.stall_timeout));
  return options;
}

absl::StatusOr<std::unique_ptr<RunState>> OpenState(const dpledger_recorder_options* given,
                                                    const std::string& spool_folder) {
  ASSIGN_OR_RETURN(const auto options, ReadOptions(given));
  if (options.state == nullptr) return nullptr;
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_run_state>("state", options.state));
  ASSIGN_OR_RETURN(const std::string folder,
                   ReadText("state.folder", read.folder, spool_folder.c_str()));
  ASSIGN_OR_RETURN(const std::string key_file, ReadText("state.key_file", read.key_file));
  auto state = RunState::Open(folder, key_file);
  if (!state.ok()) return PrefixField("state", state.status());
  return state;
}

}  // namespace dpledger::client::c
