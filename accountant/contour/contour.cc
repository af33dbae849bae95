#include "accountant/contour/contour.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "accountant/contour/tilted_step.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;
// What each of aliases, truncation and quadrature may take of δ: far below what reports show, above
// rounding.
const double kLogShare = std::log(1e-13);
// Nodes on the line times nodes in t, over all steps: about a second.
constexpr double kGreatestWork = 5e7;
constexpr double kGreatestLineNodes = 4000;
// Nodes of all envelopes together: 64 MiB.
constexpr size_t kGreatestKept = size_t{1} << 22;
constexpr double kUsefulGap = 1e-3;

using Steps = std::vector<Step>;

// K, K' and K'' of the composition at c.
struct Saddle {
  double c;
  double log_mgf, error, mean, variance;
};

// The composition, asked within limits: once they are passed every answer is NaN, and stopped()
// says why.
class Moments {
 public:
  // `limits` must outlive this.
  Moments(Steps steps, const Limits& limits) : steps_(std::move(steps)), limits_(limits) {}

  Saddle At(double c) {
    if (stopped_.ok()) stopped_ = limits_.Check();
    if (!stopped_.ok()) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      return {c, nan, nan, nan, nan};
    }
    Saddle sum{c, 0, 0, 0, 0};
    for (const Step& step : steps_) {
      const Tilted tilted = Tilt(step, c, 0, 38 + std::log(step.count), Precision::kRough);
      sum.log_mgf += step.count * tilted.log_mgf;
      sum.error += step.count * tilted.log_mgf_error + 2 * kUnitRoundoff * std::fabs(sum.log_mgf);
      sum.mean += step.count * tilted.mean;
      sum.variance += step.count * tilted.variance;
    }
    return sum;
  }

  const Steps& steps() const { return steps_; }
  const Limits& limits() const { return limits_; }
  const absl::Status& stopped() const { return stopped_; }

 private:
  const Steps steps_;
  const Limits& limits_;
  absl::Status stopped_;
};

// log(c(1 + c)) and the like, from δ's kernel 1/(z(z+1)).
double LogKernel(double c) { return std::log(c) + std::log1p(c); }
double Curvature(const Saddle& at) {
  return at.variance + 1 / (at.c * at.c) + 1 / ((1 + at.c) * (1 + at.c));
}

// The saddle-point estimate of log δ(ε) (Alghamdi et al. 2023, method of steepest descent, first
// order).
double Estimate(const Saddle& at, double epsilon) {
  return at.log_mgf - at.c * epsilon - LogKernel(at.c) - 0.5 * std::log(2 * kPi * Curvature(at));
}
// The ε whose saddle is c.
double EpsilonOf(const Saddle& at) { return at.mean - 1 / at.c - 1 / (1 + at.c); }

// The saddle for a given ε: the derivative of a convex function vanishes.
Saddle SaddleFor(Moments& moments, double epsilon, double start) {
  double lo = 1e-6, hi = 1e6;
  Saddle at = moments.At(start);
  for (int i = 0; i < 40 && moments.stopped().ok(); ++i) {
    const double slope = at.mean - epsilon - 1 / at.c - 1 / (1 + at.c);
    (slope < 0 ? lo : hi) = at.c;
    double next = at.c - slope / Curvature(at);
    if (!(next > lo && next < hi)) next = std::sqrt(lo * hi);
    if (std::fabs(next - at.c) < 1e-3 * at.c) break;
    at = moments.At(next);
  }
  return at;
}

// The line Re z = c with its nodes and everything that bounds δ from the sum over them.
class Line {
 public:
  // Nothing if it takes too many nodes.
  static absl::StatusOr<std::optional<Line>> Through(Moments& moments, const Saddle& saddle,
                                                     double epsilon);

  double order() const { return c_; }

  // Bounds on log δ(ε), for ε near the one the line was laid for (elsewhere they are only looser).
  double LogUpper(double epsilon) const {
    const Sum sum = At(epsilon);
    return Level(epsilon) + std::log(sum.value + sum.error) + LevelError(epsilon);
  }
  double LogLower(double epsilon) const {
    const Sum sum = At(epsilon);
    const double left = sum.value - sum.error - Aliases(epsilon);
    return left > 0 ? Level(epsilon) + std::log(left) - LevelError(epsilon) : -kInfinity;
  }

