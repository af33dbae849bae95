#include "accountant/rdp/piece_integral.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::rdp {
namespace {

// Nodes of a panel, and the ellipse that its error bound looks at: semi-axes (ρ ± 1/ρ)/2 = 2.125
// and 1.875 of the panel's half width, 4.01·ρ^{-40}/(1 - ρ^{-2}) < e^{-53.99}.
using Rule = boost::math::quadrature::gauss<double, 20>;
constexpr double kAlong = 2.125, kAcross = 1.875, kLogError = -53.99;

// Parts this far below the peak's logarithm are bounded instead of integrated.
constexpr double kNegligible = 45;
// The peak is looked for until two exponents beside it are this near.
constexpr double kFlat = 0.01;
// Tails are cut this many standard deviations out: their logarithm is 45 lower.
constexpr double kCut = 9.5;
constexpr int kGreatestPanels = 1 << 14;
// Bounds on what is left out carry the rounding of their exponents, sizes below 1e13.
constexpr double kBoundSlack = 1.1;
// Terms of a sum that are less than e^{-40} of its greatest are left to its rounding: e^{-40} is a
// 26th of a unit roundoff.
constexpr double kFaintTerm = -40;
// More than all that underflows, relative to the peak: at most 1e6 terms of 5e-324 each.
constexpr double kUnderflow = 1e-300;

// From where one term stands for a sum. It is looked for where turning takes this much of log D.
constexpr double kMostOthers = 0.9, kMuchLess = 0.05;

// log Σ e^{c_k + r_k t} with its derivative.
struct LogSum {
  double value, slope, size;  // size: of the greatest exponent's terms, for rounding
};

LogSum LogSumAt(const std::vector<ExponentialTerm>& terms, double t) {
  if (terms.size() == 1) {
    const auto& [log_coefficient, rate] = terms.front();
    return {log_coefficient + rate * t, rate, std::fabs(log_coefficient) + std::fabs(rate * t) + 2};
  }
  double greatest = -kInfinity, size = 0;
  for (const ExponentialTerm& term : terms) {
    const double exponent = term.log_coefficient + term.rate * t;
    if (exponent > greatest) {
      greatest = exponent;
      size = std::fabs(term.log_coefficient) + std::fabs(term.rate * t);
    }
  }
  if (std::isinf(greatest)) return {greatest, 0, 0};
  double sum = 0, weighted = 0;
  for (const ExponentialTerm& term : terms) {
    const double below = term.log_coefficient + term.rate * t - greatest;
    if (below < kFaintTerm) continue;
    const double share = below == 0 ? 1 : std::exp(below);
    sum += share;
    weighted += share * term.rate;
  }
  return {greatest + std::log(sum), weighted / sum, size + 1 + static_cast<double>(terms.size())};
}

// At most how many times the greatest term of the middle of [low, high] all others are together,
// anywhere between. Their ratios are exponentials: convex, and greatest at an end.
double OthersIn(const std::vector<ExponentialTerm>& terms, double low, double high) {
  if (terms.size() == 1) return 0;
  const auto at = [](const ExponentialTerm& term, double t) {
    return term.log_coefficient + term.rate * t;
  };
  const double middle = low + (high - low) / 2;
  const auto main = std::max_element(terms.begin(), terms.end(), [&](const auto& a, const auto& b) {
    return at(a, middle) < at(b, middle);
  });
  double at_low = 0, at_high = 0;
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    if (term == main) continue;
    const double from = at(*term, low) - at(*main, low), to = at(*term, high) - at(*main, high);
    if (!(std::fmax(from, to) < 0)) return kInfinity;
    if (from > kFaintTerm) at_low += std::exp(from);
    if (to > kFaintTerm) at_high += std::exp(to);
  }
  return std::fmax(at_low, at_high) + 1e-10;  // (what is left out above)
}

// The integrand e^{G}, G(t) = constant + linear·t + quadratic·t² + α N(t) - (α-1) D(t).
class Integrand {
 public:
  Integrand(const DensityPiece& piece, Direction direction, double order)
      : piece_(piece),
        up_(direction == Direction::kRemove ? piece.p : piece.q),
        down_(direction == Direction::kRemove ? piece.q : piece.p),
        order_(order) {
    const auto rates = [](const std::vector<ExponentialTerm>& terms) {
      const auto [low, high] = std::minmax_element(
          terms.begin(), terms.end(),
          [](const ExponentialTerm& a, const ExponentialTerm& b) { return a.rate < b.rate; });
      return std::make_pair(low->rate, high->rate);
    };
    const auto [up_low, up_high] = rates(up_);
    const auto [down_low, down_high] = rates(down_);
    least_slope_ = order * up_low - (order - 1) * down_high;
    greatest_slope_ = order * up_high - (order - 1) * down_low;
    up_spread_ = up_high - up_low;
    down_spread_ = down_high - down_low;
  }

