#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/number_text.h"

namespace dpledger::cli {
namespace {

const v1::Interval& AskedOf(const v1::ProfilePoint& point, Asked asked) {
  return asked == Asked::kEpsilons ? point.epsilon() : point.delta();
}
const v1::Interval& ValueOf(const v1::ProfilePoint& point, Asked asked) {
  return asked == Asked::kEpsilons ? point.delta() : point.epsilon();
}
const char* AskedName(Asked asked) { return asked == Asked::kEpsilons ? "epsilon" : "delta"; }
const char* ValueName(Asked asked) { return asked == Asked::kEpsilons ? "delta" : "epsilon"; }

bool HasPlan(const v1::ComputeProfileResponse& answer) {
  return answer.points_size() > 0 && answer.points(0).has_planned();
}

std::string PointsText(const v1::ComputeProfileResponse& answer, Asked asked) {
  if (answer.points_size() == 0) return "";
  std::string text = Row(AskedName(asked), ValueName(asked), HasPlan(answer) ? ", of plan" : "");
  for (const v1::ProfilePoint& point : answer.points()) {
    const std::string at = TextNear(AskedOf(point, asked).upper());
    text += BoundRow(at, ValueOf(point, asked));
    if (point.has_planned()) text += BoundRow("  of plan", point.planned());
  }
  return text;
}

// An attacker's success is reported from above: its upper bound is one less the lower bound of β.
std::string TradeOffText(const v1::ComputeProfileResponse& answer) {
  if (answer.trade_off_size() == 0) return "";
  std::string text = Row("type I error", "least type II error (record out, in, either)");
  for (const v1::ErrorRates& rates : answer.trade_off()) {
    text += Row(TextNear(rates.type_one()), IntervalText(rates.remove()), "   ",
                IntervalText(rates.add()), "   ", IntervalText(rates.symmetric()));
  }
  return text;
}

std::string Numbers(const v1::Interval& interval) {
  return absl::StrCat(ExactText(interval.lower()), ",", ExactText(interval.upper()));
}

}  // namespace

std::string ToText(const v1::ComputeProfileResponse& answer, Asked asked) {
  std::string text = MissingText(answer.details()) + PointsText(answer, asked);
  text += BoundRow("advantage", answer.advantage());
  text += TradeOffText(answer);
  if (answer.bayes_success_size() > 0) text += Row("prior", "chance to tell rightly");
  for (const v1::BayesSuccess& point : answer.bayes_success()) {
    text += BoundRow(TextNear(point.prior()), point.success());
  }
  if (answer.has_gaussian_fit()) {
    const v1::GaussianFit& fit = answer.gaussian_fit();
    text += BoundRow("Gaussian mu", fit.mu());
    text += BoundRow("  regret", fit.regret());
    text += Row("  for delta in", "[", TextUp(fit.least_delta()), ", ",
                TextDown(fit.greatest_delta()), "]");
  }
  return text + DetailsText(answer.details());
}

std::string ToText(const v1::AuditClaimResponse& answer) {
  std::string text = Row("epsilon at least", TextDown(answer.epsilon_lower_bound()),
                         "   at confidence ", TextNear(answer.confidence()));
  text += Row("delta", TextNear(answer.delta()));
  if (answer.has_curve()) {
    text += Row("as a Gaussian's", "at least ", TextDown(answer.curve().gaussian_epsilon()),
                ", mu ", TextDown(answer.curve().gaussian_mu()),
                answer.curve().refuted() ? "   refutes the claim's own curve" : "");
  }
  if (answer.has_observed()) {
    text += Row("type I error", "at most ", TextUp(answer.observed().type_one()));
    text += Row("type II error", "at most ", TextUp(answer.observed().type_two()));
  }
  if (!answer.has_claimed_epsilon()) {  // its details say no more than this
    for (const std::string& assumption : answer.details().assumptions())
      text += Row("assumes", assumption);
    return text + Row("version", answer.details().version());
  }
  text += BoundRow("claimed epsilon", answer.claimed_epsilon()) + MissingText(answer.details());
  if (answer.has_claimed_type_two()) {
    text += Row("claimed type II", "at least ", TextDown(answer.claimed_type_two().lower()),
                "   true value in ", IntervalText(answer.claimed_type_two()));
  }
  text += Row("the claim", answer.refuted() ? "is refuted" : "stands");
  return text + DetailsText(answer.details());
}

std::string PointsCsv(const v1::ComputeProfileResponse& answer, Asked asked) {
  std::string csv =
      absl::StrFormat("%s,%s_lower,%s_upper", AskedName(asked), ValueName(asked), ValueName(asked));
  if (HasPlan(answer)) {
    absl::StrAppendFormat(&csv, ",planned_%s_lower,planned_%s_upper", ValueName(asked),
                          ValueName(asked));
  }
  csv += "\n";
  for (const v1::ProfilePoint& point : answer.points()) {
    absl::StrAppend(&csv, ExactText(AskedOf(point, asked).upper()), ",",
                    Numbers(ValueOf(point, asked)));
    if (point.has_planned()) absl::StrAppend(&csv, ",", Numbers(point.planned()));
    csv += "\n";
  }
  return csv;
}

std::string TradeOffCsv(const v1::ComputeProfileResponse& answer) {
  std::string csv =
      "type_one,remove_lower,remove_upper,add_lower,add_upper,symmetric_lower,symmetric_upper\n";
  for (const v1::ErrorRates& rates : answer.trade_off()) {
    absl::StrAppend(&csv, ExactText(rates.type_one()), ",", Numbers(rates.remove()), ",",
                    Numbers(rates.add()), ",", Numbers(rates.symmetric()), "\n");
  }
  return csv;
}

}  // namespace dpledger::cli