 private:
  struct Sum {
    double value, error;
  };
  // δ = e^{K(c) - cε} · sum.
  double Level(double epsilon) const { return log_mgf_ - c_ * epsilon; }
  double LevelError(double epsilon) const {
    return level_error_ + 8 * kUnitRoundoff * (std::fabs(log_mgf_) + c_ * std::fabs(epsilon) + 4);
  }

  Sum At(double epsilon) const {
    double value = 0, error = truncation_;
    for (size_t k = 0; k < f_.size(); ++k) {
      const double y = spacing_ * static_cast<double>(k), twice = k == 0 ? 1 : 2;
      const std::complex<double> turned = f_[k] * std::polar(1.0, -y * epsilon);
      const double scale = twice * spacing_ / (2 * kPi);
      value += scale * turned.real();
      error += scale * std::abs(f_[k]) *
               (f_error_[k] +
                kUnitRoundoff * (8 + 4 * y * std::fabs(epsilon) + static_cast<double>(f_.size())));
    }
    return {value, error};
  }

  // Σ_{m≠0} e^{mcD} δ(ε + mD), over e^{K(c) - cε}: by the two Chernoff bounds that the period was
  // chosen with.
  double Aliases(double epsilon) const {
    const double up =
        std::exp(log_up_ - up_ * epsilon - up_ * period_) / -std::expm1(-up_ * period_);
    const double down =
        std::exp(log_down_ + down_ * epsilon - down_ * period_) / -std::expm1(-down_ * period_);
    const double size =
        std::fabs(log_up_) + std::fabs(log_down_) + (up_ + down_) * (std::fabs(epsilon) + period_);
    return (up + down) * (1 + 1e-9 + 8 * kUnitRoundoff * size);
  }

  double c_ = 0, log_mgf_ = 0, level_error_ = 0;
  double spacing_ = 0, period_ = 0;
  double up_ = 0, log_up_ = 0, down_ = 0,
         log_down_ = 0;  // the aliases' Chernoff exponents, and their logarithms
  double truncation_ = 0;
  std::vector<std::complex<double>> f_;  // e^{K(c+iy) - K(c)}/(z(z+1))
  std::vector<double> f_error_;          // relative
};

// sup over losses of (1 - e^{ε-L})_+ e^{-r(L-ε)}: δ(ε) <= that times e^{K(r) - rε}.
double LogChernoff(double r) { return r * std::log(r / (1 + r)) - std::log1p(r); }

