// dpledger budget create, show, fits, grant.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "cli/answer_parts.h"
#include "cli/commands.h"
#include "cli/event_file.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/ledger_flags.h"
#include "cli/ledger_output.h"
#include "cli/number_text.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "events/grant_rules.h"
#include "events/proto_json.h"
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
    app.add_option("--events", events,
                   "an event file of rounds and mechanisms; - is standard input")
        ->type_name("FILE");
  }
  bool IsGiven() const { return nothing || !events.empty() || !run.GivenFlag().empty(); }
  // Throws flags::ValidationError unless it is one plan, or none at all.
  void Check() const {
    if (nothing && (!events.empty() || !run.GivenFlag().empty())) {
      throw flags::ValidationError("--nothing", "must not be given beside a plan");
    }
    if (!events.empty() && !run.GivenFlag().empty()) {
      throw flags::ValidationError(run.GivenFlag(), "must not be given beside --events");
    }
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

std::string EventText(const v1::Event& event) {
  if (!event.has_rounds()) return events::MessageToJson(event.mechanism());
  const v1::RoundsEvent& rounds = event.rounds();
  std::string text =
      absl::StrCat(rounds.count(), " rounds, ", events::MessageToJson(rounds.scheme()));
  for (const v1::SumQuery& query : rounds.queries()) {
    absl::StrAppend(&text, ", noise multiplier ",
                    TextNear(query.noise_stddev() / query.l2_norm_bound()));
  }
  return text;
}

std::string PlanText(const v1::BudgetGrant& grant) {
  if (grant.plan().empty()) return "nothing";
  return absl::StrJoin(grant.plan(), "; ",
                       [](std::string* out, const v1::Event& event) { *out += EventText(event); });
}

std::string BlocksOf(const v1::BudgetGrant& grant) {
  if (grant.blocks().empty()) return "";
  return absl::StrCat("; of blocks ", events::BlocksText(grant.blocks()));
}

// What the run has spent of it, if that is known.
std::string UsedText(const v1::ComputeBudgetResponse& answer, const std::string& ledger) {
  for (const v1::FilterSpending& run : answer.runs()) {
    if (run.ledger() != ledger) continue;
    return absl::StrCat("; spent ", TextUp(run.spent()), " of ", TextUp(run.granted()));
  }
  return "";
}

std::string DayText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string PaceText(const v1::ComputeBudgetResponse& answer) {
  if (!answer.has_pace()) return "";
  const v1::BudgetPace& pace = answer.pace();
  if (answer.spending().spent() >= answer.spending().bound())
    return Row("at this pace", "it is full");
  const std::string since = DayText(pace.since());
  if (!pace.has_runs_out()) return Row("at this pace", "not full in 100 years");
  return Row("at this pace", absl::StrCat("full on ", DayText(pace.runs_out()), "; on ", since, " ",
                                          TextUp(pace.spent_before()), " was granted"));
}

// Why a plan does not fit, if it is not for what is left.
std::string WhyNot(const v1::ComputeBudgetResponse& answer) {
  if (answer.budget().state() == v1::SEALED) return ": the budget is sealed";
  if (answer.retired_block() == 0) return "";
  return absl::StrCat(": block ", answer.retired_block(), " is retired");
}

std::string BudgetText(const v1::ComputeBudgetResponse& answer, bool with_plan) {
  const v1::FilterSpending& spending = answer.spending();
  std::string text =
      Row("budget", absl::StrCat(answer.budget().name(), " at size ", answer.budget().size()));
  text += Row("data set", answer.budget().dataset());
  text += Row("unit of privacy", answer.budget().unit_of_privacy());
  text += Row("state", v1::LedgerState_Name(answer.budget().state()));
  text += Row("filter", absl::StrCat(spending.filter(), ", bound ", TextNear(spending.bound())));
  text += Row("granted", absl::StrCat(TextUp(spending.spent()), " to ", answer.grant_count(),
                                      answer.grant_count() == 1 ? " ledger" : " ledgers"));
  for (const v1::BudgetGrant& grant : answer.grants()) {
    text += Row("  granted", absl::StrCat(grant.ledger(), ": ", PlanText(grant), BlocksOf(grant),
                                          UsedText(answer, grant.ledger())));
  }
  const uint64_t shown = static_cast<uint64_t>(answer.grants_size());
  if (answer.grant_count() > shown) {
    text += Row("  granted", absl::StrCat("and ", answer.grant_count() - shown, " more"));
  }
  for (const v1::BlockSpending& one : answer.blocks()) {
    v1::BudgetGrant range;
    *range.add_blocks() = one.blocks();
    text += Row("  blocks", absl::StrCat(events::BlocksText(range.blocks()), ": ",
                                         TextUp(one.spent()), " of ", TextNear(spending.bound())));
  }
  if (answer.retired_blocks_size() > 0) {
    text += Row("retired blocks", events::BlocksText(answer.retired_blocks()));
  }
  for (const std::string& ledger : answer.overspent()) {
    text += Row("OVERSPENT", absl::StrCat(ledger,
                                          ": more than it was granted; what the budget "
                                          "promises does not hold"));
  }
  text += PaceText(answer);
  if (!with_plan) return text;
  if (answer.has_present_grant()) {
    text += Row("granted before",
                absl::StrCat(answer.present_grant().ledger(), ": ",
                             PlanText(answer.present_grant()), BlocksOf(answer.present_grant())));
  }
  text += Row("with the plan",
              absl::StrCat(TextUp(answer.spent_with_plan()), " of ", TextNear(spending.bound())));
  text += Row("fits", answer.fits() ? "yes" : absl::StrCat("NO", WhyNot(answer)));
  if (answer.has_rounds_left()) {
    text += Row("rounds that fit",
                absl::StrCat(answer.rounds_left(), " of its last kind, beside the rest of it"));
  }
  return text;
}

// ---- create ----

struct CreateFlags : LedgerFlags {
  std::string dataset, unit, block_assignment, description, request_id;
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  v1::Filter filter;
  bool new_dataset = false;
};

absl::Status Create(const CreateFlags& flags, Output& out) {
  v1::CreateLedgerRequest request;
  request.set_name(flags.name);
  request.set_request_id(RequestId(flags.request_id));
  request.set_new_dataset(flags.new_dataset);
  v1::Declaration& declaration = *request.mutable_declaration();
  declaration.set_kind(v1::BUDGET);
  declaration.set_dataset(flags.dataset);
  declaration.set_unit_of_privacy(flags.unit);
  declaration.set_adjacency(flags.adjacency);
  declaration.set_parameters(v1::ADAPTIVE);
  *declaration.mutable_filter() = flags.filter;
  declaration.set_block_assignment(flags.block_assignment);
  declaration.set_description(flags.description);
  ASSIGN_OR_RETURN(const v1::Ledger ledger, ServerCalls(flags.place).Ask(request));
  out.Answer(ToText(ledger), ledger);
  return absl::OkStatus();
}

void AddCreate(flags::App& app, Command& chosen) {
  flags::App* command = AddCommand(
      app, "create", "Makes a budget: a bound for all runs over a data set that are put under it.",
      "  dpledger budget create mnist-2026 --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --filter mixture:8:1e-6");
  auto flags = std::make_shared<CreateFlags>();
  flags->AddTo(*command);
  AddName(*command, "--dataset", flags->dataset, 256, "which data set, as its runs declare it")
      ->required();
  command->add_flag("--new-dataset", flags->new_dataset,
                    "the data set is a new one, however much its name is like another's");
  AddName(*command, "--unit", flags->unit, 256, "what one record is: example, user, hospital")
      ->required();
  AddAdjacency(*command, flags->adjacency, "what makes two data sets neighbours")->required();
  AddFilter(*command, flags->filter)->required();
  AddText(*command, "--block-assignment", flags->block_assignment, 1024,
          "gives the budget blocks, each with the whole bound: how it is decided, without looking "
          "at outputs, in which of the blocks 1 to 10000 a unit is for ever");
  AddText(*command, "--description", flags->description, 4096, "your own words");
  AddRequestId(*command, flags->request_id);
  command->callback(
      [flags, &chosen] { chosen = [flags](Output& out) { return Create(*flags, out); }; });
}

// ---- show, fits ----

struct ShowFlags : ReadFlags {
  PlanFlags plan;
  std::string ledger;
  google::protobuf::RepeatedPtrField<v1::BlockRange> blocks;
};

absl::Status Show(const ShowFlags& flags, bool with_plan, Output& out) {
  ServerCalls calls(flags.place);
  v1::ComputeBudgetRequest request;
  ASSIGN_OR_RETURN(*request.mutable_budget(), calls.NameOr(flags.name, "NAME"));
  request.set_ledger(flags.ledger);
  *request.mutable_blocks() = flags.blocks;
  ASSIGN_OR_RETURN(const std::vector<v1::Event> events, flags.plan.Events());
  request.mutable_plan()->Assign(events.begin(), events.end());
  ASSIGN_OR_RETURN(const v1::ComputeBudgetResponse answer, calls.Ask(request));
  out.Answer(BudgetText(answer, with_plan), answer);
  if (!with_plan || answer.fits()) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the plan does not fit into what is left", WhyNot(answer))),
                    {questions::kBudgetExceeded, {}});
}

