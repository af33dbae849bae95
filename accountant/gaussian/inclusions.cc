#include "accountant/gaussian/inclusions.h"

#include <algorithm>
#include <cmath>

#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/sampled_once.h"
#include "accountant/mechanism/greatest_loss.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::gaussian {
namespace {

constexpr double kUnit = kUnitRoundoff;
// Terms of a sum over the number of inclusions, at most; and the share of it at which it ends.
constexpr double kGreatestTerms = 1 << 13, kNegligible = -35;
// Far more than the rounding of any logarithm here that no row of CLAIM.md names.
constexpr double kSlack = 1e-11;

double LogSum(double a, double b) {
  const double most = std::fmax(a, b);
  return most == -kInfinity ? most : most + std::log1p(std::exp(std::fmin(a, b) - most));
}

// log P(Bin(count, q) = n) to `error`.
struct LogMass {
  double value, error;
};
LogMass LogBinomial(double q, double count, double n) {
  constexpr double kFew = 32;
  const double left = count - n, mean = count * q, fewer = std::fmin(n, left);
  if (fewer <= kFew) {
    double log_ways = 0;
    for (double k = 1; k <= fewer; ++k) log_ways += std::log((count - fewer + k) / k);
    const double hit = n == 0 ? 0 : n * std::log(q), missed = left == 0 ? 0 : left * std::log1p(-q);
    return {log_ways + hit + missed, 16 * kUnit * (kFew + log_ways - hit - missed)};
  }
  // n! = √(2πn) (n/e)^n e^{1/12n - 1/360n³ + r}, 0 < r < 1/1260n⁵ (Stirling's series, whose terms
  // enclose it).
  const auto series = [](double k) { return 1 / (12 * k) - 1 / (360 * k * k * k); };
  const double hits = n * std::log(n / mean);
  const double misses = left * std::log1p((mean - n) / (count * (1 - q)));
  const double root = 0.5 * std::log(count / (6.283185307179586 * n * left));
  return {root + series(count) - series(n) - series(left) - hits - misses,
          2 / (1260 * std::pow(fewer, 5)) +
              8 * kUnit * (n + mean + std::fabs(hits) + std::fabs(misses) + 40)};
}

// Bounds on log δ of the Gaussian mechanism at any ε.
double LogGaussianDown(double mu, double epsilon) {
  return LogDelta(mu, std::fmax(0, epsilon)).lower();
}
double LogGaussianUp(double mu, double epsilon) {
  return epsilon < 0 ? 0 : LogDelta(mu, epsilon).upper();
}

// Numbers of inclusions that are taken together: 64 blocks to a standard deviation, where that is
// many; else each alone.
double BlockSize(double q, double count) {
  const double mean = count * q;
  return mean < 1e7 ? 1 : 1 + std::floor(std::sqrt(mean * (1 - q)) / 64);
}
struct Block {
  double first, last;
  Block(double index, double size, double count)
      : first(index * size), last(std::fmin(count, first + (size - 1))) {}
};

// Bounds on log P(first <= N <= last): masses are log-concave, so that the least is at an end, and
// none is above the first by more than powers of the ratio there.
double LogBlockDown(double q, double count, const Block& block) {
  const LogMass first = LogBinomial(q, count, block.first);
  if (block.first == block.last) return first.value - first.error;
  const LogMass last = LogBinomial(q, count, block.last);
  return std::log(block.last - block.first + 1) +
         std::fmin(first.value - first.error, last.value - last.error);
}
double LogBlockUp(double q, double count, const Block& block) {
  const LogMass first = LogBinomial(q, count, block.first);
  if (block.first == block.last) return first.value + first.error;
  const double size = block.last - block.first;
  const double rise = std::log((count - block.first) / (block.first + 1) * (q / (1 - q)));
  return std::log(size + 1) + first.value + first.error + size * (std::fmax(0, rise) + 1e-15);
}

// The log of a sum over n of e^{term(n)}, which rises and then falls: from about the greatest term
// outwards to where terms are negligible. [first, last] are the terms that are in it.
struct Summed {
  double log, first, last;
};
template <typename Term>
Summed SumAround(double least, double most, const Term& term) {
  double low = least, high = most;
  while (high - low > 2) {
    const double a = std::floor(low + (high - low) * 0.382),
                 b = std::ceil(low + (high - low) * 0.618);
    (term(a) < term(b) ? low : high) = term(a) < term(b) ? a : b;
  }
  const double middle = std::floor((low + high) / 2);
  const double greatest = std::fmax(term(low), std::fmax(term(middle), term(high)));
  Summed sum{term(middle), middle, middle};
  const auto walk = [&](double& at, double end, double step) {
    for (int i = 0; i < kGreatestTerms && at != end; ++i) {
      at += step;
      const double one = term(at);
      sum.log = LogSum(sum.log, one);
      if (!(one > greatest + kNegligible)) break;
    }
  };
  walk(sum.first, least, -1);
  walk(sum.last, most, 1);
  return sum;
}

// Over blocks; where these are many, those of 64 deviations about the mean.
template <typename Term>
Summed SumBlocks(double q, double count, const Term& term) {
  const double size = BlockSize(q, count), most = std::floor(count / size);
  if (size == 1) return SumAround(0, most, term);
  const double mean = std::floor(count * q / size), away = 64 * 64;
  return SumAround(std::fmax(0, mean - away), std::fmin(most, mean + away), term);
}

}  // namespace