absl::StatusOr<std::optional<Line>> Line::Through(Moments& moments, const Saddle& saddle,
                                                  double epsilon) {
  const Steps& steps = moments.steps();
  const Limits& limits = moments.limits();
  Line line;
  const double c = saddle.c;
  line.c_ = c;
  line.log_mgf_ = saddle.log_mgf;
  const double sd = std::sqrt(Curvature(saddle));
  // The sum's own size, by the estimate, in units of e^{K(c) - cε}.
  const double log_size = -LogKernel(c) - std::log(sd * std::sqrt(2 * kPi));
  const double log_small = log_size + kLogShare;

  // 1. The period: aliases above and below, each by the best of a few Chernoff exponents.
  double period_up = kInfinity, period_down = kInfinity;
  for (const double a : {0.6, 1.2, 2.5, 4.0, 6.0, 9.0}) {
    const double t = a / sd;
    const Saddle up = moments.At(c + t);
    const double log_up =
        up.log_mgf + up.error + saddle.error - saddle.log_mgf + LogChernoff(c + t);
    if (std::isfinite(log_up)) {
      const double period = (log_up - t * epsilon - log_small) / t;
      if (period > 0 && period < period_up) {
        period_up = period;
        line.up_ = t;
        line.log_up_ = log_up;
      }
    }
    // Below: δ(x) <= e^{K(c-t) - (c-t)x}·Chernoff while c - t > 0; else δ <= 1, which is e^{-cmD}
    // against e^{K(c) - cε}.
    double log_down = saddle.error - saddle.log_mgf, s = c;
    if (t < 0.95 * c) {
      const Saddle down = moments.At(c - t);
      log_down = down.log_mgf + down.error + saddle.error - saddle.log_mgf + LogChernoff(c - t);
      s = t;
    }
    const double period = (log_down + s * epsilon - log_small) / s;
    if (std::isfinite(period) && period > 0 && period < period_down) {
      period_down = period;
      line.down_ = s;
      line.log_down_ = log_down;
    }
  }
  RETURN_IF_ERROR(moments.stopped());
  line.period_ = 1.02 * std::fmax(period_up, period_down);
  if (!std::isfinite(line.period_)) return std::nullopt;
  line.spacing_ = 2 * kPi / line.period_;

  // 2. Where the line may end: the envelope falls for good, so what is past Y is at most B(Y)/(πY).
  std::vector<Envelope> envelopes;
  size_t kept = 0;  // nodes in memory
  for (const Step& step : steps) {
    const Tilted tilted = Tilt(step, c, 0, 38 + std::log(step.count), Precision::kExact);
    kept += tilted.loss.size();
    if (kept > kGreatestKept) return std::nullopt;
    envelopes.emplace_back(step, tilted, c);
  }
  double end = 8 / sd / 1.3, log_truncation = 0;
  do {
    end *= 1.3;
    if (!(end / line.spacing_ <= kGreatestLineNodes)) return std::nullopt;
    log_truncation = -std::log(kPi * end);
    kept = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i % 16 == 0) RETURN_IF_ERROR(limits.Check());
      log_truncation += steps[i].count * envelopes[i].LogBound(end);
      kept += envelopes[i].size();
      if (kept > kGreatestKept) return std::nullopt;
    }
  } while (!(log_truncation <= log_small));
  line.truncation_ = std::exp(log_truncation) * (1 + 1e-9);

  // 3. The nodes.
  const size_t nodes = static_cast<size_t>(std::ceil(end / line.spacing_)) + 1;
  std::vector<std::complex<double>> log_ratio(nodes);
  line.f_error_.assign(nodes, 0);
  double work = 0, level_error = 0, log_mgf = 0;
  for (const Step& step : steps) {
    const double digits = 40 + std::log(step.count);
    const Tilted tilted =
        Tilt(step, c, line.spacing_ * static_cast<double>(nodes), digits, Precision::kExact);
    work += static_cast<double>(nodes * tilted.loss.size());
    if (!std::isfinite(tilted.log_mgf) || work > kGreatestWork) return std::nullopt;
    log_mgf += step.count * tilted.log_mgf;
    level_error += step.count * tilted.log_mgf_error + 4 * kUnitRoundoff * std::fabs(log_mgf);
    for (size_t k = 1; k < nodes; ++k) {
      if (k % 256 == 0) RETURN_IF_ERROR(limits.Check());
      const LogRatio ratio =
          LogRatioAt(step, tilted, c, line.spacing_ * static_cast<double>(k), digits);
      log_ratio[k] += step.count * ratio.value;
      line.f_error_[k] +=
          step.count * ratio.error +
          4 * kUnitRoundoff * (step.count * std::abs(ratio.value) + std::abs(log_ratio[k]));
    }
  }
  line.log_mgf_ = log_mgf;
  line.level_error_ = level_error;
  for (size_t k = 0; k < nodes; ++k) {
    const std::complex<double> z(c, line.spacing_ * static_cast<double>(k));
    line.f_.push_back(std::exp(log_ratio[k]) / (z * (1.0 + z)));
    if (!std::isfinite(line.f_error_[k])) {
      // Where ψ has no digits its modulus is below its error bound: the whole term is error.
      return std::nullopt;
    }
    line.f_error_[k] = std::expm1(std::fmin(line.f_error_[k], 50.0));
  }
  return std::optional<Line>(std::move(line));
}