void AddShow(flags::App& app, Command& chosen) {
  flags::App* command =
      AddCommand(app, "show", "Shows what is granted of a budget, and to whom.",
                 "  dpledger budget show mnist-2026 --server 127.0.0.1:7070\n"
                 "  dpledger budget show mnist-2026 --store folder.ledger --json");
  auto flags = std::make_shared<ShowFlags>();
  flags->AddTo(*command);
  command->callback(
      [flags, &chosen] { chosen = [flags](Output& out) { return Show(*flags, false, out); }; });
}

void AddFits(flags::App& app, Command& chosen) {
  flags::App* command = AddCommand(
      app, "fits", "Says whether a plan fits into what is left of a budget. Grants nothing.",
      "  dpledger budget fits mnist-2026 --server 127.0.0.1:7070 --noise-multiplier 1 "
      "--sampling-probability .01 --steps 10000");
  auto flags = std::make_shared<ShowFlags>();
  flags->AddTo(*command);
  flags->plan.AddTo(*command);
  AddLedgerName(*command, "--for", flags->ledger,
                "the ledger that the plan is for, whose earlier grant it replaces");
  AddBlocks(*command, flags->blocks, "that the plan is for, like 1-12,14; none: all");
  command->callback([flags, &chosen] {
    flags->plan.Check();
    if (!flags->plan.IsGiven())
      throw flags::RequiredError("a plan: --noise-multiplier or --events");
    chosen = [flags](Output& out) { return Show(*flags, true, out); };
  });
}

