#include "accountant/mechanism/trials.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"
#include "base/value_rules.h"

namespace dpledger::accountant {
namespace {

// Beyond, γ is too near one for doubles.
constexpr double kGreatestEta = 1e6;

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

absl::Status CheckMean(const char* field, double mean, double above) {
  return rules::Must(mean > above && mean <= 1e15, absl::StrCat("be in (", above, ", 1e15]"), field,
                     mean);
}

absl::Status Check(const NegativeBinomialTrials& trials) {
  constexpr char kEta[] = "trials.negative_binomial.eta";
  RETURN_IF_ERROR(rules::GreaterThan(-1, kEta, trials.eta));
  RETURN_IF_ERROR(rules::Must(trials.eta <= kGreatestEta,
                              "be at most 1e6 (its limit is the Poisson distribution)", kEta,
                              trials.eta));
  return CheckMean("trials.negative_binomial.mean", trials.mean, 1);
}
absl::Status Check(const PoissonTrials& trials) {
  return CheckMean("trials.poisson.mean", trials.mean, 0);
}
absl::Status Check(const FixedTrials& trials) {
  return rules::Count("trials.fixed.count", trials.count);
}
absl::Status Check(const BinomialTrials& trials) {
  RETURN_IF_ERROR(rules::Count("trials.binomial.trials", trials.trials));
  return rules::SamplingProbability("trials.binomial.probability", trials.probability);
}
absl::Status Check(const LeastCostTrials& trials) {
  RETURN_IF_ERROR(CheckMean("trials.least_cost.mean", trials.mean, 1));
  return rules::SamplingProbability("trials.least_cost.at_most_one_probability",
                                    trials.at_most_one_probability);
}

struct LawOf {
  TrialLaw operator()(const NegativeBinomialTrials& trials) const {
    return TrialLaw::NegativeBinomial(trials.eta, trials.mean);
  }
  TrialLaw operator()(const PoissonTrials& trials) const { return TrialLaw::Poisson(trials.mean); }
  TrialLaw operator()(const FixedTrials& trials) const {
    return TrialLaw::Binomial(trials.count, 1);
  }
  TrialLaw operator()(const BinomialTrials& trials) const {
    return TrialLaw::Binomial(trials.trials, trials.probability);
  }
  TrialLaw operator()(const LeastCostTrials& trials) const {
    return TrialLaw::Poisson(trials.mean);
  }
};

struct AtMostOne {
  double operator()(const NegativeBinomialTrials& trials) const {
    const double l = LogInverseGamma(trials.eta, trials.mean), x = trials.eta * l;
    // η(1-γ)/(γ^{-η} - 1), and (1-γ)/log(1/γ) at η = 0.
    const double slope = std::fabs(x) < 1e-12 ? 1 / l : trials.eta / std::expm1(x);
    return slope * -std::expm1(-l);
  }
  double operator()(const PoissonTrials& trials) const {
    return (1 + trials.mean) * std::exp(-trials.mean);
  }
  double operator()(const FixedTrials& trials) const { return trials.count == 1 ? 1 : 0; }
  double operator()(const BinomialTrials& trials) const {
    const double n = static_cast<double>(trials.trials), p = trials.probability;
    if (trials.trials == 1) return 1;
    return std::exp((n - 1) * std::log1p(-p)) * (1 - p + n * p);
  }
  double operator()(const LeastCostTrials& trials) const { return trials.at_most_one_probability; }
};

}  // namespace

double AtMostOneProbability(const Trials& trials) { return std::visit(AtMostOne(), trials); }

absl::Status CheckTrials(const Trials& trials) {
  return std::visit([](const auto& kind) { return Check(kind); }, trials);
}

double LogInverseGamma(double eta, double mean) {
  const double log_mean = std::log(mean);
  const auto too_small = [&](double l) {
    return log_mean + 32 * kUnitRoundoff * (1 + l) - LogMean(eta, l);
  };
  double hi = 1;
  // LogMean grows at least as (1 + η)L - log L; no η of doubles above -1 needs more than this.
  while (too_small(hi) > 0 && hi < 1e300) hi *= 1.5;
  // From below: LogMean' <= 1 + max(0, η).
  const double lo = 0.5 * log_mean / (1 + std::fmax(0, eta));
  return BracketDecreasing(too_small, lo, hi, 4e-16).second;
}

TrialLaw TrialLaw::NegativeBinomial(double eta, double mean) {
  TrialLaw law;
  law.kind_ = Kind::kNegativeBinomial;
  law.log_mean_ = std::log(mean);
  law.eta_ = eta;
  law.log_inverse_gamma_ = LogInverseGamma(eta, mean);
  law.odds_ = std::expm1(law.log_inverse_gamma_);
  return law;
}

TrialLaw TrialLaw::Poisson(double mean) {
  TrialLaw law;
  law.kind_ = Kind::kPoisson;
  law.log_mean_ = std::log(mean);
  law.mean_ = mean;
  return law;
}

TrialLaw TrialLaw::Binomial(uint64_t n, double p) {
  TrialLaw law;
  law.kind_ = Kind::kBinomial;
  law.runs_ = static_cast<double>(n);
  law.probability_ = p;
  law.log_mean_ = std::log(law.runs_) + std::log(p);
  return law;
}

TrialLaw TrialLaw::Of(const Trials& trials) { return std::visit(LawOf(), trials); }

bool TrialLaw::InReach() const {
  return kind_ != Kind::kNegativeBinomial || log_inverse_gamma_ < 600;
}

double TrialLaw::NoneAt(const Share& at) const {
  const double hit = probability_ * at.x;
  return hit < 0.5 ? 1 - hit : probability_ * at.rest + (1 - probability_);
}

// f'(y) is E[K](γ/(1 - (1-γ)y))^{1+η}, μe^{μ(y-1)} and np(1 - p + py)^{n-1}.
TrialLaw::Bounded TrialLaw::LogWeight(const Share& at) const {
  const double u = kUnitRoundoff;
  switch (kind_) {
    case Kind::kNegativeBinomial: {
      const double drop = std::log1p(odds_ * at.x);
      const double value = log_mean_ - (1 + eta_) * drop;
      // L is within 128u(1 + L)/LogMean'(L) of the exact one, and LogMean' >= (1 + min(0, η))/2;
      // `drop` moves at most as much as L.
      const double of_gamma =
          (1 + std::fmax(0, eta_)) * 512 * u * (1 + log_inverse_gamma_) + (1 + eta_) * 4 * u;
      return {value, 8 * u * (std::fabs(log_mean_) + (1 + eta_) * drop) + of_gamma};
    }
    case Kind::kPoisson: {
      const double value = log_mean_ - mean_ * at.x;
      return {value, 8 * u * (std::fabs(log_mean_) + mean_ * at.x)};
    }
    case Kind::kBinomial: {
      if (runs_ == 1) return {log_mean_, 8 * u * std::fabs(log_mean_)};
      const bool near_zero = probability_ * at.x < 0.5;
      const double log_base = near_zero ? std::log1p(-probability_ * at.x)
                                        : std::log(probability_ * at.rest + (1 - probability_));
      if (log_base == -kInfinity) return {-kInfinity, 0};
      const double size = (runs_ - 1) * (std::fabs(log_base) + (near_zero ? 0 : 1));
      return {log_mean_ + (runs_ - 1) * log_base, 8 * u * (std::fabs(log_mean_) + size + 1)};
    }
  }
  return {kInfinity, kInfinity};
}

// ∫ g = g(from) times what the closed forms leave: (r/(1-γ)) (1 - (1 + (1-γ)w/r)^{-η})/η with
// r = γ + (1-γ)x, (1 - e^{-μw})/μ and (b/np) (1 - (1 - pw/b)^n) with b = 1 - px.
TrialLaw::Bounded TrialLaw::LogSelected(const Share& from, double width) const {
  double share = 0;  // of g(from)
  double size = 1;
  switch (kind_) {
    case Kind::kNegativeBinomial: {
      const double rest = 1 + odds_ * from.x, drop = std::log1p(odds_ * width / rest);
      share = rest / odds_ * (eta_ == 0 ? drop : -std::expm1(-eta_ * drop) / eta_);
      size += std::fabs(eta_) * drop;
      break;
    }
    case Kind::kPoisson:
      share = -std::expm1(-mean_ * width) / mean_;
      break;
    case Kind::kBinomial: {
      const double base = NoneAt(from), lost = std::fmin(1, probability_ * width / base);
      share = base / (runs_ * probability_) * -std::expm1(runs_ * std::log1p(-lost));
      break;
    }
  }
  // An error of γ moves all of g by at most what it moves g(from) by, as a share (LogWeight).
  const Bounded first = LogWeight(from);
  const double log_share = std::log(share);
  return {
      first.value + log_share,
      first.error + 32 * kUnitRoundoff * (size + std::fabs(first.value) + std::fabs(log_share))};
}

double TrialLaw::WeightUp(const Share& at) const {
  const Bounded log_weight = LogWeight(at);
  return ExpUp(AddUp(log_weight.value, log_weight.error));
}
double TrialLaw::WeightDown(const Share& at) const {
  const Bounded log_weight = LogWeight(at);
  return ExpDown(AddDown(log_weight.value, -log_weight.error));
}

double TrialLaw::Decay(const Share& at) const {
  switch (kind_) {
    case Kind::kNegativeBinomial:
      return (1 + eta_) * odds_ / (1 + odds_ * at.x);
    case Kind::kPoisson:
      return mean_;
    case Kind::kBinomial:
      return runs_ == 1 ? 0 : (runs_ - 1) * probability_ / NoneAt(at);
  }
  return kInfinity;
}

}  // namespace dpledger::accountant