double Inclusions::LogDeltaDown(double epsilon) const {
  if (q == 1) return LogGaussianDown(mu * std::sqrt(count) * (1 - 4 * kUnit), epsilon);
  const double log_q = std::log(q), log_rest = std::log1p(-q);
  const auto above = [&](double n) {
    const double size = epsilon - (count - n) * log_rest - n * log_q;
    return size + 8 * kUnit * size;
  };
  const double block_size = BlockSize(q, count);
  const auto term = [&](double index) {
    const Block block(index, block_size, count);
    if (block.first == 0) return -kInfinity;
    return LogBlockDown(q, count, block) +
           LogGaussianDown(mu * std::sqrt(block.first) * (1 - 4 * kUnit),
                           std::fmax(above(block.first), above(block.last)));
  };
  return SumBlocks(q, count, term).log - kSlack;
}

double Inclusions::LogDeltaUp(double epsilon) const {
  if (q == 1 || !(epsilon > 0)) return 0;
  const double mean = count * q, odds = (1 - q) / q;
  // Losses of base loss v <= low are small ones, those of v > high are of inclusions.
  const double shown = 1 + mean + 2 * epsilon / (mu * mu);
  const double high = std::log(1e11 * odds * shown + 1);
  const double low = std::fmin(high, std::log(1e-7 * epsilon / mean));
  // Near -1, log1p takes its argument's rounding many times; 1 - q is exact there.
  const double dip = q * std::expm1(low), share = odds * std::exp(-high);
  const double small = dip > -0.5 ? std::log1p(dip) : std::log((1 - q) + q * std::exp(low));
  const double lost = NormalTail(mu / 2 - high / mu), seen = NormalTail(low / mu + mu / 2);
  const double between = 1.001 * count * (q * lost + (low < high ? seen : 0.0));
  const double missed = 1.001 * count * lost / odds;
  if (!(missed < 0.1)) return 0;
  const double log_shown =
      std::log(q) + 1.001 * share;  // log(q(1 + share)) and log q + log(1+share)
  const auto above = [&](double n) {
    const double size = epsilon + std::fabs((count - n) * small) + std::fabs(n * log_shown);
    return epsilon - (count - n) * small - n * log_shown - 8 * kUnit * size;
  };
  const double block_size = BlockSize(q, count);
  const auto term = [&](double index) {
    const Block block(index, block_size, count);
    const double n = block.last, least = std::fmin(above(block.first), above(n));
    return LogBlockUp(q, count, block) + 1.001 * n * share +
           (n == 0 ? (least > 0 ? -kInfinity : 0)
                   : LogGaussianUp(mu * std::sqrt(n) * (1 + 4 * kUnit), least));
  };
  const Summed sum = SumBlocks(q, count, term);
  double log_delta = LogSum(sum.log, std::log(between));
  // What is past the last term falls by at least this factor from one to the next; what is before
  // the first has at most its Gaussian part.
  if (const double n = (sum.last + 1) * block_size; n <= count) {
    const double fall = (count - n) / (n + 1) / odds * (1 + 2 * share) * (1 + 8 * kUnit);
    if (!(fall < 1 - 1e-10)) return 0;
    const LogMass mass = LogBinomial(q, count, n);
    log_delta = LogSum(log_delta, mass.value + mass.error + 2 * n * share - std::log1p(-fall));
  }
  if (sum.first > 0) {
    // The n-th term is at most its mass times Φ(-a), a = base/√n - rise·√n, and with n both
    // factors' ratios fall from one term to the one before.
    const double n = sum.first * block_size, base = (epsilon - count * small) / mu;
    const double rise = (log_shown - small) / mu + mu / 2;
    if (!(base > 0 && rise > 0)) return 0;
    const auto at = [&](double k) { return base / std::sqrt(k) - rise * std::sqrt(k); };
    const double away = at(n) - 1e-12 * (base + rise * n);
    // at(n - 1) - at(n), as a difference of roots keeps no digits of it.
    const double apart =
        n > 1 ? (base / std::sqrt(n * (n - 1)) + rise) / (std::sqrt(n) + std::sqrt(n - 1)) : 0;
    const double fall =
        std::log(n * odds / (count - n + 1)) - (away > 0 ? away * apart * (1 - 1e-6) : 0) + 1e-9;
    if (!(fall < -1e-10)) return 0;
    const LogMass mass = LogBinomial(q, count, n);
    log_delta = LogSum(log_delta, mass.value + mass.error + (away > 0 ? LogNormalTail(away) : 0) +
                                      2 * n * share + fall - std::log(-std::expm1(fall)));
  }
  return log_delta + missed + kSlack;
}

