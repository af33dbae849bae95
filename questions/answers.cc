#include "questions/answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "accountant/filter/odometer.h"
#include "accountant/rdp/rdp.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "questions/declaration_values.h"
#include "questions/guarantee.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

absl::StatusOr<accountant::Method> MethodFromProto(v1::Method method) {
  switch (method) {
    case v1::METHOD_UNSPECIFIED:
    case v1::BEST:
      return accountant::Method::kBest;
    case v1::RDP:
      return accountant::Method::kRdp;
    case v1::PLD:
      return accountant::Method::kPld;
    case v1::CONTOUR:
      return accountant::Method::kContour;
    case v1::GAUSSIAN_CLOSED_FORM:
      return accountant::Method::kGaussian;
    default:
      return FieldError("options.method",
                        absl::StrCat("unknown method ", static_cast<int>(method)));
  }
}

absl::StatusOr<accountant::Options> OptionsFromProto(const v1::AccountingOptions& options,
                                                     const accountant::Limits& limits) {
  accountant::Options result;
  ASSIGN_OR_RETURN(result.method, MethodFromProto(options.method()));
  if (options.relative_gap() != 0) result.relative_gap = options.relative_gap();
  result.limits = limits;
  return result;
}

// The adjacency asked for, else the declared one, else add-or-remove-one with a warning.
absl::StatusOr<accountant::Adjacency> ChooseAdjacency(v1::Adjacency asked, v1::Adjacency declared,
                                                      v1::AnswerDetails& details) {
  v1::Adjacency chosen = asked != v1::ADJACENCY_UNSPECIFIED ? asked : declared;
  if (chosen == v1::ADJACENCY_UNSPECIFIED) {
    chosen = v1::ADD_OR_REMOVE_ONE;
    details.add_warnings("no adjacency was declared or asked for: ADD_OR_REMOVE_ONE is assumed");
  }
  const absl::StatusOr<accountant::Adjacency> adjacency = AdjacencyFromProto(chosen);
  if (!adjacency.ok()) return PrefixField("options", adjacency.status());
  details.set_adjacency(chosen);
  return *adjacency;
}

absl::Status CheckParameters(const v1::AccountingOptions& options, v1::Parameters declared,
                             v1::AnswerDetails& details) {
  const v1::Parameters asked = options.parameters();
  if (!v1::Parameters_IsValid(asked)) {
    return FieldError("options.parameters",
                      absl::StrCat("unknown value ", static_cast<int>(asked)));
  }
  if (declared != v1::PARAMETERS_UNSPECIFIED && asked != v1::PARAMETERS_UNSPECIFIED &&
      asked != declared) {
    return FieldError(
        "options.parameters",
        absl::StrCat("is for events alone; the ledger declares ", v1::Parameters_Name(declared)));
  }
  v1::Parameters parameters = declared != v1::PARAMETERS_UNSPECIFIED ? declared : asked;
  if (parameters == v1::PARAMETERS_UNSPECIFIED) {
    parameters = v1::FIXED;
    details.add_warnings(
        "nothing says whether parameters were fixed in advance: FIXED is assumed; if anything was "
        "chosen after looking "
        "at outputs, this number does not hold");
  }
  details.set_parameters(parameters);
  details.set_regime(v1::FIXED_PLAN);
  if (parameters == v1::ADAPTIVE && options.as_planned()) {
    details.set_regime(v1::AS_PLANNED);
    details.add_assumptions(
        "AS_PLANNED: as if schemes, noise multipliers and the number of rounds had been decided "
        "without looking at outputs, which nothing says of them");
    return absl::OkStatus();
  }
  if (parameters == v1::ADAPTIVE) {
    return WithReason(
        absl::FailedPreconditionError(
            "parameters ADAPTIVE: refused, composing what was spent is no guarantee when "
            "parameters were chosen after looking at outputs; of ADAPTIVE ledgers epsilon and "
            "delta are answered, if each declared a filter before its first event"),
        {"ADAPTIVE_NOT_ANALYSED", {{"field", "declaration.filter"}}});
  }
  details.add_assumptions(
      "FIXED: schemes, noise multipliers and the number of rounds were decided without looking at "
      "outputs");
  return absl::OkStatus();
}