// ---- grant ----

struct GrantFlags : LedgerFlags {
  PlanFlags plan;
  bool more = false, what_is_spent = false;
  std::string ledger, reason, request_id;
};

absl::Status Grant(const GrantFlags& flags, Output& out) {
  v1::GrantBudgetRequest request;
  request.set_budget(flags.name);
  request.set_ledger(flags.ledger);
  request.set_request_id(RequestId(flags.request_id));
  request.set_reason(flags.reason);
  ASSIGN_OR_RETURN(const std::vector<v1::Event> events, flags.plan.Events());
  request.mutable_plan()->Assign(events.begin(), events.end());
  if (flags.more) request.set_change(v1::GRANT_MORE);
  if (flags.what_is_spent) request.set_change(v1::GRANT_WHAT_IS_SPENT);
  ASSIGN_OR_RETURN(const v1::GrantBudgetResponse answer, ServerCalls(flags.place).Ask(request));
  v1::BudgetGrant granted;
  *granted.mutable_plan() = request.plan();
  const std::string what =
      flags.what_is_spent ? "what it has spent" : PlanText(granted) + (flags.more ? " more" : "");
  out.Answer(Row("granted", absl::StrCat(flags.ledger, ": ", what)) +
                 Row("entry", absl::StrCat(answer.receipt().first_sequence(), " of ", flags.name)),
             answer);
  return absl::OkStatus();
}

void AddGrant(flags::App& app, Command& chosen) {
  flags::App* command = AddCommand(
      app, "grant",
      "Sets aside, of a budget, what a run may cost in all. It takes the place of what the run was "
      "granted before: a smaller plan gives the rest back.",
      "  dpledger budget grant mnist-2026 --server 127.0.0.1:7070 --for run-17 "
      "--noise-multiplier 1 --sampling-probability .01 --steps 10000\n"
      "  dpledger budget grant mnist-2026 --server 127.0.0.1:7070 --for run-18 --nothing");
  auto flags = std::make_shared<GrantFlags>();
  flags->AddTo(*command);
  flags->plan.AddTo(*command);
  command->add_flag("--nothing", flags->plan.nothing,
                    "give back all of it, of a run that has spent nothing");
  flags::Option* const more =
      command->add_flag("--more", flags->more, "the plan is beside what is granted already");
  command
      ->add_flag("--what-is-spent", flags->what_is_spent,
                 "give back what a run has not spent that is sealed, or whose writers have all "
                 "closed; no plan")
      ->excludes(more);
  AddLedgerName(*command, "--for", flags->ledger, "the ledger that declares the budget")
      ->required();
  AddText(*command, "--reason", flags->reason, 1024, "your own words, kept in both ledgers");
  AddRequestId(*command, flags->request_id);
  command->callback([flags, &chosen] {
    flags->plan.Check();
    if (flags->plan.IsGiven() && flags->what_is_spent) {
      throw flags::ValidationError("--what-is-spent", "must not be given beside a plan");
    }
    if (!flags->plan.IsGiven() && !flags->what_is_spent) {
      throw flags::RequiredError(
          "a plan: --noise-multiplier, --events, --nothing or --what-is-spent");
    }
    chosen = [flags](Output& out) { return Grant(*flags, out); };
  });
}

}  // namespace

void AddBudgetCommands(flags::App& app, Command& chosen) {
  flags::App* budget =
      app.add_subcommand("budget", "Bounds what all runs over a data set may cost together.");
  budget->footer(
      "  dpledger budget create mnist-2026 --server 127.0.0.1:7070 --dataset mnist --unit example "
      "--adjacency add-or-remove-one --filter mixture:8:1e-6\n"
      "  dpledger budget show mnist-2026 --server 127.0.0.1:7070");
  budget->require_subcommand(0, 1);
  AddCreate(*budget, chosen);
  AddShow(*budget, chosen);
  AddFits(*budget, chosen);
  AddGrant(*budget, chosen);
  AddRetireCommand(*budget, chosen);
  AddBudgetVerifyCommand(*budget, chosen);
}

}  // namespace dpledger::cli