double Inclusions::EpsilonByThreshold(double delta) const {
  const double log_count = std::log(count);
  // log of what e^ε - 1 is at least, at a threshold.
  const auto log_excess = [&](double at) {
    const double log_absent = LogNormalTail(at), log_present = LogNormalTail(at - mu);
    double log_more = log_absent - log_present < -1e-3
                          ? log_present + std::log1p(-std::exp(log_absent - log_present)) - 1e-9
                          : -kInfinity;
    if (at >= mu / 2)
      log_more = std::fmax(log_more, std::log(mu) - at * at / 2 - kLogSqrtTwoPi - 1e-9);
    log_more += std::log(q) + log_count;
    // P - Q >= (1 - p0)^T (1 - e^{-T d}).
    const double none = std::exp(log_count + log_absent);
    const double log_apart =
        (log_more < -30 ? log_more : std::log(-std::expm1(-std::exp(log_more)))) -
        none / (1 - std::exp(log_absent)) - 1e-9;
    const double rest = -std::exp(std::log(delta) - log_apart + 1e-9);
    return rest > -1 ? log_apart + std::log1p(rest) - std::fmin(0, log_count + log_absent) - 1e-9
                     : -kInfinity;
  };
  double best = -kInfinity, best_at = 0;
  constexpr double kFarthest = 45;
  for (double step = 0.25, from = 0, to = kFarthest + mu; step > 1e-6; step /= 8) {
    for (double at = from; at <= to; at += std::fmax(step, (to - from) / 400)) {
      const double found = log_excess(at);
      if (found > best) best = found, best_at = at;
    }
    const double around = std::fmax(step, (to - from) / 400);
    from = best_at - around, to = best_at + around;
  }
  if (best == -kInfinity) return 0;
  const double epsilon = best > 40 ? best : std::log1p(std::exp(best));
  return std::fmax(0, epsilon * (1 - 1e-8));
}

