// What there is on a server: ledgers with what they cost, data sets, and what changes.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/ledger_place.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "dpledger/v1/summary.pb.h"

namespace dpledger::cli {
namespace {

constexpr auto kAskAgain = std::chrono::seconds(1);

struct ListFlags {
  LedgerPlace place;
  std::string project;
  std::string filter;
  std::string order_by;
};

void AddProject(flags::App& command, std::string& project) {
  AddToken(command, "--project", project, 63,
           "- for all projects; default: default, and of a --store all");
}

// "projects/p" of the flags.
std::string ParentOf(const ListFlags& flags) {
  if (!flags.project.empty()) return absl::StrCat("projects/", flags.project);
  return flags.place.AtRest() ? "projects/-" : "projects/default";
}

absl::StatusOr<v1::ListLedgersResponse> ListAll(ServerCalls& server, const ListFlags& flags) {
  v1::ListLedgersRequest request;
  request.set_parent(ParentOf(flags));
  request.set_filter(flags.filter);
  request.set_order_by(flags.order_by);
  ASSIGN_OR_RETURN(v1::ListLedgersResponse all, server.AskAll(request));
  while (all.summaries_size() < all.ledgers_size()) all.add_summaries();
  return all;
}

absl::Status List(const ListFlags& flags, Output& out) {
  ServerCalls server(flags.place, /*costs=*/true);
  ASSIGN_OR_RETURN(const v1::ListLedgersResponse list, ListAll(server, flags));
  RETURN_IF_ERROR(out.Answer(list));
  if (list.damaged().empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(list.damaged_size(), " of these ledgers cannot be read, and are shown as they ",
                   "were, if at all; the first: ", list.damaged(0).message()));
}

void AddListFlags(flags::App& command, ListFlags& flags) {
  AddRequiredPlace(command, flags.place);
  AddProject(command, flags.project);
  AddText(command, "--filter", flags.filter, 4000, "which of them (docs/filters.md)");
  AddText(command, "--order-by", flags.order_by, 4096,
          "a field of the filter language, desc behind it to begin with the largest");
}

void AddList(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "list", "Lists the ledgers of a project with what they cost, by name or as told.",
      "  dpledger ledger list --server 127.0.0.1:7070\n"
      "  dpledger ledger list --store run.ledger\n"
      "  dpledger ledger list --server 127.0.0.1:7070 --project - --filter 'dataset = adult AND "
      "epsilon > 1' --order-by 'epsilon desc'",
      List, chosen);
  AddListFlags(command, flags);
}

// ---- budget list ----

absl::Status ListBudgets(const ListFlags& flags, Output& out) {
  ListFlags budgets = flags;
  const std::string given = flags.filter.empty() ? "" : absl::StrCat("(", flags.filter, ") AND ");
  budgets.filter = given + "kind = BUDGET";
  return List(budgets, out);
}

// ---- datasets ----

absl::Status ListDatasets(const ListFlags& flags, Output& out) {
  v1::ListDatasetsRequest request;
  request.set_parent(ParentOf(flags));
  return out.Answer(ServerCalls(flags.place).AskAll(request));
}

void AddDatasets(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "datasets",
      "Lists the data sets that the ledgers of a project name, with what they cost together.",
      "  dpledger ledger datasets --server 127.0.0.1:7070 --project -", ListDatasets, chosen);
  AddRequiredPlace(command, flags.place);
  AddProject(command, flags.project);
}

// ---- attention ----

std::string AttentionParent(const std::string& project) {
  return absl::StrCat("projects/", project.empty() ? "-" : project);
}

absl::Status ListAttention(const ListFlags& flags, Output& out) {
  v1::ListAttentionRequest request;
  request.set_parent(AttentionParent(flags.project));
  return out.Answer(ServerCalls(flags.place.server).AskAll(request));
}

// ---- acknowledge ----

struct AcknowledgeFlags {
  v1::NoteAttentionRequest request;  // its id and its texts
  std::string project;
  connection::ServerAccess server;
  bool reopen = false;
};

absl::Status Acknowledge(const AcknowledgeFlags& flags, Output& out) {
  ServerCalls server(flags.server);
  v1::ListAttentionRequest all;
  all.set_parent(AttentionParent(flags.project));
  ASSIGN_OR_RETURN(const v1::ListAttentionResponse list, server.AskAll(all));
  v1::NoteAttentionRequest request = flags.request;
  const auto found = std::find_if(list.items().begin(), list.items().end(),
                                  [&](const auto& item) { return item.id() == request.id(); });
  if (found == list.items().end()) {
    return absl::NotFoundError(
        absl::StrCat("ID: nothing needs attention under ", request.id(), ": dpledger attention"));
  }
  if (!found->ledger().empty()) {
    request.set_ledger(found->ledger());
  } else if (!found->datasets().empty()) {
    request.set_dataset(found->datasets(0));
  }
  request.set_parent(all.parent());
  request.set_acknowledged(!flags.reopen);
  return out.Answer(server.Ask(request));
}

// ---- watch ----

struct WatchFlags : ListFlags {
  uint64_t changes = 0;  // 0: for ever
};