Steps StepsOf(const Composition& composition, bool add, bool upper) {
  Steps steps;
  for (const SampledGaussian& s : composition.steps) {
    const double z = upper ? s.noise_multiplier.lower : s.noise_multiplier.upper;
    const bool exact = std::fma(z, 1 / z, -1.0) == 0;
    const double mu = exact ? 1 / z : upper ? DivUp(1, z) : DivDown(1, z);
    steps.push_back({s.sampling_probability, mu, static_cast<double>(s.count), add});
  }
  return steps;
}

// μ = 1/z is rounded outward for each bound, so there are two lines; they differ by an ulp or by
// the interval of z.
struct Lines {
  Line upper, lower;
};
absl::StatusOr<std::optional<Lines>> LinesFor(const Composition& composition, bool add,
                                              Moments& upper_moments, const Saddle& saddle,
                                              double epsilon) {
  ASSIGN_OR_RETURN(std::optional<Line> upper, Line::Through(upper_moments, saddle, epsilon));
  if (!upper.has_value()) return std::nullopt;
  Moments lower_moments(StepsOf(composition, add, false), upper_moments.limits());
  if (upper_moments.steps() == lower_moments.steps()) {
    return std::optional<Lines>(Lines{*upper, *upper});
  }
  const Saddle lower_saddle = lower_moments.At(saddle.c);
  ASSIGN_OR_RETURN(std::optional<Line> lower, Line::Through(lower_moments, lower_saddle, epsilon));
  if (!lower.has_value()) return std::nullopt;
  return std::optional<Lines>(Lines{*std::move(upper), *std::move(lower)});
}

absl::StatusOr<std::optional<Interval>> EpsilonIn(const Composition& composition, bool add,
                                                  double delta, const Limits& limits) {
  Moments moments(StepsOf(composition, add, true), limits);
  const double log_delta = std::log(delta);
  // The c at which the saddle-point estimate meets δ; not always monotone, so what comes of it is
  // checked, not trusted.
  const auto above = [&](double log_c) {
    const Saddle at = moments.At(std::exp(log_c));
    const double value = Estimate(at, EpsilonOf(at)) - log_delta;
    return std::isfinite(value) ? value : -1.0;  // out of reach: too far
  };
  // Orders far from the saddle take many nodes: the bracket grows from the usual ones.
  double low = std::log(0.5), high = std::log(8.0);
  while (high < std::log(1e5) && above(high) > 0) high += std::log(4.0);
  while (low > std::log(1e-4) && above(low) <= 0) low -= std::log(4.0);
  const double log_c = BracketDecreasing(above, low, high, 1e-3).second;
  Saddle saddle = moments.At(std::exp(log_c));
  RETURN_IF_ERROR(moments.stopped());
  double epsilon = EpsilonOf(saddle);
  if (!std::isfinite(epsilon)) return std::nullopt;
  if (epsilon <= 0) {
    epsilon = 0;
    saddle = SaddleFor(moments, 0, saddle.c);
    RETURN_IF_ERROR(moments.stopped());
  }
  ASSIGN_OR_RETURN(const std::optional<Lines> lines,
                   LinesFor(composition, add, moments, saddle, epsilon));
  if (!lines.has_value()) return std::nullopt;
  const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
  const auto too_much = [&](double e) { return lines->upper.LogUpper(e) - log_delta_down; };
  const auto surely_more = [&](double e) { return lines->lower.LogLower(e) - log_delta_up; };
  if (too_much(0) <= 0) return Interval{0, 0};
  // Both bounds hold near ε; the root is looked for within two standard deviations.
  const double reach = 2 * std::sqrt(Curvature(saddle)) + 1e-3 * epsilon;
  const double lo = std::fmax(0, epsilon - reach), hi = epsilon + reach;
  Interval found;
  if (!(too_much(hi) <= 0)) return std::nullopt;
  found.upper = too_much(lo) <= 0 ? lo : BracketDecreasing(too_much, lo, hi, 1e-15).second;
  found.lower = surely_more(lo) > 0 ? BracketDecreasing(surely_more, lo, hi, 1e-15).first : 0;
  if (found.RelativeGap() > kUsefulGap) return std::nullopt;
  return found;
}

