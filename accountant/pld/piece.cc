#include "accountant/pld/piece.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::pld {
namespace {

// Losses beyond have exponentials that leave the range of doubles; densities below e^-kFaintest of
// their peak are not worth following.
constexpr double kGreatestLoss = 650, kFaintest = 690;
constexpr double kFaintTerm = -45, kFaintChange = -60;
}  // namespace

ExponentialSum::ExponentialSum(const std::vector<ExponentialTerm>& terms) {
  const auto sum = [](double a, double b) {
    return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  };
  for (const ExponentialTerm& term : terms) {
    if (term.log_coefficient == -kInfinity) continue;
    if (term.rate == 0) {
      log_constant = has_constant ? sum(log_constant, term.log_coefficient) : term.log_coefficient;
      has_constant = true;
      continue;
    }
    const auto same = std::find(rates.begin(), rates.end(), term.rate);
    if (same == rates.end()) {
      rates.push_back(term.rate);
      log_coefficients.push_back(term.log_coefficient);
    } else {
      double& at = log_coefficients[static_cast<size_t>(same - rates.begin())];
      at = sum(at, term.log_coefficient);
    }
  }
}

ExponentialSum::Value ExponentialSum::At(double t) const {
  double greatest = -kInfinity;
  for (size_t k = 0; k < rates.size(); ++k)
    greatest = std::max(greatest, log_coefficients[k] + rates[k] * t);
  if (greatest == -kInfinity) return {has_constant ? 0 : greatest, 0, 0};
  if (greatest == kInfinity) return {greatest, has_constant ? greatest : 0, 0};
  double sum = 0, weighted = 0;
  for (size_t k = 0; k < rates.size(); ++k) {
    const double below = log_coefficients[k] + rates[k] * t - greatest;
    if (below < kFaintTerm) continue;
    const double share = below == 0 ? 1 : std::exp(below);
    sum += share;
    weighted += share * rates[k];
  }
  const double slope = weighted / sum;
  if (!has_constant) return {greatest + std::log(sum), 0, slope};
  const double over = greatest - log_constant, relative = sum * std::exp(over);
  const double log = over > 600 ? over + std::log(sum) : std::log1p(relative);
  return {log, relative, slope / (1 + 1 / relative)};
}

size_t ExponentialSum::Greatest(double t) const {
  size_t greatest = 0;
  for (size_t k = 1; k < rates.size(); ++k) {
    if (log_coefficients[k] + rates[k] * t > log_coefficients[greatest] + rates[greatest] * t)
      greatest = k;
  }
  return greatest;
}

// The ratio of two terms is an exponential, greatest at an end. A term's change is the integral of
// its rate times itself, so the ratio of the changes is at most that of the rates times that.
bool ExponentialSum::IsFaint(size_t term, size_t beside, double from, double to) const {
  const double log_rates = std::log1p(std::fabs(rates[term] / rates[beside]));
  const auto above = [&](double t) {
    return log_coefficients[term] - log_coefficients[beside] + (rates[term] - rates[beside]) * t;
  };
  return std::fmax(above(from), above(to)) + log_rates < kFaintChange;
}

Piece::Piece(const DensityPiece& piece)
    : from_(piece.from),
      to_(piece.to),
      constant_(piece.constant),
      linear_(piece.linear),
      quadratic_(piece.quadratic),
      n_(piece.p),
      d_(piece.q),
      relative_(n_.has_constant && d_.has_constant) {
  if (relative_) origin_ = n_.log_constant - d_.log_constant;
  for (double rate : n_.rates) greatest_rate_ = std::fmax(greatest_rate_, std::fabs(rate));
  for (double rate : d_.rates) greatest_rate_ = std::fmax(greatest_rate_, std::fabs(rate));
}

Piece::Point Piece::PointAt(double t) const {
  const ExponentialSum::Value n = n_.At(t), d = d_.At(t);
  if (relative_) {
    return {n.log - d.log, n.slope - d.slope, std::fmin(1, n.relative) + std::fmin(1, d.relative)};
  }
  return {(n_.log_constant + n.log) - (d_.log_constant + d.log), n.slope - d.slope, 2};
}

double Piece::Above(double t) const { return PointAt(t).above; }