// Of ledgers that nothing bounds together, ε and δ alone have an answer.
absl::Status CheckBoundTogether(const Subject& subject) {
  const absl::Status& why = subject.no_common_bound;
  if (why.ok()) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          why.message(),
          "; of these ledgers together epsilon and delta alone have an answer, an odometer's: ask "
          "about each ledger by itself")),
      ReasonOf(why));
}

// Rényi divergence of one run, of an order that is usual at the end.
double CostOf(const accountant::Composition& one) {
  const accountant::rdp::ApproximateCurve curve = accountant::rdp::CurveOf(one);
  return curve.failure > 0 ? std::numeric_limits<double>::infinity() : curve.curve(8);
}

// `rounds` more of the kind that costs most. Precondition: every kind of round is one step or pair.
void AddToCostliest(uint64_t rounds, accountant::Composition& plan) {
  double most = -1;
  uint64_t* count = nullptr;
  const auto consider = [&](auto& list, auto member) {
    for (auto& kind : list) {
      accountant::Composition one;
      (one.*member).push_back(kind);
      (one.*member).front().count = 1;
      const double cost = CostOf(one);
      if (cost <= most) continue;
      most = cost;
      count = &kind.count;
    }
  };
  consider(plan.steps, &accountant::Composition::steps);
  consider(plan.pairs, &accountant::Composition::pairs);
  *count += rounds;
}

v1::DeclarationSource SourceOf(const Subject& subject, const v1::AccountingOptions& options) {
  if (!subject.ledgers.empty()) return v1::DECLARED;
  const bool stated = options.adjacency() != v1::ADJACENCY_UNSPECIFIED &&
                      options.parameters() != v1::PARAMETERS_UNSPECIFIED;
  return stated ? v1::STATED : v1::ASSUMED;
}

}  // namespace

v1::Interval ToProto(const accountant::Interval& interval) {
  v1::Interval proto;
  proto.set_lower(interval.lower());
  proto.set_upper(interval.upper());
  return proto;
}

absl::StatusOr<ResolvedQuestion> Begin(const Subject& subject, const v1::AccountingOptions& options,
                                       const accountant::Limits& limits) {
  ResolvedQuestion question;
  v1::AnswerDetails& details = question.details;
  details.set_version(Version());
  details.set_entries(subject.entries);
  details.set_group_size(std::max<uint64_t>(options.group_size(), 1));
  details.set_declaration_source(SourceOf(subject, options));
  for (const v1::LedgerReference& ledger : subject.ledgers) *details.add_ledgers() = ledger;
  for (const std::string& warning : subject.warnings) details.add_warnings(warning);
  for (const std::string& assumption : subject.assumptions) details.add_assumptions(assumption);
  ASSIGN_OR_RETURN(question.options, OptionsFromProto(options, limits));
  return question;
}

void DescribeComposition(const accountant::Composition& composition, v1::AnswerDetails& details) {
  for (const std::string& warning : composition.warnings) details.add_warnings(warning);
  for (const std::string& scheme : composition.schemes) details.add_schemes(scheme);
  for (const std::string& assumption : composition.assumptions) details.add_assumptions(assumption);
}

absl::Status ResolveInto(const Subject& subject, const v1::AccountingOptions& options,
                         ResolvedQuestion& question) {
  v1::AnswerDetails& details = question.details;
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency,
                   ChooseAdjacency(options.adjacency(), subject.adjacency, details));
  accountant::Neighbours& neighbours = question.neighbours = adjacency;
  if (subject.adjacency != v1::ADJACENCY_UNSPECIFIED) {
    ASSIGN_OR_RETURN(neighbours.declared, AdjacencyFromProto(subject.adjacency));
  }
  if (options.group_size() > accountant::kGreatestGroup) {
    return FieldError("options.group_size",
                      absl::StrCat("must be at most ", accountant::kGreatestGroup, ", got ",
                                   options.group_size()));
  }
  if (options.group_size() > 1) neighbours.group_size = options.group_size();
  ASSIGN_OR_RETURN(question.composition, accountant::Resolve(subject.history, neighbours));
  if (neighbours.group_size > 1) {
    details.add_assumptions(
        absl::StrCat("neighbours differ in up to ", neighbours.group_size, " records"));
  }
  DescribeComposition(question.composition, details);
  return absl::OkStatus();
}

