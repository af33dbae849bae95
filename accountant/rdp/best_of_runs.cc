#include "accountant/rdp/best_of_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/conversion.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

// A few roundings up of a sum of terms of this size.
double Up(double value, double magnitude) {
  return value + 8 * kUnitRoundoff * (std::fabs(value) + magnitude);
}

// δ(ε) of one run for many ε. Any order is valid: those tried are on a lattice, so that the search
// for one ε finds most of what it asks for known from others.
class DeltasOfRun {
 public:
  explicit DeltasOfRun(const Curve& run) : run_(run) {}

  double operator()(double epsilon) {
    int best = kFirst;
    double least = kInfinity;
    const auto attempt = [&](int at) {
      const double log_delta = LogDelta(at, epsilon);
      if (log_delta < least) {
        least = log_delta;
        best = at;
      }
      return log_delta;
    };
    for (int at = kFirst; at <= kLast; at += kUnit) {
      // As of BestOrder.
      if (attempt(at) > least && at > best + 2 * kUnit) break;
    }
    for (int step = kUnit / 2; step > 0; step /= 2) {
      const int middle = best;
      attempt(std::max(kFirst, middle - step));
      attempt(middle + step);
    }
    return std::fmin(1, ExpUp(least));
  }

 private:
  // Orders are 1 + e^{i/kUnit}.
  static constexpr int kUnit = 32, kFirst = -7 * kUnit, kLast = 14 * kUnit;

  double LogDelta(int at, double epsilon) {
    const double order = 1 + std::exp(static_cast<double>(at) / kUnit);
    const auto [known, is_new] = divergences_.try_emplace(at, 0);
    if (is_new) known->second = run_(order);
    return LogDeltaAt(known->second, order, epsilon, 0);
  }

  const Curve run_;
  std::map<int, double> divergences_;
};

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
  const auto deltas = std::make_shared<DeltasOfRun>(one_run);
  return Curve([one_run, deltas, mean = trials.mean, log_mean, limits](double lambda) {
    if (!limits.Check().ok()) return kInfinity;  // out of time: the search itself reports it
    const double epsilon = NextDown(NextDown(std::log1p(NextDown(1 / (lambda - 1)))));
    const double delta = (*deltas)(std::fmax(0, epsilon));
    const double value = one_run(lambda) + mean * delta + log_mean / (lambda - 1);
    return Up(value, log_mean / (lambda - 1));
  });
}

}  // namespace dpledger::accountant::rdp
