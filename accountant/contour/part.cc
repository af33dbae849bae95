#include "accountant/contour/part.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

using Complex = std::complex<double>;
constexpr double kUnit = kUnitRoundoff;
constexpr double kGreatestTurn = 1e6;  // radians for which SinCos is exact
// The end's bound is scaled by estimates, which may be off by this from the line's own sums.
constexpr double kScaleSlack = 0.1;
constexpr int kPatience = 4;  // lengths tried before the greatest one is

}  // namespace

bool Part::ChoosePeriod(const Measure& measure, const Tilted& saddle, double log_goal) {
  const double deviation = std::sqrt(saddle.Curvature());
  double period_up = kInfinity, period_down = kInfinity;
  const auto period = [&](double order, double t) {
    return (measure.At(order).log_mgf - order * laid_epsilon_ + LogChernoffFrom0(order) -
            log_goal) /
           t;
  };
  for (const double k : {1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 12.0, 16.0, 22.0}) {
    const double t = k / deviation, up = period(c_ + t, t);
    if (up < period_up) period_up = up, up_ = t;
    if (t >= c_) continue;
    const double down = period(c_ - t, t);
    if (down < period_down) period_down = down, down_ = t;
  }
  const double to_zero = period(0, c_);
  if (to_zero < period_down) period_down = to_zero, down_ = c_;
  period_ = 1.02 * std::fmax(std::fmax(period_up, period_down), 2 * deviation);
  if (!std::isfinite(period_)) return false;
  spacing_ = 2 * kPi / period_;
  above_ = {c_ + up_, measure.At(c_ + up_, true).upper};
  below_.order = down_ < c_ ? c_ - down_ : 0;
  below_.log_mgf = measure.At(below_.order, true).upper;
  return true;
}

double Part::LogPast(const Measure& measure, const SumsAt& sums, double y) const {
  return measure.LogModulusFrom(sums, c_, y) + kScaleSlack - c_ * laid_epsilon_ - std::log(kPi * y);
}

bool Part::SumUp(const ShellsOnLine& line, double log_past, size_t nodes) {
  level_ = line.level();
  level_error_ = line.level_error();
  if (!(2 * (line.mismatch() + level_error_) < kScaleSlack)) return false;
  const double scale = spacing_ / kPi;
  re_.resize(nodes);
  im_.resize(nodes);
  y_.resize(nodes);
  double lost = 0;
  value_ = scale / 2 * line.At(0, lost).real() / (c_ * (1 + c_));
  double error = scale / 2 * lost / (c_ * (1 + c_)) + 16 * kUnit * std::fabs(value_);
  for (size_t k = 0; k < nodes; ++k) {
    const double y = y_[k] = spacing_ * static_cast<double>(k + 1);
    const Complex f = line.At(k + 1, lost), z(c_, y);
    const Complex kernel = scale / (z * (z + 1.0));
    const Complex turned = f * std::polar(1.0, -y * laid_epsilon_) * kernel;
    re_[k] = turned.real();
    im_[k] = turned.imag();
    const double size = std::abs(turned);
    error += 1.01 * std::abs(kernel) * lost +
             size * kUnit * (40 + 4 * y * laid_epsilon_ + static_cast<double>(nodes));
    error_slope_ += size * 8 * kUnit * y;
  }
  error += std::exp(log_past + c_ * laid_epsilon_ - level_) * (1 + 1e-6);
  error_ = error * (1 + 1e-9);
  return std::isfinite(error_);
}

absl::StatusOr<std::optional<Part>> Part::Lay(Measure& measure, double epsilon, double log_goal,
                                              size_t most_nodes, const Limits& limits) {
  const Tilted saddle = measure.ForEpsilon(epsilon);
  if (!std::isfinite(saddle.log_mgf) || !(saddle.variance >= 0)) return std::nullopt;
  Part part;
  part.c_ = (1 + saddle.c) - 1;  // so that 1 + c is exact
  part.laid_epsilon_ = epsilon;
  if (!part.ChoosePeriod(measure, saddle, log_goal)) return std::nullopt;
  const SumsAt sums = measure.Sums(part.c_);
  const double log_size = saddle.log_mgf - part.c_ * epsilon - log_goal;
  double nodes = std::sqrt(2 * std::fmax(2.0, log_size) / saddle.Curvature()) / part.spacing_;
  const double most = static_cast<double>(most_nodes);
  for (int i = 0;; ++i) {
    RETURN_IF_ERROR(limits.Check());
    nodes = std::ceil(nodes);
    if (!(nodes <= most) || measure.work().IsSpent()) return std::nullopt;
    // The part past the end falls slowly here, and may be too large at any length.
    if (i == kPatience && part.LogPast(measure, sums, most * part.spacing_) > log_goal) {
      return std::nullopt;
    }
    const double log_past = part.LogPast(measure, sums, nodes * part.spacing_);
    if (log_past <= log_goal) {
      const double digits = std::fmax(5.0, log_size) + 4;
      const size_t count = static_cast<size_t>(nodes);
      ASSIGN_OR_RETURN(
          const std::optional<ShellsOnLine> line,
          ShellsOnLine::Put(measure, sums, part.c_, part.spacing_, count, digits, limits));
      if (!line.has_value() || !part.SumUp(*line, log_past, count)) return std::nullopt;
      return std::optional<Part>(std::move(part));
    }
    nodes = std::fmax(1.25 * nodes, nodes + 1);
  }
}

PartOfDelta Part::At(double epsilon) const {
  const double away = epsilon - laid_epsilon_;
  PartOfDelta result;
  double value = value_, turning = 0;
  std::vector<double> angle(y_.size()), sine(y_.size()), cosine(y_.size());
  for (size_t k = 0; k < y_.size(); ++k) angle[k] = y_[k] * away;
  if (!y_.empty() && !(std::fabs(angle.back()) < kGreatestTurn)) {
    result.upper = 1;
    return result;
  }
  SinCos(angle, sine, cosine);
  for (size_t k = 0; k < y_.size(); ++k) {
    value += re_[k] * cosine[k] + im_[k] * sine[k];
    turning += y_[k] * (im_[k] * cosine[k] - re_[k] * sine[k]);
  }
  const double error =
      error_ + error_slope_ * (std::fabs(epsilon) + std::fabs(laid_epsilon_) + std::fabs(away));
  const double level = level_ - c_ * epsilon;
  const double off = level_error_ + 8 * kUnit * (std::fabs(level_) + c_ * epsilon + 4);
  // Aliases, absolutely: both sums are geometric.
  const double over_up = up_ * period_, over_down = down_ * period_;
  const double aliases =
      (std::exp(above_.LogDeltaUp(epsilon) - over_up) / -std::expm1(-over_up) +
       std::exp(below_.LogDeltaUp(epsilon) - over_down) / -std::expm1(-over_down)) *
      std::exp(16 * kUnit * (1 + over_up + over_down)) * (1 + 1e-9);
  const double scale = std::exp(level);
  result.value = scale * value;
  result.slope = scale * (turning - c_ * value);
  result.upper = std::fmax(0, scale * (value + error) * std::exp(off) * (1 + 1e-15));
  result.lower =
      std::fmax(0, scale * (value - error) * std::exp(-off) * (1 - 1e-15) - aliases * (1 + 1e-15));
  return result;
}

}  // namespace dpledger::accountant::contour