absl::StatusOr<ResolvedQuestion> Ask(const Subject& subject, const v1::AccountingOptions& options,
                                     const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(ResolvedQuestion question, Begin(subject, options, limits));
  if (!options.as_planned()) RETURN_IF_ERROR(CheckBoundTogether(subject));
  RETURN_IF_ERROR(CheckParameters(options, subject.parameters, question.details));
  RETURN_IF_ERROR(ResolveInto(subject, options, question));
  return question;
}

void Describe(const accountant::Answer& answer, v1::AnswerDetails& details) {
  details.set_method(accountant::MethodName(answer.method));
  for (const std::string& warning : answer.warnings) details.add_warnings(warning);
}

std::string MoreThanPlanned(std::string_view who, uint64_t rounds, uint64_t planned) {
  return absl::StrCat(ToAbsl(who), " has ", rounds, " rounds, more than the ", planned,
                      " planned: if the plan was extended after looking at outputs, this number "
                      "does not hold");
}

std::optional<accountant::Composition> PlanOf(const Subject& subject,
                                              const accountant::Composition& spent,
                                              v1::AnswerDetails& details) {
  const uint64_t done = subject.history.RoundCount();
  if (subject.planned_rounds > 0 && done > subject.planned_rounds) {
    details.add_warnings(MoreThanPlanned("the ledger", done, subject.planned_rounds));
  }
  if (subject.planned_rounds <= done) return std::nullopt;
  details.add_warnings(
      absl::StrCat("the ledger has ", done, " of ", subject.planned_rounds,
                   " planned rounds: the number for what was spent covers the part so far of a run "
                   "that goes on as planned; a run "
                   "stopped early for what it showed is covered by the plan's number only"));
  if (spent.schemes.count("disjoint_batches") > 0 || !spent.allocations.empty() ||
      !spent.curves.empty()) {
    details.add_warnings(
        "the plan's cost is not answered for these mechanisms: a run stopped early for what it "
        "showed has no number here");
    return std::nullopt;
  }
  if (spent.steps.empty() && spent.pairs.empty()) return std::nullopt;
  accountant::Composition plan = spent;
  AddToCostliest(subject.planned_rounds - done, plan);
  details.add_assumptions(
      "plan: the rounds to come are of the costliest kind recorded so far (by its Rényi divergence "
      "of order 8)");
  return plan;
}

void SayGuarantee(double bound, double delta, const accountant::History& history,
                  v1::AnswerDetails& details, Asked asked) {
  details.set_population(history.GreatestPopulation());
  const std::string warning = DeltaWarning(delta, details.population());
  if (!warning.empty()) details.add_warnings(warning);
  details.set_guarantee(GuaranteeOf(details, bound, asked));
}

absl::Status CheckNotPlanned(const v1::AccountingOptions& options) {
  if (!options.as_planned()) return absl::OkStatus();
  return FieldError("options.as_planned",
                    "is for epsilon and delta alone: its number is no guarantee to build on");
}

std::string Version() { return DPLEDGER_VERSION; }