// Lines through the saddle of δ(epsilon); nothing if none are within reach.
absl::StatusOr<std::optional<Lines>> LinesAt(const Composition& composition, bool add,
                                             Moments& moments, double epsilon, double start) {
  const Saddle saddle = SaddleFor(moments, epsilon, start);
  RETURN_IF_ERROR(moments.stopped());
  // δ would be below the least double.
  if (!(saddle.log_mgf - saddle.c * epsilon > -800)) return std::nullopt;
  return LinesFor(composition, add, moments, saddle, epsilon);
}

Interval DeltaOn(const Lines& lines, double epsilon) {
  return {ExpDown(lines.lower.LogLower(epsilon)),
          std::fmin(1, ExpUp(lines.upper.LogUpper(epsilon)))};
}

bool Useful(const Interval& delta) { return delta.lower > 0 && delta.RelativeGap() <= kUsefulGap; }

absl::StatusOr<std::optional<Interval>> DeltaIn(const Composition& composition, bool add,
                                                double epsilon, const Limits& limits) {
  Moments moments(StepsOf(composition, add, true), limits);
  ASSIGN_OR_RETURN(const std::optional<Lines> lines,
                   LinesAt(composition, add, moments, epsilon, 1));
  if (!lines.has_value()) return std::nullopt;
  const Interval found = DeltaOn(*lines, epsilon);
  if (!Useful(found)) return std::nullopt;
  return found;
}

absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(const Composition& composition,
                                                              bool add,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits) {
  // A line serves as far as it keeps this gap, or twice the gap it has where it was laid.
  constexpr double kSharedGap = 1e-8;
  Moments moments(StepsOf(composition, add, true), limits);
  std::optional<Lines> lines;
  double start = 1, shared_gap = kSharedGap;
  std::vector<std::optional<Interval>> result;
  for (const double epsilon : epsilons) {
    Interval delta{0, 1};
    if (lines.has_value()) delta = DeltaOn(*lines, epsilon);
    if (!(delta.lower > 0 && delta.RelativeGap() <= shared_gap)) {
      ASSIGN_OR_RETURN(lines, LinesAt(composition, add, moments, epsilon, start));
      if (lines.has_value()) {
        delta = DeltaOn(*lines, epsilon);
        start = lines->upper.order();
        shared_gap = std::fmax(kSharedGap, 2 * delta.RelativeGap());
      }
    }
    result.push_back(lines.has_value() && Useful(delta) ? std::optional<Interval>(delta)
                                                        : std::nullopt);
  }
  return result;
}

// The guarantee is the worse of the two directions.
template <typename InOneDirection>
absl::StatusOr<std::optional<Interval>> Worse(const InOneDirection& question) {
  ASSIGN_OR_RETURN(const std::optional<Interval> remove, question(false));
  if (!remove.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Interval> add, question(true));
  if (!add.has_value()) return std::nullopt;
  return Interval{std::fmax(remove->lower, add->lower), std::fmax(remove->upper, add->upper)};
}

}  // namespace

absl::StatusOr<std::optional<Interval>> Epsilon(const Composition& composition, double delta,
                                                const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  return Worse([&](bool add) { return EpsilonIn(composition, add, delta, limits); });
}

absl::StatusOr<std::optional<Interval>> Delta(const Composition& composition, double epsilon,
                                              const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  return Worse([&](bool add) { return DeltaIn(composition, add, epsilon, limits); });
}

absl::StatusOr<std::optional<Interval>> EpsilonIn(Direction direction,
                                                  const Composition& composition, double delta,
                                                  const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  return EpsilonIn(composition, direction == Direction::kAdd, delta, limits);
}

absl::StatusOr<std::optional<Interval>> DeltaIn(Direction direction, const Composition& composition,
                                                double epsilon, const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  return DeltaIn(composition, direction == Direction::kAdd, epsilon, limits);
}

absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(Direction direction,
                                                              const Composition& composition,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits) {
  if (composition.steps.empty()) {
    return std::vector<std::optional<Interval>>(epsilons.size(), Interval{0, 0});
  }
  return DeltasIn(composition, direction == Direction::kAdd, epsilons, limits);
}

}  // namespace dpledger::accountant::contour
