#include "accountant/selection/selection.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace selection {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log((e^x - 1)/x) for x >= 0, error 4u(1 + x).
double LogExpM1OverX(double x) {
  if (x == 0) return 0;
  return x < 1 ? std::log(std::expm1(x) / x) : x + std::log1p(-std::exp(-x)) - std::log(x);
}

// log E[K] of D_{η,γ} with L = log(1/γ), E[K] = η(1-γ)/(γ(1-γ^η)) and its limit at η = 0:
// (e^L - 1)/L · x/(1 - e^{-x}) with x = ηL, and x/(1 - e^{-x}) = e^x · x/(e^x - 1) = -x/(e^{-x} -
// 1).
double LogMean(double eta, double l) {
  const double x = eta * l;
  return LogExpM1OverX(l) + (x > 0 ? x : 0) - LogExpM1OverX(std::fabs(x));
}

// A few roundings up of a sum of terms of this size.
double Up(double value, double magnitude) {
  return value + 8 * kUnitRoundoff * (std::fabs(value) + magnitude);
}

}  // namespace

double LogInverseGamma(double eta, double mean) {
  const double log_mean = std::log(mean);
  const auto too_small = [&](double l) {
    return log_mean + 32 * kUnitRoundoff * (1 + l) - LogMean(eta, l);
  };
  double hi = 1;
  // LogMean grows at least as (1 + η)L - log L; no η of doubles above -1 needs more than this.
  while (too_small(hi) > 0 && hi < 1e300) hi *= 1.5;
  return BracketDecreasing(too_small, 1e-12, hi, 4e-16).second;
}

// Theorem 2: R'(λ) = R(λ) + (1+η)(1 - 1/λ̂) R(λ̂) + (1+η) log(1/γ)/λ̂ + log E[K]/(λ - 1) for every λ >
// 1, λ̂ >= 1. The terms in λ̂ do not depend on λ and are made least once.
absl::StatusOr<rdp::Curve> SelectionCurve(const rdp::Curve& one_run,
                                          const NegativeBinomialTrials& trials,
                                          const Limits& limits) {
  const double l = LogInverseGamma(trials.eta, trials.mean);
  const auto constant = [&](double order) {
    const double value = (1 + trials.eta) * ((1 - 1 / order) * one_run(order) + l / order);
    return Up(value, (1 + trials.eta) * l);
  };
  ASSIGN_OR_RETURN(const double order, rdp::BestOrder(constant, limits));
  const double at_one = Up((1 + trials.eta) * l, l);  // λ̂ = 1, where R(λ̂) drops out
  const double least = std::fmin(constant(order), at_one);
  const double log_mean = LogUp(trials.mean);
  return rdp::Curve([one_run, least, log_mean](double lambda) {
    const double value = one_run(lambda) + least + log_mean / (lambda - 1);
    return Up(value, least + log_mean / (lambda - 1));
  });
}

// Theorem 6: R'(λ) = R(λ) + μ δ̂ + log μ/(λ - 1), where one run is (ε̂, δ̂)-DP with e^ε̂ <= 1 + 1/(λ -
// 1). For μ < 1 the last term is taken as 0.
absl::StatusOr<rdp::Curve> SelectionCurve(const rdp::Curve& one_run, const PoissonTrials& trials,
                                          const Limits& limits) {
  const double log_mean = std::fmax(0, LogUp(trials.mean));
  return rdp::Curve([one_run, mean = trials.mean, log_mean, limits](double lambda) {
    const double epsilon = NextDown(NextDown(std::log1p(NextDown(1 / (lambda - 1)))));
    const absl::StatusOr<rdp::Converted> delta =
        rdp::DeltaFromCurve(one_run, std::fmax(0, epsilon), limits);
    if (!delta.ok()) return kInfinity;  // out of time: the search itself reports it
    const double value = one_run(lambda) + mean * delta->value + log_mean / (lambda - 1);
    return Up(value, log_mean / (lambda - 1));
  });
}

}  // namespace selection