double Piece::At(double above, double from, double to) const {
  if (relative_ && n_.rates.size() == 1 && d_.rates.empty()) {
    const double t =
        (std::log(std::expm1(above)) - (n_.log_coefficients[0] - n_.log_constant)) / n_.rates[0];
    return std::clamp(t, from, to);
  }
  if (relative_ && n_.rates.empty() && d_.rates.size() == 1) {
    const double t =
        (std::log(std::expm1(-above)) - (d_.log_coefficients[0] - d_.log_constant)) / d_.rates[0];
    return std::clamp(t, from, to);
  }
  if (n_.rates.size() + n_.has_constant == 1 && d_.rates.size() + d_.has_constant == 1) {
    const Point zero = PointAt(0);
    return std::clamp((above - zero.above) / zero.slope, from, to);
  }
  return Newton(above, from, to, std::isfinite(from) ? from : std::isfinite(to) ? to : 0);
}

// For an increasing function inside a bracket.
double Piece::Newton(double above, double from, double to, double guess) const {
  double lo = from, hi = to, t = guess;
  double reach = 1;
  for (int i = 0; i < 200; ++i) {
    const Point at = PointAt(t);
    const double off = at.above - above;
    // Before the bracket: a step too small to leave its end would be taken for one out of it.
    if (std::fabs(off) <= PointError(at, t) / 4) return t;
    (off < 0 ? lo : hi) = t;
    double next = t - off / at.slope;
    if (!(next > lo && next < hi)) {
      if (std::isinf(lo)) {
        next = hi - reach;
      } else if (std::isinf(hi)) {
        next = lo + reach;
      } else {
        next = lo + (hi - lo) / 2;
      }
      reach *= 2;
    }
    if (next == t || !(next >= lo && next <= hi)) break;
    t = next;
  }
  return t;
}

// The exponents at t are rounded to a few u of their sizes, sums to u a term; the loss moves by the
// share that the terms with those exponents have in the sums.
double Piece::PointError(const Point& at, double t) const {
  double size = 0;
  const auto grow = [&](const ExponentialSum& sum) {
    for (size_t k = 0; k < sum.rates.size(); ++k) {
      size = std::max(size, std::fabs(sum.rates[k] * t) +
                                std::fabs(sum.log_coefficients[k] - sum.log_constant) +
                                (relative_ ? 0 : std::fabs(sum.log_coefficients[k])));
    }
  };
  grow(n_);
  grow(d_);
  size += 4 + 0.125 * static_cast<double>(n_.rates.size() + d_.rates.size());
  return 8 * kUnitRoundoff * (at.share * size + std::fabs(at.above));
}

Piece::Points Piece::AtPoints(double first, double step, size_t count, double from,
                              double to) const {
  Points points{std::vector<double>(count), std::vector<double>(count)};
  const bool n_alone = n_.rates.size() == 1 && d_.rates.empty();
  const bool d_alone = n_.rates.empty() && d_.rates.size() == 1;
  if (!relative_ || !(n_alone || d_alone)) {
    double t = from, slope = 0;
    for (size_t i = 0; i < count; ++i) {
      const double above = first + step * static_cast<double>(i);
      // Onwards from the last point, where the loss is nearly linear from one to the next.
      const double guess = t + step / slope;
      t = slope > 0 && guess <= to ? Newton(above, t, to, guess) : At(above, t, to);
      const Point at = PointAt(t);
      slope = at.slope;
      points.t[i] = t;
      points.error[i] = PointError(at, t);
    }
    return points;
  }
  // One term beside the constant: as At and PointError, over the array.
  const ExponentialSum& sum = n_alone ? n_ : d_;
  const double log_ratio = sum.log_coefficients[0] - sum.log_constant, rate = sum.rates[0];
  std::vector<double> excess(count);
  for (size_t i = 0; i < count; ++i) {
    const double above = first + step * static_cast<double>(i);
    excess[i] = n_alone ? above : -above;
  }
  ExpM1(excess, excess);
  Log(excess, points.t);
  for (size_t i = 0; i < count; ++i) {
    const double log_excess = points.t[i], above = first + step * static_cast<double>(i);
    points.t[i] = std::clamp((log_excess - log_ratio) / rate, from, to);
    const double size = 4 + std::fabs(log_excess - log_ratio) + std::fabs(log_ratio);
    points.error[i] = 8 * kUnitRoundoff * (std::fmin(1, excess[i]) * size + std::fabs(above));
  }
  return points;
}