namespace {

// What was spent, and what the plan would cost.
struct SpentAndPlanned {
  accountant::Interval spent;
  std::optional<accountant::Interval> planned;
  v1::AnswerDetails details;
};

// How ε at a δ and δ at an ε are found: `of_held` asks the filter of a run that holds to a budget,
// `of_odometer` what ledgers without a common bound did together, `of_composition` the composition
// of any other.
struct Ways {
  absl::StatusOr<accountant::Answer> (*of_held)(const accountant::filter::Filter&, double,
                                                const accountant::Limits&);
  absl::StatusOr<accountant::Answer> (*of_odometer)(const accountant::Composition&, double,
                                                    const accountant::Limits&);
  absl::StatusOr<accountant::Answer> (*of_composition)(const accountant::Composition&, double,
                                                       const accountant::Options&,
                                                       std::optional<accountant::Direction>);
};

// `at`: the δ, or the ε.
absl::StatusOr<SpentAndPlanned> Find(const Subject& subject, const v1::AccountingOptions& options,
                                     double at, const accountant::Limits& limits,
                                     const Ways& ways) {
  const bool as_planned = options.as_planned();
  if (as_planned && subject.has_budget) {
    return FieldError("options.as_planned",
                      "is of what runs did: of a budget ask about its runs, or its data set");
  }
  if (!subject.no_common_bound.ok() && !as_planned) {
    ASSIGN_OR_RETURN(ResolvedQuestion question, AskOdometer(subject, options, limits));
    ASSIGN_OR_RETURN(const accountant::Answer answer,
                     ways.of_odometer(question.composition, at, limits));
    Describe(answer, question.details);
    return SpentAndPlanned{answer.value, std::nullopt, std::move(question.details)};
  }
  if (!subject.held.empty() && !as_planned) {
    ASSIGN_OR_RETURN(HeldQuestion held, AskHeld(subject, options, limits));
    ASSIGN_OR_RETURN(const accountant::Answer answer, ways.of_held(held.filter, at, limits));
    Describe(answer, held.details);
    return SpentAndPlanned{answer.value, std::nullopt, std::move(held.details)};
  }
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, options, limits));
  const auto of = [&](const accountant::Composition& composition) {
    return ways.of_composition(composition, at, question.options, std::nullopt);
  };
  ASSIGN_OR_RETURN(const accountant::Answer answer, of(question.composition));
  Describe(answer, question.details);
  std::optional<accountant::Interval> planned;
  if (const auto plan = PlanOf(subject, question.composition, question.details); plan.has_value()) {
    ASSIGN_OR_RETURN(const accountant::Answer of_plan, of(*plan));
    planned = of_plan.value;
  }
  if (subject.under_budget.has_value()) {
    RETURN_IF_ERROR(
        DescribeUnderBudget(*subject.under_budget, subject.adjacency, limits, question.details));
  }
  return SpentAndPlanned{answer.value, planned, std::move(question.details)};
}

}  // namespace

absl::StatusOr<v1::ComputeEpsilonResponse> Answer(const Subject& subject,
                                                  const v1::ComputeEpsilonRequest& request,
                                                  const accountant::Limits& limits) {
  const double delta = request.delta();
  ASSIGN_OR_RETURN(SpentAndPlanned found,
                   Find(subject, request.options(), delta, limits,
                        {accountant::filter::EpsilonOf, accountant::filter::OdometerEpsilon,
                         accountant::ComputeEpsilon}));
  v1::ComputeEpsilonResponse response;
  *response.mutable_epsilon() = ToProto(found.spent);
  response.set_delta(delta);
  SayGuarantee(found.spent.upper(), delta, subject.history, found.details);
  if (found.planned.has_value()) *response.mutable_planned_epsilon() = ToProto(*found.planned);
  *response.mutable_details() = std::move(found.details);
  return response;
}

absl::StatusOr<v1::ComputeDeltaResponse> Answer(const Subject& subject,
                                                const v1::ComputeDeltaRequest& request,
                                                const accountant::Limits& limits) {
  const double epsilon = request.epsilon();
  ASSIGN_OR_RETURN(SpentAndPlanned found,
                   Find(subject, request.options(), epsilon, limits,
                        {accountant::filter::DeltaOf, accountant::filter::OdometerDelta,
                         accountant::ComputeDelta}));
  v1::ComputeDeltaResponse response;
  *response.mutable_delta() = ToProto(found.spent);
  response.set_epsilon(epsilon);
  const double most = found.spent.upper();
  SayGuarantee(epsilon, most, subject.history, found.details, Asked::kDelta);
  if (most >= 1) {
    found.details.set_guarantee(
        NoGuarantee(found.details, "no delta below 1 is known at this epsilon"));
  }
  if (found.planned.has_value()) *response.mutable_planned_delta() = ToProto(*found.planned);
  *response.mutable_details() = std::move(found.details);
  return response;
}

}  // namespace dpledger::questions