  struct Value {
    double exponent, size;  // size: what its rounding error is relative to
  };
  Value At(double t) const {
    const LogSum up = LogSumAt(up_, t), down = LogSumAt(down_, t);
    const double square = piece_.quadratic * t * t, line = piece_.linear * t;
    return {Sum(piece_.constant, line, square, order_ * up.value, (order_ - 1) * down.value),
            std::fabs(piece_.constant) + std::fabs(line) + std::fabs(square) + order_ * up.size +
                (order_ - 1) * down.size + order_ * std::fabs(up.value) +
                (order_ - 1) * std::fabs(down.value)};
  }

  // log of a bound on |e^G| within [low, high] × [-i·across, i·across], across >= 0; infinite where
  // a sum may vanish. There |N'| is at most N at the real part and |D'| at least
  // D cos(across·spread/2), or, where one term is 1/s times the others, D (1 - s)/(1 + s). Along
  // the real line N is convex, below its chord, and -D concave, below
  // its tangent.
  double LogBound(double low, double high, double across) const {
    double around = -piece_.quadratic * across * across;
    if (across > 0) {
      if (!(up_spread_ * across < 3 || OthersIn(up_, low, high) < kMostOthers)) return kInfinity;
      const double turn = down_spread_ * across / 2;
      double less = turn < 1.5 ? -std::log(std::cos(turn)) : kInfinity;
      if (less > kMuchLess) {
        const double others = OthersIn(down_, low, high);
        if (others < kMostOthers) less = std::fmin(less, std::log1p(others) - std::log1p(-others));
      }
      if (std::isinf(less)) return kInfinity;
      around += (order_ - 1) * less;
    }
    const double middle = (low + high) / 2, half = (high - low) / 2;
    const LogSum left = LogSumAt(up_, low), right = LogSumAt(up_, high),
                 tangent = LogSumAt(down_, middle);
    const double chord = half > 0 ? (right.value - left.value) / (2 * half) : 0;
    // value + slope·x + quadratic·x² for x = t - middle in [-half, half].
    const double value = piece_.constant + (piece_.linear + piece_.quadratic * middle) * middle +
                         order_ * (left.value + right.value) / 2 - (order_ - 1) * tangent.value;
    const double slope = piece_.linear + 2 * piece_.quadratic * middle + order_ * chord -
                         (order_ - 1) * tangent.slope;
    double x = slope >= 0 ? half : -half;
    if (piece_.quadratic < 0) x = std::clamp(-slope / (2 * piece_.quadratic), -half, half);
    return value + (slope + piece_.quadratic * x) * x + around;
  }

  // log of a bound on the integral beyond `end`, to the right (sign = 1) or the left (-1): there
  // the sums' part of G rises with slope at most g, so that it is below a Gaussian.
  double LogTail(double end, int sign) const {
    const double deviation = 1 / std::sqrt(-2 * piece_.quadratic);
    const double x = sign * (end - Centre(sign)) / deviation;
    return At(end).exponent + std::log(deviation) + std::log(MillsRatio(std::fmax(x, -36)));
  }
  // The centre of the Gaussian above the right (left) tail.
  double Centre(int sign) const {
    return (piece_.linear + (sign > 0 ? greatest_slope_ : least_slope_)) / (-2 * piece_.quadratic);
  }

 private:
  // In an order that loses least: the great parts cancel first.
  static double Sum(double constant, double line, double square, double up, double down) {
    return (up - down) + (line + square) + constant;
  }

  const DensityPiece& piece_;
  const std::vector<ExponentialTerm>&up_, &down_;
  const double order_;
  double least_slope_, greatest_slope_, up_spread_, down_spread_;
};

class Panels {
 public:
  // `matters`: the logarithm of a sum that the integral is added to.
  Panels(const Integrand& integrand, double from, double to, double matters)
      : integrand_(integrand),
        // (What is not worth integrating needs no peak.)
        peak_(integrand.LogBound(from, to, 0) + std::log(to - from) < matters - kNegligible
                  ? matters
                  : std::fmax(matters, Peak(from, to))) {
    Add(from, to, 0);
  }

