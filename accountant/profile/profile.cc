#include "accountant/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "accountant/profile/many_deltas.h"
#include "accountant/profile/sampled_profile.h"
#include "base/status.h"

namespace dpledger::accountant::profile {
namespace {

// One answer a value.
template <typename Ask>
absl::StatusOr<Curve> CurveOver(const std::vector<double>& at, const Limits& limits, Ask ask) {
  Curve curve;
  for (const double x : at) {
    RETURN_IF_ERROR(limits.Check());
    ASSIGN_OR_RETURN(const Answer answer, ask(x));
    curve.values.push_back(answer.value);
    curve.origin.Add(answer);
  }
  return curve;
}

template <typename T>
void AddNew(const std::vector<T>& from, std::vector<T>& to) {
  for (const T& value : from) {
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
  }
}

}  // namespace

absl::Status CheckPoints(const std::string& field, const std::vector<double>& values,
                         bool (*inside)(double), const char* rule) {
  if (values.size() > kGreatestPoints) {
    return FieldError(
        field, absl::StrCat("must have at most ", kGreatestPoints, " values, got ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!inside(values[i])) {
      return FieldError(absl::StrCat(field, "[", i, "]"), absl::StrCat(rule, ", got ", values[i]));
    }
  }
  return absl::OkStatus();
}

void Origin::Add(const Answer& answer) { Add(Origin{{answer.method}, answer.warnings}); }

void Origin::Add(const Origin& other) {
  AddNew(other.methods, methods);
  AddNew(other.warnings, warnings);
}

absl::StatusOr<Curve> DeltasAt(const Composition& composition, const std::vector<double>& epsilons,
                               const Options& options) {
  RETURN_IF_ERROR(CheckPoints(
      "epsilons", epsilons, [](double x) { return x >= 0 && std::isfinite(x); },
      "must be finite and >= 0"));
  ManyDeltas deltas(composition, options);
  return CurveOver(epsilons, options.limits, [&](double epsilon) { return deltas.At(epsilon); });
}

absl::StatusOr<Curve> EpsilonsAt(const Composition& composition, const std::vector<double>& deltas,
                                 const Options& options) {
  RETURN_IF_ERROR(CheckPoints(
      "deltas", deltas, [](double x) { return x >= 0 && x < 1; }, "must be in [0, 1)"));
  return CurveOver(deltas, options.limits,
                   [&](double delta) { return ComputeEpsilon(composition, delta, options); });
}

absl::StatusOr<Answer> ComputeAdvantage(const Composition& composition, const Options& options) {
  return ComputeDelta(composition, 0, options);
}

absl::StatusOr<Curve> ComputeBayesSuccess(const Composition& composition,
                                          const std::vector<double>& priors,
                                          const Options& options) {
  RETURN_IF_ERROR(CheckPoints(
      "priors", priors, [](double x) { return x > 0 && x < 1; }, "must be in (0, 1)"));
  return CurveOver(priors, options.limits, [&](double prior) -> absl::StatusOr<Answer> {
    const double rest = 1 - prior;
    const double large = std::fmax(prior, rest), small = std::fmin(prior, rest);
    const double epsilon = std::log(large) - std::log(small);
    ASSIGN_OR_RETURN(Answer answer, ComputeDelta(composition, epsilon, options));
    // Success is large + small·δ(log(large/small)). The computed ε is within 6u(1 + ε) of that, and
    // small·δ then moves by no more: as a function of x = e^ε the profile falls by at most |x - x'|
    // between x and x', and small·x = large.
    const double rounding = 8 * kUnitRoundoff * (1 + epsilon);
    answer.value = {
        std::fmax(large, AddDown(large, MulDown(small, answer.value.lower())) - rounding),
        std::fmin(1, AddUp(large, MulUp(small, answer.value.upper())) + rounding)};
    return answer;
  });
}

}  // namespace dpledger::accountant::profile
