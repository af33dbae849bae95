#include "cli/answer_output.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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

// What was sought, and its value, which is rounded so that it meets the target.
std::pair<std::string, std::string> SolutionOf(const v1::CalibrateResponse& answer) {
  switch (answer.solution_case()) {
    case v1::CalibrateResponse::kNoiseMultiplier:
      return {"noise multiplier", TextUp(answer.noise_multiplier())};
    case v1::CalibrateResponse::kSteps:
      return {"steps", absl::StrCat(answer.steps())};
    case v1::CalibrateResponse::kSamplingProbability:
      return {"sampling prob.", TextDown(answer.sampling_probability())};
    case v1::CalibrateResponse::kValue:
      return {"value", TextNear(answer.value())};
    case v1::CalibrateResponse::SOLUTION_NOT_SET:
      break;
  }
  return {"", ""};
}

std::pair<std::string, std::string> GivenOf(const v1::CalibrationGrid::Row& row) {
  if (row.has_steps()) return {"steps", absl::StrCat(row.steps())};
  return row.has_batch_size()
             ? std::pair("batch-size", TextNear(row.batch_size()))
             : std::pair("sampling-probability", TextNear(row.sampling_probability()));
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
  const auto [label, value] = SolutionOf(answer);
  std::string text = Row(label, value);
  text += Row("optimum in", IntervalText(answer.optimum()));
  text += BoundRow("epsilon", answer.epsilon()) + MissingText(answer.details());
  for (const v1::CalibrationByMethod& by : answer.by_method()) {
    const std::string method = "by " + by.method();
    text += by.error().empty()
                ? Row(method, TextNear(by.value()), "   optimum in ", IntervalText(by.optimum()),
                      ", epsilon in ", IntervalText(by.epsilon()))
                : Row(method, by.error());
  }
  return text + Row("delta", TextNear(answer.delta())) + DetailsText(answer.details());
}

std::string ToText(const v1::CalibrationGrid& grid) {
  std::string sought, noise, text;
  v1::AnswerDetails details;  // of the first row that is answered, but for the method
  std::set<std::string> methods;
  for (const v1::CalibrationGrid::Row& row : grid.rows()) {
    absl::StrAppendFormat(&text, "%-20s ", GivenOf(row).second);
    if (!row.error().empty()) {
      absl::StrAppend(&text, row.error(), "\n");
      continue;
    }
    if (methods.empty()) details = row.answer().details();
    methods.insert(row.answer().details().method());
    const auto [label, value] = SolutionOf(row.answer());
    sought = label;
    absl::StrAppendFormat(&text, "%-20s %-14s", value, TextUp(row.answer().epsilon().upper()));
    if (row.noise_per_example() > 0) {
      noise = "        noise per example";
      absl::StrAppend(&text, " ", TextNear(row.noise_per_example()));
    }
    text += "\n";
  }
  details.set_method(absl::StrJoin(methods, ", "));
  const std::string parameter = grid.rows_size() == 0 ? "" : GivenOf(grid.rows(0)).first;
  return absl::StrFormat("%-20s %-20s epsilon%s\n%s%s", parameter, sought, noise, text,
                         methods.empty() ? "" : DetailsText(details));
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
