// dpledger budget create, show, fits, grant.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/answer_parts.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/ledger_flags.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "questions/held_run.h"

namespace dpledger::cli {
namespace {

// What a run may cost: by flags, by an event file, or nothing.
struct PlanFlags {
  RunFlags run;
  std::string events;
  bool nothing = false;

  void AddTo(flags::App& app) {
    run.AddTo(app);
    AddPlain(app, "--events", events, "FILE",
             "an event file of rounds and mechanisms; - is standard input");
  }
  bool IsGiven() const { return nothing || !events.empty() || !run.GivenFlag().empty(); }
  // Throws flags::ValidationError unless it is one plan, or none at all.
  void Check() const {
    RefuseIf(nothing && (!events.empty() || !run.GivenFlag().empty()), "--nothing",
             "must not be given beside a plan");
    RefuseIf(!events.empty() && !run.GivenFlag().empty(), run.GivenFlag(),
             "must not be given beside --events");
    if (events.empty() && !run.GivenFlag().empty()) run.Check();
  }
  absl::StatusOr<std::vector<v1::Event>> Events() const {
    if (!events.empty()) {
      ASSIGN_OR_RETURN(EventFile file, ReadEventFile(events));
      return std::vector<v1::Event>(file.events.begin(), file.events.end());
    }
    if (run.GivenFlag().empty()) return std::vector<v1::Event>();
    return run.Events();
  }
};

// ---- create ----

absl::Status Create(const CreateFlags& flags, Output& out) {
  v1::Declaration declaration;
  declaration.set_kind(v1::BUDGET);
  declaration.set_parameters(v1::ADAPTIVE);
  return out.Answer(flags.Create(declaration));
}

void AddCreate(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "create", "Makes a budget: a bound for all runs over a data set that are put under it.",
      "  dpledger budget create mnist-2026 --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --filter mixture:8:1e-6",
      Create, chosen);
  command.get_option("--filter")->required();
  AddText(command, "--block-assignment", *flags.declaration.mutable_block_assignment(), 1024,
          "gives the budget blocks, each with the whole bound: how it is decided, without looking "
          "at outputs, in which of the blocks 1 to 10000 a unit is for ever");
}

// ---- show, fits ----

absl::StatusOr<v1::ComputeBudgetResponse> Ask(const ReadFlags& flags,
                                              v1::ComputeBudgetRequest request) {
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(*request.mutable_budget(), calls.NameOr(flags.name, "NAME"));
  return calls.Ask(request);
}

absl::Status Show(const ReadFlags& flags, Output& out) { return out.Answer(Ask(flags, {})); }

struct FitsFlags : ReadFlags {
  PlanFlags plan;
  std::string ledger;
  google::protobuf::RepeatedPtrField<v1::BlockRange> blocks;

  void Check() const {
    plan.Check();
    if (!plan.IsGiven()) throw flags::RequiredError("a plan: --noise-multiplier or --events");
  }
};

absl::Status Fits(const FitsFlags& flags, Output& out) {
  v1::ComputeBudgetRequest request;
  request.set_ledger(flags.ledger);
  *request.mutable_blocks() = flags.blocks;
  ASSIGN_OR_RETURN(const std::vector<v1::Event> events, flags.plan.Events());
  request.mutable_plan()->Assign(events.begin(), events.end());
  ASSIGN_OR_RETURN(const v1::ComputeBudgetResponse answer, Ask(flags, std::move(request)));
  RETURN_IF_ERROR(out.Answer(ToText(answer) + FitText(answer), answer));
  if (answer.fits()) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the plan does not fit into what is left", WhyNot(answer))),
                    {questions::kBudgetExceeded, {}});
}

void AddShow(flags::App& app, Command& chosen) {
  AddCommand(app, "show", "Shows what is granted of a budget, and to whom.",
             "  dpledger budget show mnist-2026 --server 127.0.0.1:7070\n"
             "  dpledger budget show mnist-2026 --store folder.ledger --json",
             Show, chosen);
}