namespace {

absl::Status CheckTrials(const Trials& trials) {
  if (const auto* nb = std::get_if<NegativeBinomialTrials>(&trials)) {
    if (!(nb->eta > -1 && std::isfinite(nb->eta))) {
      return FieldError("trials.negative_binomial.eta",
                        absl::StrCat("must be finite and > -1, got ", nb->eta));
    }
    if (!(nb->mean > 1 && nb->mean <= 1e15)) {
      return FieldError("trials.negative_binomial.mean",
                        absl::StrCat("must be in (1, 1e15], got ", nb->mean));
    }
  } else if (const auto* poisson = std::get_if<PoissonTrials>(&trials)) {
    if (!(poisson->mean > 0 && poisson->mean <= 1e15)) {
      return FieldError("trials.poisson.mean",
                        absl::StrCat("must be in (0, 1e15], got ", poisson->mean));
    }
  } else if (std::get<FixedTrials>(trials).count < 1 ||
             std::get<FixedTrials>(trials).count > uint64_t{1} << 53) {
    return FieldError("trials.fixed.count", absl::StrCat("must be in [1, 2^53], got ",
                                                         std::get<FixedTrials>(trials).count));
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> CostOfFixed(const Composition& single_run, double delta, uint64_t runs,
                                   const Options& options) {
  Composition all = single_run;
  for (SampledGaussian& step : all.steps) {
    if (step.count > (uint64_t{1} << 53) / runs) {
      return WithReason(
          absl::FailedPreconditionError("the runs together have more than 2^53 equal rounds"),
          {"COUNT_TOO_LARGE", {}});
    }
    step.count *= runs;
  }
  return ComputeEpsilon(all, delta, options);
}

}  // namespace

absl::StatusOr<TuningCost> ComputeTuningCost(const Composition& single_run, double delta,
                                             const Trials& trials, const Options& options) {
  RETURN_IF_ERROR(CheckTrials(trials));
  TuningCost cost;
  ASSIGN_OR_RETURN(cost.single_run, ComputeEpsilon(single_run, delta, options));
  if (const auto* fixed = std::get_if<FixedTrials>(&trials)) {
    ASSIGN_OR_RETURN(cost.epsilon, CostOfFixed(single_run, delta, fixed->count, options));
    return cost;
  }
  if (options.method != Method::kBest && options.method != Method::kRdp) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("method ", MethodName(options.method),
                                                   ": private selection is analysed by rdp only")),
        {"METHOD_DOES_NOT_APPLY", {{"method", MethodName(options.method)}}});
  }
  const rdp::ApproximateCurve run = rdp::CurveOf(single_run, options.limits);
  const rdp::Curve one_run = rdp::GivenNoFailure(run);
  absl::StatusOr<rdp::Curve> curve;
  double mean;
  if (const auto* nb = std::get_if<NegativeBinomialTrials>(&trials)) {
    mean = nb->mean;
    cost.gamma = std::exp(-selection::LogInverseGamma(nb->eta, nb->mean));
    curve = selection::SelectionCurve(one_run, *nb, options.limits);
  } else {
    mean = std::get<PoissonTrials>(trials).mean;
    curve = selection::SelectionCurve(one_run, PoissonTrials{mean}, options.limits);
  }
  RETURN_IF_ERROR(curve.status());
  // None of the K runs fails with probability at least 1 - E[K] failure (rdp/CLAIM.md).
  const double failure = run.failure == 0 ? 0 : std::fmin(1, MulUp(mean, run.failure));
  ASSIGN_OR_RETURN(
      const rdp::Converted converted,
      rdp::EpsilonFromCurve({*std::move(curve), failure, run.orders}, delta, options.limits));
  cost.epsilon = {{0, converted.value}, Method::kRdp, {"rdp gives no lower bound"}};
  return cost;
}

}  // namespace dpledger::accountant
