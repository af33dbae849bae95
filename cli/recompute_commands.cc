// recompute start, list, show, history, cancel.
#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/ledger_flags.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"

namespace dpledger::cli {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(200);
constexpr char kAllProjects[] = "projects/-";

struct RecomputeFlags {
  connection::ServerAccess server;
  std::string name;
  v1::StartRecomputeRequest request;  // its texts
  std::string request_id;
  double delta = 0;
  MethodFlags method;
  bool wait = false;
  bool results = false;

  RecomputeFlags() { request.set_parent(kAllProjects); }
  void AddTo(flags::App& app) { AddRequiredServer(app, server); }
};

std::string FullName(const std::string& name) {
  return absl::StrContains(name, '/') ? name : absl::StrCat("operations/", name);
}

// Until it has ended.
absl::StatusOr<v1::Operation> Await(v1::Operation operation, ServerCalls& server) {
  SetInterruptNote(absl::StrCat("interrupted; ", operation.name(),
                                " goes on. dpledger recompute cancel ends it"));
  Progress progress("recomputed");
  v1::GetOperationRequest request;
  request.set_name(operation.name());
  while (operation.state() == v1::Operation::RUNNING) {
    progress.Show(operation.done(), operation.total());
    std::this_thread::sleep_for(kLookAgain);
    ASSIGN_OR_RETURN(operation, server.Ask(request));
  }
  return operation;
}

absl::Status Start(const RecomputeFlags& flags, Output& out) {
  ServerCalls server(flags.server);
  v1::StartRecomputeRequest request = flags.request;
  request.set_request_id(RequestId(flags.request_id));
  request.set_delta(flags.delta);
  *request.mutable_options() = flags.method.Options();
  ASSIGN_OR_RETURN(v1::Operation operation, server.Ask(request));
  if (flags.wait) {
    ASSIGN_OR_RETURN(operation, Await(std::move(operation), server));
  }
  return out.Answer(operation);
}

absl::Status ListThem(const RecomputeFlags& flags, Output& out) {
  return out.Answer(ServerCalls(flags.server).AskAll(v1::ListOperationsRequest()));
}

absl::Status Show(const RecomputeFlags& flags, Output& out) {
  ServerCalls server(flags.server);
  v1::GetOperationRequest request;
  request.set_name(FullName(flags.name));
  ASSIGN_OR_RETURN(v1::Operation operation, server.Ask(request));
  if (flags.wait) {
    ASSIGN_OR_RETURN(operation, Await(std::move(operation), server));
  }
  if (!flags.results) return out.Answer(operation);
  v1::ListRecomputedRequest of_operation;
  of_operation.set_name(operation.name());
  ASSIGN_OR_RETURN(const v1::ListRecomputedResponse list, server.AskAll(of_operation));
  v1::RecomputeResults answer;
  *answer.mutable_operation() = std::move(operation);
  *answer.mutable_results() = list.results();
  return out.Answer(answer);
}

absl::Status History(const RecomputeFlags& flags, Output& out) {
  v1::ListAnswersRequest request;
  request.set_ledger(flags.name);
  request.set_delta(flags.delta);
  return out.Answer(ServerCalls(flags.server).AskAll(request));
}

absl::Status Cancel(const RecomputeFlags& flags, Output& out) {
  v1::CancelOperationRequest request;
  request.set_name(FullName(flags.name));
  return out.Answer(ServerCalls(flags.server).Ask(request));
}

void AddOperationName(flags::App& command, RecomputeFlags& flags) {
  command.add_option("NAME", flags.name, "operations/{id}, or the id alone")->required();
}

void AddStart(flags::App& group, Command& chosen) {
  auto [start, flags] = AddCommand(
      group, "start", "Begins an operation: epsilon of many ledgers, by today's methods.",
      "  dpledger recompute start --wait --server 127.0.0.1:7070\n"
      "  dpledger recompute start --parent projects/vision --answered-before 0.2 --server "
      "127.0.0.1:7070",
      Start, chosen);
  AddPlain(start, "--parent", *flags.request.mutable_parent(), "PROJECT",
           "projects/{project}; default: all projects");
  AddPlain(start, "--filter", *flags.request.mutable_filter(), "FILTER",
           "which ledgers; default: all");
  AddReal(start, "--delta", flags.delta, kOpenUnitInterval,
          "in (0, 1); default: the server's usual one");
  AddPlain(start, "--answered-before", *flags.request.mutable_answered_before_version(), "VERSION",
           "only ledgers that a version before this one answered about last");
  flags.method.AddTo(start);
  AddRequestId(start, flags.request_id);
  start.add_flag("--wait", flags.wait, "until it has ended");
}

void AddShow(flags::App& group, Command& chosen) {
  auto [show, flags] = AddCommand(
      group, "show", "Shows an operation, and what it has found.",
      "  dpledger recompute show operations/0a1b… --results --server 127.0.0.1:7070", Show, chosen);
  AddOperationName(show, flags);
  show.add_flag("--results", flags.results, "each ledger: what was said then, what is said now");
  show.add_flag("--wait", flags.wait, "until it has ended");
}

void AddHistory(flags::App& group, Command& chosen) {
  auto [history, flags] = AddCommand(
      group, "history",
      "Shows what was said of a ledger over time, by which version and method, and what each new "
      "answer gave back.",
      "  dpledger recompute history projects/vision/ledgers/old --server 127.0.0.1:7070", History,
      chosen);
  AddLedgerName(history, "LEDGER", flags.name, "the ledger")->required();
  AddReal(history, "--delta", flags.delta, kOpenUnitInterval, "in (0, 1); default: at every delta");
}

}  // namespace

void AddRecomputeCommands(flags::App& app, Command& chosen) {
  flags::App& group = AddGroup(app, "recompute", "Asks again about many ledgers.",
                               "  dpledger recompute start --wait --server 127.0.0.1:7070");
  AddStart(group, chosen);
  AddCommand(group, "list", "Lists operations, the newest first.",
             "  dpledger recompute list --server 127.0.0.1:7070", ListThem, chosen);
  AddShow(group, chosen);
  AddHistory(group, chosen);
  auto [cancel, flags] = AddCommand(
      group, "cancel", "Ends an operation; what it has found stays.",
      "  dpledger recompute cancel operations/0a1b… --server 127.0.0.1:7070", Cancel, chosen);
  AddOperationName(cancel, flags);
}

}  // namespace dpledger::cli
