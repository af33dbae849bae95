// recompute start, list, show, cancel.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/answer_parts.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/ledger_flags.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"

namespace dpledger::cli {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(200);
constexpr char kAllProjects[] = "projects/-";

struct RecomputeFlags {
  connection::ServerAccess server;
  std::string name;
  std::string parent = kAllProjects;
  std::string filter;
  std::string answered_before;
  std::string request_id;
  double delta = 0;
  MethodFlags method;
  bool wait = false;
  bool results = false;
};

std::string FullName(const std::string& name) {
  return absl::StrContains(name, '/') ? name : absl::StrCat("operations/", name);
}

std::string ToText(const v1::Operation& operation) {
  std::string text = Row("operation", operation.name());
  text += Row("state", v1::Operation::State_Name(operation.state()));
  text += Row("asked", absl::StrCat(operation.done(), " of ", operation.total(), " ledgers"));
  text += Row("said then, now",
              absl::StrCat(operation.lower(), " lower, ", operation.higher(), " higher, ",
                           operation.unchanged(), " unchanged, ", operation.fresh(),
                           " not asked before, ", operation.refused(), " refused"));
  text += Row("results", operation.results_ledger());
  return text + Row("version", operation.version());
}

std::string SummaryText(const v1::LedgerSummary& summary) {
  if (!summary.has_epsilon()) return absl::StrCat("refused: ", summary.refusal().message());
  return absl::StrCat(TextUp(summary.epsilon().upper()), " by ", summary.method(), " (",
                      summary.version(), ")");
}

void Print(const v1::Operation& operation, Output& out) {
  out.Answer(ToText(operation), operation);
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
  v1::StartRecomputeRequest request;
  request.set_request_id(RequestId(flags.request_id));
  request.set_parent(flags.parent);
  request.set_filter(flags.filter);
  request.set_delta(flags.delta);
  request.set_answered_before_version(flags.answered_before);
  *request.mutable_options() = flags.method.Options();
  ASSIGN_OR_RETURN(v1::Operation operation, server.Ask(request));
  if (flags.wait) {
    ASSIGN_OR_RETURN(operation, Await(std::move(operation), server));
  }
  Print(operation, out);
  return absl::OkStatus();
}

absl::Status ListThem(const RecomputeFlags& flags, Output& out) {
  ServerCalls server(flags.server);
  std::string text;
  v1::ListOperationsResponse all;
  v1::ListOperationsRequest request;
  do {
    ASSIGN_OR_RETURN(const v1::ListOperationsResponse page, server.Ask(request));
    for (const v1::Operation& one : page.operations()) {
      absl::StrAppend(&text, one.name(), "  ", v1::Operation::State_Name(one.state()), "  ",
                      one.done(), " of ", one.total(), "\n");
    }
    all.MergeFrom(page);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  all.clear_next_page_token();
  out.Answer(text, all);
  return absl::OkStatus();
}

absl::Status Show(const RecomputeFlags& flags, Output& out) {
  ServerCalls server(flags.server);
  v1::GetOperationRequest request;
  request.set_name(FullName(flags.name));
  ASSIGN_OR_RETURN(v1::Operation operation, server.Ask(request));
  if (flags.wait) {
    ASSIGN_OR_RETURN(operation, Await(std::move(operation), server));
  }
  if (!flags.results) {
    Print(operation, out);
    return absl::OkStatus();
  }
  std::string text = ToText(operation);
  v1::RecomputeResults answer;
  *answer.mutable_operation() = operation;
  v1::ListRecomputedRequest results;
  results.set_name(operation.name());
  do {
    ASSIGN_OR_RETURN(const v1::ListRecomputedResponse page, server.Ask(results));
    for (const v1::Recomputed& one : page.results()) {
      absl::StrAppend(&text, one.now().ledger(), " at size ", one.now().size(), "\n");
      if (one.has_before()) text += Row("  said then", SummaryText(one.before()));
      text += Row("  says now", SummaryText(one.now()));
      *answer.add_results() = one;
    }
    results.set_page_token(page.next_page_token());
  } while (!results.page_token().empty());
  out.Answer(text, answer);
  return absl::OkStatus();
}

absl::Status Cancel(const RecomputeFlags& flags, Output& out) {
  v1::CancelOperationRequest request;
  request.set_name(FullName(flags.name));
  ASSIGN_OR_RETURN(const v1::Operation operation, ServerCalls(flags.server).Ask(request));
  Print(operation, out);
  return absl::OkStatus();
}

using Action = absl::Status (*)(const RecomputeFlags&, Output&);

void Choose(flags::App* command, const std::shared_ptr<RecomputeFlags>& flags, Action action,
            Command& chosen) {
  AddRequiredServer(*command, flags->server);
  command->callback([flags, action, &chosen] {
    chosen = [flags, action](Output& out) { return action(*flags, out); };
  });
}

void AddOperationName(flags::App& command, RecomputeFlags& flags) {
  command.add_option("NAME", flags.name, "operations/{id}, or the id alone")->required();
}

}  // namespace

void AddRecomputeCommands(flags::App& app, Command& chosen) {
  flags::App* group = app.add_subcommand("recompute", "Asks again about many ledgers.");
  group->footer("  dpledger recompute start --wait --server 127.0.0.1:7070");
  group->require_subcommand(1, 1);

  auto flags = std::make_shared<RecomputeFlags>();
  flags::App* start = AddCommand(
      *group, "start", "Begins an operation: epsilon of many ledgers, by today's methods.",
      "  dpledger recompute start --wait --server 127.0.0.1:7070\n"
      "  dpledger recompute start --parent projects/vision --answered-before 0.2 --server "
      "127.0.0.1:7070");
  start->add_option("--parent", flags->parent, "projects/{project}; default: all projects")
      ->type_name("PROJECT");
  start->add_option("--filter", flags->filter, "which ledgers; default: all")->type_name("FILTER");
  AddReal(*start, "--delta", flags->delta, kOpenUnitInterval,
          "in (0, 1); default: the server's usual one");
  start
      ->add_option("--answered-before", flags->answered_before,
                   "only ledgers that a version before this one answered about last")
      ->type_name("VERSION");
  flags->method.AddTo(*start);
  AddRequestId(*start, flags->request_id);
  start->add_flag("--wait", flags->wait, "until it has ended");
  Choose(start, flags, Start, chosen);

  flags = std::make_shared<RecomputeFlags>();
  flags::App* list = AddCommand(*group, "list", "Lists operations, the newest first.",
                                "  dpledger recompute list --server 127.0.0.1:7070");
  Choose(list, flags, ListThem, chosen);

  flags = std::make_shared<RecomputeFlags>();
  flags::App* show =
      AddCommand(*group, "show", "Shows an operation, and what it has found.",
                 "  dpledger recompute show operations/0a1b… --results --server 127.0.0.1:7070");
  AddOperationName(*show, *flags);
  show->add_flag("--results", flags->results, "each ledger: what was said then, what is said now");
  show->add_flag("--wait", flags->wait, "until it has ended");
  Choose(show, flags, Show, chosen);

  flags = std::make_shared<RecomputeFlags>();
  flags::App* cancel =
      AddCommand(*group, "cancel", "Ends an operation; what it has found stays.",
                 "  dpledger recompute cancel operations/0a1b… --server 127.0.0.1:7070");
  AddOperationName(*cancel, *flags);
  Choose(cancel, flags, Cancel, chosen);
}

}  // namespace dpledger::cli