absl::Status WatchLedgers(const WatchFlags& flags, Output& out) {
  v1::WatchLedgersRequest request;
  request.set_parent(ParentOf(flags));
  request.set_filter(flags.filter);
  uint64_t told = 0;
  const auto enough = [&] { return flags.changes > 0 && told >= flags.changes; };
  const auto tell = [&](const std::string& line, const v1::LedgerWatched& watched) {
    if (enough()) return;
    out.Record(line, watched);
    ++told;
  };
  std::set<std::string> shown;  // the server says of every other change that it is not found
  const auto tell_ledger = [&](const v1::Ledger& ledger, const v1::LedgerSummary& summary) {
    if (!flags.filter.empty()) shown.insert(ledger.name());
    v1::LedgerWatched watched;
    *watched.mutable_ledger() = ledger;
    if (!summary.ledger().empty()) *watched.mutable_summary() = summary;
    tell(ToLine(ledger, summary), watched);
  };
  while (true) {
    ServerCalls server(flags.place.server);  // of several, one that answers now
    const absl::Status ended =
        server.Watch(request, [&](const v1::WatchLedgersResponse& next) -> absl::Status {
          request.set_resume_token(next.resume_token());
          if (next.reset()) {
            out.Note("the server has started anew: all ledgers follow");
            ASSIGN_OR_RETURN(const v1::ListLedgersResponse list, ListAll(server, flags));
            for (int i = 0; i < list.ledgers_size(); ++i)
              tell_ledger(list.ledgers(i), list.summaries(i));
          }
          for (int i = 0; i < next.ledgers_size(); ++i) {
            tell_ledger(next.ledgers(i), next.summaries(i));
          }
          for (const std::string& name : next.left()) {
            if (shown.erase(name) == 0) continue;
            v1::LedgerWatched watched;
            watched.set_left(name);
            tell(absl::StrCat(name, "  is found by the filter no more"), watched);
          }
          return enough() ? absl::CancelledError("enough") : absl::OkStatus();
        });
    if (enough()) return absl::OkStatus();
    // A server that is away comes back; what it refuses it refuses again.
    if (!absl::IsUnavailable(ended) || request.resume_token().empty()) return ended;
    out.Note(absl::StrCat("asked again: ", ended.message()));
    std::this_thread::sleep_for(kAskAgain);
  }
}

void AddWatch(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "watch",
      "Prints each ledger that is made, goes on or gets another epsilon, a line each, until it is "
      "interrupted. A server that goes away is asked again.",
      "  dpledger ledger watch --server 127.0.0.1:7070 --project - --filter 'epsilon > 8'\n"
      "  dpledger ledger watch --server 127.0.0.1:7070 --json | jq .summary.epsilon.upper",
      WatchLedgers, chosen);
  AddRequiredServer(command, flags.place.server);
  AddProject(command, flags.project);
  AddText(command, "--filter", flags.filter, 4096, "which ledgers (docs/filters.md)");
  AddCount(command, "--changes", flags.changes, 1, "ends after so many");
}

}  // namespace

void AddAttentionCommand(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "attention",
      "Lists what somebody has to act on, of all ledgers and data sets of a server, the gravest "
      "first.",
      "  dpledger attention --server 127.0.0.1:7070\n"
      "  dpledger attention --server 127.0.0.1:7070 --json | jq -r '.items[].reason' | sort | uniq "
      "-c",
      ListAttention, chosen);
  AddRequiredServer(command, flags.place.server);
  AddToken(command, "--project", flags.project, 63, "default: all projects");
}

void AddAcknowledgeCommand(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "acknowledge",
      "Says of what needs attention that it is seen to, by whom and why. It stays at the end of "
      "the "
      "list as long as the same is the matter; anything else is open.",
      "  dpledger acknowledge 5f0c66e1d0b9a3c2 --server 127.0.0.1:7070 --text 'the spool is lost "
      "with its disk; reported'\n"
      "  dpledger acknowledge 5f0c66e1d0b9a3c2 --server 127.0.0.1:7070 --reopen --assign "
      "'night shift'",
      Acknowledge, chosen);
  command
      .add_option("ID", *flags.request.mutable_id(),
                  "as dpledger attention shows it, in parentheses")
      ->required();
  AddRequiredServer(command, flags.server);
  AddToken(command, "--project", flags.project, 63,
           "as attention was asked; default: all projects");
  AddText(command, "--text", *flags.request.mutable_text(), 1024,
          "your own words, kept for everybody to read");
  AddText(command, "--assign", *flags.request.mutable_assigned_to(), 256, "who sees to it");
  command.add_flag("--reopen", flags.reopen, "it is open: only note or assign it");
}

void AddListCommands(flags::App& ledger, Command& chosen) {
  AddList(ledger, chosen);
  AddDatasets(ledger, chosen);
  AddWatch(ledger, chosen);
}

void AddBudgetListCommand(flags::App& budget, Command& chosen) {
  auto [command, flags] =
      AddCommand(budget, "list", "Lists the budgets of a project, as ledger list does.",
                 "  dpledger budget list --server 127.0.0.1:7070\n"
                 "  dpledger budget list --server 127.0.0.1:7070 --filter 'remaining < .2'",
                 ListBudgets, chosen);
  AddListFlags(command, flags);
}

}  // namespace dpledger::cli
