#include "accountant/profile/trade_off.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::profile {
namespace {

// The computed e^ε is within 2 ulp, relatively 2^-51 at most, of the true one. R is concave with
// R(0) = 0 and does not fall, so R(x(1 + e)) is within a factor 1 + e of R(x).
constexpr double kExpError = 1e-15;

// The difference of equal numbers is exact.
double SubUp(double a, double b) { return a == b ? 0 : NextUp(a - b); }

// A product with zero is exact: what reveals everything leaves no risk at all.
double ScaleUp(double a, double b) { return a == 0 ? 0 : MulUp(a, b); }

RiskPoint Widened(double x, const Interval& risk) {
  return {x,
          {std::fmax(0, MulDown(risk.lower(), 1 - kExpError)),
           std::fmin(std::fmin(1, x), ScaleUp(risk.upper(), 1 + kExpError))}};
}

double SubDown(double a, double b) { return NextDown(a - b); }

// An upper bound on R's slope from `at` onwards: that of the line through R's greatest value at
// `at` and its least at `before`, by concavity; and it is 1 at most.
double SlopeUp(const RiskPoint& before, const RiskPoint& at) {
  const double rise = std::fmax(0, SubUp(at.risk.upper(), before.risk.lower()));
  const double run = SubDown(at.x, before.x);
  if (!(run > 0)) return 1;
  return rise == 0 ? 0 : std::fmin(1, DivUp(rise, run));
}

// The value at `to` of a line that is at least R from `at` onwards, away from `before`.
double ExtrapolateUp(const RiskPoint& before, const RiskPoint& at, double to) {
  return AddUp(at.risk.upper(), MulUp(SlopeUp(before, at), SubUp(to, at.x)));
}

// The same towards smaller x, from `after`: R rises between them by at least what the bounds say,
// and does not fall where they say nothing.
double ExtrapolateDown(const RiskPoint& at, const RiskPoint& after, double to) {
  const double reach = SubDown(at.x, to);
  const double rise = std::fmax(0, SubDown(after.risk.lower(), at.risk.upper()));
  const double slope = rise == 0 ? 0 : DivDown(rise, SubUp(after.x, at.x));
  return SubUp(at.risk.upper(), std::fmax(0, MulDown(slope, reach)));
}

}  // namespace

RiskPoint RiskAt(double epsilon, const Interval& delta) {
  return Widened(std::exp(epsilon), {SubDown(1, delta.upper()), SubUp(1, delta.lower())});
}

RiskPoint RiskBelow(double epsilon, const Interval& other_delta) {
  const double x = std::exp(-epsilon);
  return Widened(x, {MulDown(x, std::fmax(0, SubDown(1, other_delta.upper()))),
                     ScaleUp(SubUp(1, other_delta.lower()), x)});
}

RiskFunction::RiskFunction(std::vector<RiskPoint> points) : points_(std::move(points)) {
  const RiskPoint origin{0, {0, 0}};
  const size_t n = points_.size();
  caps_.push_back(
      {0, points_[0].x, ExtrapolateDown(points_[0], points_[1], 0), points_[0].risk.upper()});
  for (size_t i = 0; i + 1 < n; ++i) {
    const RiskPoint& from = points_[i];
    const RiskPoint& to = points_[i + 1];
    const RiskPoint& before = i > 0 ? points_[i - 1] : origin;
    // Past the last point R is at most 1, and its slope is only known not to be negative.
    caps_.push_back({from.risk.upper(), ExtrapolateUp(before, from, to.x),
                     i + 2 < n ? ExtrapolateDown(to, points_[i + 2], from.x) : to.risk.upper(),
                     to.risk.upper()});
  }
}

double RiskFunction::ExcessOver(const Cap& cap, double g_from, double g_to, double w_from,
                                double w_to) {
  // Any mean of the two lines is at least R, and its excess over g is linear (over 1 + x,
  // monotone), so greatest at an end. The mean is chosen so that both ends are alike; how it is
  // chosen bears on width alone.
  const auto at = [&](double share) {
    const double rest = share == 1 ? 0 : NextUp(1 - share);
    const double from =
        SubUp(AddUp(MulUp(share, cap.first_from), MulUp(rest, cap.second_from)), g_from);
    const double to = SubUp(AddUp(MulUp(share, cap.first_to), MulUp(rest, cap.second_to)), g_to);
    return std::fmax(MulUp(from, w_from), MulUp(to, w_to));
  };
  const double slope =
      w_from * (cap.first_from - cap.second_from) - w_to * (cap.first_to - cap.second_to);
  const double gap = w_to * (cap.second_to - g_to) - w_from * (cap.second_from - g_from);
  double best = std::fmin(at(0), at(1));
  if (slope != 0) {
    const double share = gap / slope;
    if (share > 0 && share < 1) best = std::fmin(best, at(share));
  }
  return best;
}

double RiskFunction::BeyondLast(double alpha) const {
  // A mean of the constant 1 and of the line through the last two points whose slope is at most α:
  // then the excess is greatest at the last point.
  const RiskPoint& last = points_.back();
  const double slope = SlopeUp(points_[points_.size() - 2], last);
  const double share = slope <= alpha ? 1 : std::fmax(0, DivDown(alpha, slope));
  const double rest = share == 1 ? 0 : NextUp(1 - share);
  return SubUp(AddUp(MulUp(share, last.risk.upper()), rest), MulDown(alpha, last.x));
}

Interval RiskFunction::TypeTwoError(double alpha, size_t* widest) const {
  double lower = 0, upper = std::fmax(0, BeyondLast(alpha));
  size_t segment = size();
  double from = 0;
  for (size_t i = 0; i < size(); ++i) {
    const double to = points_[i].x;
    const double excess = ExcessOver(caps_[i], MulDown(alpha, from), MulDown(alpha, to), 1, 1);
    if (excess > upper) {
      upper = excess;
      segment = i;
    }
    // Any test has β + xα >= R(x).
    lower = std::fmax(lower, SubDown(points_[i].risk.lower(), MulUp(alpha, to)));
    from = to;
  }
  // No test does worse than a coin.
  upper = std::fmax(lower, std::fmin(upper, alpha == 0 ? 1 : SubUp(1, alpha)));
  if (widest != nullptr) *widest = segment;
  if (alpha == 1) return {0, 0};
  return {lower, upper};
}

RiskFunction::Widest RiskFunction::GreatestExcess(const std::vector<double>& other) const {
  Widest greatest{0, 0};
  const auto weight = [](double x) { return DivUp(1, NextDown(1 + x)); };
  for (size_t i = 1; i < size(); ++i) {
    const double excess = ExcessOver(caps_[i], other[i - 1], other[i], weight(points_[i - 1].x),
                                     weight(points_[i].x));
    if (excess > greatest.value) greatest = {excess, i};
  }
  return greatest;
}

}  // namespace dpledger::accountant::profile