  // log of the sum of all panels and their errors.
  double LogUp(double log_tails) const {
    // Exponents carry 6 roundings of their parts; the sum of n terms n more.
    const double rounding = kUnitRoundoff * (8 * weighted_size_ + (64 + nodes_) * sum_);
    const double total =
        sum_ + rounding + kBoundSlack * (bounds_ + std::exp(log_tails - peak_)) + kUnderflow;
    return NextUp(NextUp(peak_ + LogUp2(total)));
  }

 private:
  static double LogUp2(double x) { return NextUp(dpledger::accountant::LogUp(x)); }

  // About the greatest exponent: a guess, which decides only what is worth integrating. (One too
  // low has more integrated.)
  double Peak(double from, double to) const {
    constexpr int kSamples = 64;
    const double cell = (to - from) / kSamples;
    double at = from, best = -kInfinity;
    for (int i = 0; i <= kSamples; ++i) {
      const double value = integrand_.At(from + i * cell).exponent;
      if (value > best) {
        best = value;
        at = from + i * cell;
      }
    }
    double a = std::fmax(from, at - cell), b = std::fmin(to, at + cell);
    for (int i = 0; i < 30; ++i) {
      const double x = a + 0.4 * (b - a), y = b - 0.4 * (b - a);
      const double fx = integrand_.At(x).exponent, fy = integrand_.At(y).exponent;
      best = std::fmax(best, std::fmax(fx, fy));
      if (std::fabs(fx - fy) < kFlat) break;
      (fx > fy ? b : a) = fx > fy ? y : x;
    }
    return best;
  }

  void Add(double from, double to, int depth) {
    const double half = (to - from) / 2;
    if (!(half > 0)) return;
    const double middle = from + half;
    const double log_width = std::log(2 * half);
    const double within = integrand_.LogBound(from, to, 0) + log_width;
    if (within < peak_ - kNegligible + std::fmin(0, log_width)) {
      bounds_ += std::exp(within - peak_);
      return;
    }
    ++panels_;
    const double error =
        integrand_.LogBound(middle - kAlong * half, middle + kAlong * half, kAcross * half) +
        kLogError + std::log(half);
    const bool last = depth > 60 || panels_ > kGreatestPanels;
    if (!last && !(error < peak_ - 36 + std::fmin(0, log_width))) {
      Add(from, middle, depth + 1);
      Add(middle, to, depth + 1);
      return;
    }
    // Past the last panel a bound alone is left, which may be infinite.
    if (!(error < within)) {
      bounds_ += std::exp(within - peak_);
      return;
    }
    bounds_ += std::exp(error - peak_);
    for (size_t i = 0; i < Rule::abscissa().size(); ++i) {
      const double offset = half * Rule::abscissa()[i], weight = half * Rule::weights()[i];
      for (const double t : {middle - offset, middle + offset}) {
        const Integrand::Value value = integrand_.At(t);
        const double term = weight * std::exp(value.exponent - peak_);
        sum_ += term;
        weighted_size_ += term * value.size;
        ++nodes_;
      }
    }
  }

  const Integrand& integrand_;
  const double peak_;
  double sum_ = 0, weighted_size_ = 0, bounds_ = 0, nodes_ = 0;
  int panels_ = 0;
};

}  // namespace

double LogPieceMomentUp(const DensityPiece& piece, Direction direction, double order,
                        double matters) {
  const Integrand integrand(piece, direction, order);
  double from = piece.from, to = piece.to, log_tails = -kInfinity;
  if (piece.quadratic < 0) {
    const double reach = kCut / std::sqrt(-2 * piece.quadratic);
    const double low = std::fmin(integrand.Centre(-1), to) - reach;
    const double high = std::fmax(integrand.Centre(1), from) + reach;
    const auto add = [&log_tails](double log_tail) {
      const double most = std::fmax(log_tails, log_tail), least = std::fmin(log_tails, log_tail);
      log_tails = most + std::log1p(std::exp(least - most)) + 1e-12 * std::fabs(most);
    };
    if (low > from) {
      from = low;
      add(integrand.LogTail(low, -1));
    }
    if (high < to) {
      to = high;
      add(integrand.LogTail(high, 1));
    }
  }
  if (!(std::isfinite(from) && std::isfinite(to))) return kInfinity;
  return Panels(integrand, from, to, matters).LogUp(log_tails);
}

}  // namespace dpledger::accountant::rdp