void AddFits(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "fits", "Says whether a plan fits into what is left of a budget. Grants nothing.",
      "  dpledger budget fits mnist-2026 --server 127.0.0.1:7070 --noise-multiplier 1 "
      "--sampling-probability .01 --steps 10000",
      Fits, chosen);
  flags.plan.AddTo(command);
  AddLedgerName(command, "--for", flags.ledger,
                "the ledger that the plan is for, whose earlier grant it replaces");
  AddBlocks(command, flags.blocks, "that the plan is for, like 1-12,14; none: all");
}

// ---- grant ----

struct GrantFlags : LedgerFlags {
  PlanFlags plan;
  bool more = false, what_is_spent = false;
  v1::GrantBudgetRequest request;  // the ledger and the reason
  std::string request_id;

  void Check() const {
    plan.Check();
    RefuseIf(plan.IsGiven() && what_is_spent, "--what-is-spent", "must not be given beside a plan");
    if (!plan.IsGiven() && !what_is_spent) {
      throw flags::RequiredError(
          "a plan: --noise-multiplier, --events, --nothing or --what-is-spent");
    }
  }
};

absl::Status Grant(const GrantFlags& flags, Output& out) {
  v1::GrantBudgetRequest request = flags.request;
  request.set_budget(flags.name);
  request.set_request_id(RequestId(flags.request_id));
  ASSIGN_OR_RETURN(const std::vector<v1::Event> events, flags.plan.Events());
  request.mutable_plan()->Assign(events.begin(), events.end());
  if (flags.more) request.set_change(v1::GRANT_MORE);
  if (flags.what_is_spent) request.set_change(v1::GRANT_WHAT_IS_SPENT);
  ASSIGN_OR_RETURN(const v1::GrantBudgetResponse answer, ServerCalls(flags.place).Ask(request));
  v1::BudgetGrant granted;
  *granted.mutable_plan() = request.plan();
  const std::string what =
      flags.what_is_spent ? "what it has spent" : PlanText(granted) + (flags.more ? " more" : "");
  return out.Answer(Row("granted", request.ledger(), ": ", what) +
                        Row("entry", answer.receipt().first_sequence(), " of ", flags.name),
                    answer);
}

void AddGrant(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "grant",
      "Sets aside, of a budget, what a run may cost in all. It takes the place of what the run was "
      "granted before: a smaller plan gives the rest back.",
      "  dpledger budget grant mnist-2026 --server 127.0.0.1:7070 --for run-17 "
      "--noise-multiplier 1 --sampling-probability .01 --steps 10000\n"
      "  dpledger budget grant mnist-2026 --server 127.0.0.1:7070 --for run-18 --nothing",
      Grant, chosen);
  flags.plan.AddTo(command);
  command.add_flag("--nothing", flags.plan.nothing,
                   "give back all of it, of a run that has spent nothing");
  flags::Option* const more =
      command.add_flag("--more", flags.more, "the plan is beside what is granted already");
  command
      .add_flag("--what-is-spent", flags.what_is_spent,
                "give back what a run has not spent that is sealed, or whose writers have all "
                "closed; no plan")
      ->excludes(more);
  AddLedgerName(command, "--for", *flags.request.mutable_ledger(),
                "the ledger that declares the budget")
      ->required();
  AddText(command, "--reason", *flags.request.mutable_reason(), 1024,
          "your own words, kept in both ledgers");
  AddRequestId(command, flags.request_id);
}

}  // namespace

void AddBudgetCommands(flags::App& app, Command& chosen) {
  flags::App& budget = AddGroup(
      app, "budget", "Bounds what all runs over a data set may cost together.",
      "  dpledger budget create mnist-2026 --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --filter mixture:8:1e-6\n"
      "  dpledger budget show mnist-2026 --server 127.0.0.1:7070");
  AddCreate(budget, chosen);
  AddBudgetListCommand(budget, chosen);
  AddShow(budget, chosen);
  AddFits(budget, chosen);
  AddGrant(budget, chosen);
  AddRetireCommand(budget, chosen);
  AddBudgetVerifyCommand(budget, chosen);
}

}  // namespace dpledger::cli