double Inclusions::EpsilonByTail(double delta) const {
  // P(L <= x) <= p = e^{K(-s) + sx}, and δ(ε) >= (1 - p)(1 - e^{ε-x}).
  const double log_q = std::log(q), log_rest = std::log1p(-q), p = (1 - delta) / 2;
  const double below = std::log1p(-delta / (1 - p) * (1 + 4 * kUnit));
  double best = 0;
  for (double log_s = -60; log_s < 0; log_s += 0.1) {
    const double s = std::exp(log_s);
    const double shown = (1 - s) * log_q - s * (1 - s) * mu * mu / 2,
                 not_shown = (1 - s) * log_rest;
    const double excess = std::expm1(not_shown) + std::exp(shown);
    const bool near_one = std::fabs(excess) < 0.5;
    const double log_moment = near_one ? std::log1p(excess) : LogSum(not_shown, shown);
    const double error =
        16 * kUnit *
        (near_one ? -std::expm1(not_shown) + std::exp(shown) * (1 + std::fabs(shown))
                  : 1 + std::fabs(shown) + std::fabs(not_shown));
    const double x = (std::log(p) - count * (log_moment + error) - 1e-9) / s;
    best = std::fmax(best, x * (1 - 1e-12) + below - 1e-9);
  }
  return best;
}

Interval EpsilonByInclusions(const Composition& composition, double delta) {
  const double log_delta = std::log(delta);
  double lower = 0, upper = kInfinity;
  for (const SampledGaussian& step : composition.steps) {
    const double count = static_cast<double>(step.count), q = step.sampling_probability;
    const Inclusions least{q, DivDown(1, step.noise_multiplier.upper()), count};
    lower =
        std::fmax(lower, std::fmax(least.EpsilonByThreshold(delta), least.EpsilonByTail(delta)));
    const double far = count * (least.mu * least.mu + 50 * least.mu + 50);
    const auto more = [&](double e) { return least.LogDeltaDown(e) - log_delta - 1e-12; };
    if (more(lower) > 0) lower = BracketDecreasing(more, lower, far, 1e-10).first;
    if (!composition.OnlyGaussians() || composition.steps.size() > 1) continue;
    const Inclusions most{q, DivUp(1, step.noise_multiplier.lower()), count};
    const auto above = [&](double e) { return most.LogDeltaUp(e) - log_delta + 1e-12; };
    // δ(0) <= δ(near) + e^near - 1.
    const double near = 0.01 * (1 - delta);
    if (lower == 0 && above(near) <= 0 &&
        std::exp(most.LogDeltaUp(near)) + std::expm1(near) <= delta * (1 - 1e-12)) {
      return {0, 0};
    }
    double end = lower * (1 + 1e-6) + 1e-6;
    while (above(end) > 0 && end < 4 * far) end = lower + 2 * (end - lower);
    if (!(above(end) <= 0)) continue;
    const double found = BracketDecreasing(above, lower, end, 1e-10).second;
    upper = std::fmax(found, GreatestLoss(composition, Direction::kAdd).upper());
    if (GreatestLoss(composition, Direction::kAdd).upper() <= lower) upper = found;
  }
  return {lower, upper};
}

Interval DeltaByInclusions(const Composition& composition, double epsilon) {
  const bool upward = composition.OnlyGaussians() && composition.steps.size() == 1 &&
                      GreatestLoss(composition, Direction::kAdd).upper() <= epsilon;
  double lower = 0, upper = 1;
  for (const SampledGaussian& step : composition.steps) {
    const double count = static_cast<double>(step.count), q = step.sampling_probability;
    const Inclusions least{q, DivDown(1, step.noise_multiplier.upper()), count};
    Composition once;
    once.steps.push_back({q, step.noise_multiplier, 1});
    lower = std::fmax(lower, DeltaOnce(once, Direction::kRemove, epsilon).lower());
    lower = std::fmax(lower, ExpDown(least.LogDeltaDown(epsilon)));
    const Inclusions most{q, DivUp(1, step.noise_multiplier.lower()), count};
    if (upward) upper = std::fmin(1, ExpUp(most.LogDeltaUp(epsilon)));
  }
  return {lower, upper};
}

}  // namespace dpledger::accountant::gaussian