Piece::Span Piece::Cover(double tail) const {
  Span span{from_, to_, true, true};
  if (quadratic_ < 0) {
    const double peak = -linear_ / (2 * quadratic_), s = 1 / std::sqrt(-2 * quadratic_);
    const double log_peak = LogBase(peak);
    // The point beyond which all terms together have at most `tail`.
    const auto cut = [&](const ExponentialSum& sum, int side) {
      double t = -kInfinity;
      const double parts = static_cast<double>(sum.rates.size() + 1);
      const auto term = [&](double log_coefficient, double rate) {
        const double log_mass = log_peak + log_coefficient + rate * peak +
                                0.5 * rate * rate * s * s + std::log(s * 2.5066282746310007);
        const double share = std::exp(std::log(tail / parts) - log_mass);
        if (share >= 0.5) return;
        const double middle = peak + rate * s * s;
        t = std::fmax(t, side * middle + s * (NormalTailInverse(std::fmax(share, 1e-299)) + 1e-6));
      };
      if (sum.has_constant) term(sum.log_constant, 0);
      for (size_t k = 0; k < sum.rates.size(); ++k) term(sum.log_coefficients[k], sum.rates[k]);
      return std::isinf(t) ? peak : side * t;
    };
    // e^-kFaintest of the peak, or of the least double.
    const double faint = std::sqrt(std::fmax(0, kFaintest + std::fmin(0, log_peak)) / -quadratic_);
    const double low = std::fmax(cut(d_, -1), peak - faint);
    const double high = std::fmin(cut(n_, +1), peak + faint);
    if (low > from_) {
      span.from = std::fmin(low, to_);
      span.whole_below = false;
    }
    if (high < to_) {
      span.to = std::fmax(high, span.from);
      span.whole_above = false;
    }
  }
  if (Above(span.to) + origin_ > kGreatestLoss) {
    span.to = At(kGreatestLoss - origin_, span.from, span.to);
    span.whole_above = false;
  }
  if (Above(span.from) + origin_ < -kGreatestLoss) {
    span.from = At(-kGreatestLoss - origin_, span.from, span.to);
    span.whole_below = false;
  }
  return span;
}

double Piece::Panels(const Span& span) const {
  double from = span.from, to = span.to;
  if (quadratic_ < 0) {
    const double peak = -linear_ / (2 * quadratic_), s = 1 / std::sqrt(-2 * quadratic_);
    from = std::fmax(from, peak - 12 * s);
    to = std::fmin(to, std::fmax(from, peak + greatest_rate_ * s * s + 12 * s));
  }
  return (to - from) * std::fmax(Roughness(from), Roughness(to)) /
         0.3;  // the width of a panel: see cell_integrals.cc
}

double Piece::TailMass(const ExponentialSum& sum, double t, int side) const {
  if (side > 0 ? t >= to_ : t <= from_) return 0;
  double mass = 0;
  const double s = quadratic_ < 0 ? 1 / std::sqrt(-2 * quadratic_) : 0;
  const double peak = quadratic_ < 0 ? -linear_ / (2 * quadratic_) : 0;
  const double width = side > 0 ? to_ - t : t - from_;
  const auto term = [&](double log_coefficient, double rate) {
    if (quadratic_ < 0) {
      const double log_mass = LogBase(peak) + log_coefficient + rate * peak +
                              0.5 * rate * rate * s * s + std::log(s * 2.5066282746310007);
      const double middle = peak + rate * s * s;
      mass += std::exp(log_mass + LogNormalTail(side * (t - middle) / s));
    } else {
      const double rest = side > 0 ? to_ : from_;
      mass += width * std::exp(log_coefficient +
                               std::fmax(LogBase(t) + rate * t, LogBase(rest) + rate * rest));
    }
  };
  if (sum.has_constant) term(sum.log_constant, 0);
  for (size_t k = 0; k < sum.rates.size(); ++k) term(sum.log_coefficients[k], sum.rates[k]);
  return mass * (1 + 1e-11);
}

}  // namespace dpledger::accountant::pld
