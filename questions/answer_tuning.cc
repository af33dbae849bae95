#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/selection/tuning_cost.h"
#include "base/status.h"
#include "questions/answers.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

absl::StatusOr<accountant::Trials> TrialsFromProto(const v1::Trials& trials) {
  switch (trials.kind_case()) {
    case v1::Trials::kNegativeBinomial:
      return accountant::NegativeBinomialTrials{trials.negative_binomial().eta(),
                                                trials.negative_binomial().mean()};
    case v1::Trials::kPoisson:
      return accountant::PoissonTrials{trials.poisson().mean()};
    case v1::Trials::kFixed:
      return accountant::FixedTrials{trials.fixed().count()};
    case v1::Trials::kBinomial:
      return accountant::BinomialTrials{trials.binomial().trials(),
                                        trials.binomial().probability()};
    case v1::Trials::kLeastCost: {
      accountant::LeastCostTrials least{trials.least_cost().mean()};
      if (trials.least_cost().at_most_one_probability() != 0) {
        least.at_most_one_probability = trials.least_cost().at_most_one_probability();
      }
      return least;
    }
    case v1::Trials::KIND_NOT_SET:
      break;
  }
  return FieldError("trials",
                    "one of negative_binomial, poisson, fixed, binomial, least_cost must be set");
}

v1::Trials ToProto(const accountant::Trials& trials) {
  v1::Trials proto;
  if (const auto* nb = std::get_if<accountant::NegativeBinomialTrials>(&trials)) {
    proto.mutable_negative_binomial()->set_eta(nb->eta);
    proto.mutable_negative_binomial()->set_mean(nb->mean);
  } else if (const auto* poisson = std::get_if<accountant::PoissonTrials>(&trials)) {
    proto.mutable_poisson()->set_mean(poisson->mean);
  } else if (const auto* fixed = std::get_if<accountant::FixedTrials>(&trials)) {
    proto.mutable_fixed()->set_count(fixed->count);
  } else if (const auto* binomial = std::get_if<accountant::BinomialTrials>(&trials)) {
    proto.mutable_binomial()->set_trials(binomial->trials);
    proto.mutable_binomial()->set_probability(binomial->probability);
  }
  return proto;
}

}  // namespace

absl::StatusOr<v1::ComputeTuningCostResponse> Answer(const Subject& subject,
                                                     const v1::ComputeTuningCostRequest& request,
                                                     const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const accountant::Trials trials, TrialsFromProto(request.trials()));
  RETURN_IF_ERROR(CheckNotPlanned(request.options()));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, request.options(), limits));
  ASSIGN_OR_RETURN(const accountant::TuningCost cost,
                   accountant::ComputeTuningCost(question.composition, request.delta(), trials,
                                                 question.options));
  v1::ComputeTuningCostResponse response;
  *response.mutable_epsilon() = ToProto(cost.epsilon.value);
  *response.mutable_single_run_epsilon() = ToProto(cost.single_run.value);
  response.set_delta(request.delta());
  if (cost.gamma.has_value()) response.set_gamma(*cost.gamma);
  response.set_analysis(cost.analysis);
  for (const accountant::TuningAnalysis& analysis : cost.analyses) {
    v1::TuningAnalysis& proto = *response.add_analyses();
    proto.set_name(analysis.name);
    *proto.mutable_epsilon() = ToProto(analysis.epsilon);
  }
  *response.mutable_trials() = ToProto(cost.trials);
  response.set_at_most_one_probability(cost.at_most_one_probability);
  Describe(cost.epsilon, question.details);
  question.details.add_assumptions(
      cost.analysis == "composition"
          ? "tuning: runs use fresh randomness; this number holds even if every run is released"
          : "tuning: all runs have one law: the same settings, or settings that each run draws "
            "from "
            "one distribution fixed in advance (a list tried one after the other is not covered); "
            "they use fresh randomness, their number is drawn as stated and kept secret, and only "
            "the best run's result is released");
  // A search stops runs for what they showed: each costs its plan.
  if (const auto plan = PlanOf(subject, question.composition, question.details); plan.has_value()) {
    ASSIGN_OR_RETURN(
        const accountant::TuningCost planned,
        accountant::ComputeTuningCost(*plan, request.delta(), cost.trials, question.options));
    *response.mutable_planned_epsilon() = ToProto(planned.epsilon.value);
  }
  SayGuarantee(cost.epsilon.value.upper(), request.delta(), subject.history, question.details,
               cost.analysis == "composition" ? Asked::kSearch : Asked::kBestOfSearch);
  *response.mutable_details() = std::move(question.details);
  return response;
}

}  // namespace dpledger::questions
