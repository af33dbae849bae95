#include "accountant/rdp/best_of_runs.h"

#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A few roundings up of a sum of terms of this size.
double Up(double value, double magnitude) {
  return value + 8 * kUnitRoundoff * (std::fabs(value) + magnitude);
}

}  // namespace

// Theorem 2: R'(λ) = R(λ) + (1+η)(1 - 1/λ̂) R(λ̂) + (1+η) log(1/γ)/λ̂ + log E[K]/(λ - 1) for every λ >
// 1, λ̂ >= 1. The terms in λ̂ do not depend on λ and are made least once.
absl::StatusOr<Curve> BestOfRuns(const Curve& one_run, const NegativeBinomialTrials& trials,
                                 const Limits& limits) {
  const double l = LogInverseGamma(trials.eta, trials.mean);
  const auto constant = [&](double order) {
    const double value = (1 + trials.eta) * ((1 - 1 / order) * one_run(order) + l / order);
    return Up(value, (1 + trials.eta) * l);
  };
  ASSIGN_OR_RETURN(const double order, BestOrder(constant, limits));
  const double at_one = Up((1 + trials.eta) * l, l);  // λ̂ = 1, where R(λ̂) drops out
  const double least = std::fmin(constant(order), at_one);
  const double log_mean = LogUp(trials.mean);
  return Curve([one_run, least, log_mean](double lambda) {
    const double value = one_run(lambda) + least + log_mean / (lambda - 1);
    return Up(value, least + log_mean / (lambda - 1));
  });
}

// Theorem 6: R'(λ) = R(λ) + μ δ̂ + log μ/(λ - 1), where one run is (ε̂, δ̂)-DP with e^ε̂ <= 1 + 1/(λ -
// 1). For μ < 1 the last term is taken as 0.
absl::StatusOr<Curve> BestOfRuns(const Curve& one_run, const PoissonTrials& trials,
                                 const Limits& limits) {
  const double log_mean = std::fmax(0, LogUp(trials.mean));
  return Curve([one_run, mean = trials.mean, log_mean, limits](double lambda) {
    const double epsilon = NextDown(NextDown(std::log1p(NextDown(1 / (lambda - 1)))));
    const absl::StatusOr<Converted> delta = DeltaFromCurve(one_run, std::fmax(0, epsilon), limits);
    if (!delta.ok()) return kInfinity;  // out of time: the search itself reports it
    const double value = one_run(lambda) + mean * delta->value + log_mean / (lambda - 1);
    return Up(value, log_mean / (lambda - 1));
  });
}

}  // namespace dpledger::accountant::rdp
