#include "cli/answer_output.h"

#include "absl/strings/str_cat.h"
#include "cli/answer_parts.h"
#include "cli/number_text.h"

namespace dpledger::cli {
namespace {

std::string TrialsText(const v1::Trials& trials) {
  switch (trials.kind_case()) {
    case v1::Trials::kNegativeBinomial:
      return absl::StrCat("negative-binomial, eta ", trials.negative_binomial().eta(), ", mean ",
                          trials.negative_binomial().mean());
    case v1::Trials::kPoisson:
      return absl::StrCat("poisson, mean ", trials.poisson().mean());
    case v1::Trials::kFixed:
      return absl::StrCat("fixed, ", trials.fixed().count());
    case v1::Trials::kBinomial:
      return absl::StrCat("binomial, at most ", trials.binomial().trials(), ", probability ",
                          trials.binomial().probability());
    case v1::Trials::kLeastCost:
    case v1::Trials::KIND_NOT_SET:
      break;
  }
  return "not stated";
}

}  // namespace

std::string ToText(const v1::ComputeEpsilonResponse& answer) {
  const v1::AnswerDetails& details = answer.details();
  std::string text = BoundRow("epsilon", answer.epsilon(), details) + MissingText(details);
  if (answer.has_planned_epsilon()) text += BoundRow("epsilon of plan", answer.planned_epsilon());
  return text + Row("delta", TextNear(answer.delta())) + DetailsText(details);
}

std::string ToText(const v1::ComputeDeltaResponse& answer) {
  const v1::AnswerDetails& details = answer.details();
  std::string text = BoundRow("delta", answer.delta(), details) + MissingText(details);
  if (answer.has_planned_delta()) text += BoundRow("delta of plan", answer.planned_delta());
  return text + Row("epsilon", TextNear(answer.epsilon())) + DetailsText(details);
}

std::string ToText(const v1::CalibrateResponse& answer) {
  std::string text;
  switch (answer.solution_case()) {
    case v1::CalibrateResponse::kNoiseMultiplier:
      text = Row("noise multiplier", TextUp(answer.noise_multiplier()));
      break;
    case v1::CalibrateResponse::kSteps:
      text = Row("steps", answer.steps());
      break;
    case v1::CalibrateResponse::kSamplingProbability:
      text = Row("sampling prob.", TextDown(answer.sampling_probability()));
      break;
    case v1::CalibrateResponse::kValue:
      text = Row("value", TextNear(answer.value()));
      break;
    case v1::CalibrateResponse::SOLUTION_NOT_SET:
      break;
  }
  text += Row("optimum in", IntervalText(answer.optimum()));
  text += BoundRow("epsilon", answer.epsilon()) + MissingText(answer.details());
  for (const v1::CalibrationByMethod& by : answer.by_method()) {
    const std::string label = "by " + by.method();
    text += by.error().empty()
                ? Row(label, TextNear(by.value()), "   optimum in ", IntervalText(by.optimum()),
                      ", epsilon in ", IntervalText(by.epsilon()))
                : Row(label, by.error());
  }
  return text + Row("delta", TextNear(answer.delta())) + DetailsText(answer.details());
}

std::string ToText(const v1::ComputeTuningCostResponse& answer) {
  std::string text = BoundRow("epsilon", answer.epsilon()) + MissingText(answer.details());
  if (answer.has_planned_epsilon()) text += BoundRow("epsilon of plan", answer.planned_epsilon());
  text += BoundRow("epsilon of one run", answer.single_run_epsilon());
  text += Row("delta", TextNear(answer.delta()));
  text += Row("trials", TrialsText(answer.trials()));
  text += Row("at most one run", "with probability ", TextNear(answer.at_most_one_probability()));
  if (answer.gamma() > 0) text += Row("gamma", TextNear(answer.gamma()));
  text += Row("analysis", answer.analysis());
  for (const v1::TuningAnalysis& analysis : answer.analyses()) {
    if (answer.analyses_size() == 1) break;
    text += BoundRow("  by " + analysis.name(), analysis.epsilon());
  }
  return text + DetailsText(answer.details());
}

}  // namespace dpledger::cli
