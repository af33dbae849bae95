#include "accountant/mechanism/fixed_size_round.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/mechanism/profile_pair.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

constexpr double kPi = 3.14159265358979323846;
// What is lost where doubles end.
constexpr double kFaint = 1e-300;
// Gram matrices are known to this, relatively; their differences to this of the greatest entry.
constexpr double kGramError = 16 * kUnitRoundoff;
// Cells of a normal variable, in standard deviations: their chords add the width squared over 6 to
// its variance.
constexpr double kWidth = 0.5;
constexpr double kMostInMiddle = 24;
constexpr double kBelow[] = {-4, -2.8};
constexpr double kAbove[] = {0.8, 2, 3.5, 6, 10, 18, 36};
// Points of a pair: from 0 on one by one, then so many an octave, and from some place on half of
// them.
constexpr int kPointsInOctave = 8, kFewerFrom = 64;
constexpr int kGreatestPlace = 1 << 20;

// What rounding does to a tail at x, relatively: its own error, and that of its argument.
double TailError(double x, double deviation) {
  const double size = 1 + std::fmin(40, std::fmax(0, x));
  return 3 * kNormalTailError + 16 * kUnitRoundoff * size * (size + deviation);
}

// E[(r - strike)_+] and E[(strike - r)_+], at least, for lognormal r of mean one. strike > 0.
double CallUp(double strike, double deviation) {
  if (strike == 0) return 1;
  const double own = deviation / 2 - std::log(strike) / deviation, less = own - deviation;
  const double gain = NormalTail(-own), loss = strike * NormalTail(-less);
  return std::fmax(0, gain - loss) + TailError(-less, deviation) * (gain + loss);
}
double PutUp(double strike, double deviation) {
  const double own = deviation / 2 - std::log(strike) / deviation, less = own - deviation;
  const double gain = strike * NormalTail(less), loss = NormalTail(own);
  return std::fmax(0, gain - loss) + TailError(own, deviation) * (gain + loss);
}

// 4 sin², of whole numbers of a right angle's parts, in units of half the greatest distance.
double SquaredChord(int part, int parts) {
  if (part == parts) return 4;
  const double sine = std::sin(kPi / 2 * part / parts);
  return 4 * sine * sine;
}

// Of the Gram matrix with these squared distances from w and between both records; `apart` may be
// raised. `unit`: what one squared unit is.
RatioVariances Of(double first, double second, double apart, double unit) {
  apart = std::fmax(apart, std::fabs(first - second));
  const double error = 4 * kGramError;
  const double common =
      apart == std::fabs(first - second) ? std::fmin(first, second) : (first + second - apart) / 2;
  const auto own = [&](double from_w, double other) {
    if (apart == other - from_w) return 0.0;  // all of it is common
    return unit * ((from_w - other + apart) / 2 + error);
  };
  return {unit * std::fmax(0, common) * (1 + kGramError), own(first, second), own(second, first)};
}
// The two at a right angle.
RatioVariances Apart(double first, double second, double unit) {
  return {0, unit * first * (1 + kGramError), unit * second * (1 + kGramError)};
}

}  // namespace

HockeyStick::Points HockeyStick::Points::Of(double variance) {
  if (variance == 0) return {{1}, {1}};
  const double deviation = std::sqrt(variance);
  std::vector<double> ends(std::begin(kBelow), std::end(kBelow));
  const double middle = deviation + 4;
  const double parts = std::fmin(kMostInMiddle, std::ceil(middle / kWidth));
  for (double i = 0; i <= parts; ++i) ends.push_back(-2 + middle * i / parts);
  for (const double beyond : kAbove) ends.push_back(deviation + 2 + beyond);
  const auto mass = [](double from, double to) {
    // On the side on which the tails are small.
    return from + to > 0 ? NormalTail(from) - NormalTail(to) : NormalTail(-to) - NormalTail(-from);
  };
  Points points;
  for (const double end : ends) points.value.push_back(std::exp(deviation * end - variance / 2));
  points.weight.assign(ends.size(), 0);
  // Below the first end: between it and 0.
  const double below = NormalTail(-ends.front()), first = points.value.front();
  const double below_of_mean = NormalTail(deviation - ends.front());
  const double below_error =
      (4 * kNormalTailError + 256 * kUnitRoundoff) * (below + below_of_mean / first);
  points.weight.front() = below_of_mean / first + below_error;
  points.at_zero = std::fmax(0, below - below_of_mean / first) + below_error;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    const double low = points.value[i], high = points.value[i + 1];
    const double of_mass = mass(ends[i], ends[i + 1]);
    const double of_mean = mass(ends[i] - deviation, ends[i + 1] - deviation);
    const double width_of_cell = high - low;
    // Each is a difference of tails: of these sizes, on either side.
    const double size =
        std::fmin(NormalTail(ends[i]), NormalTail(-ends[i + 1])) * high +
        std::fmin(NormalTail(ends[i] - deviation), NormalTail(deviation - ends[i + 1])) + of_mean +
        high * of_mass;
    const double error =
        (8 * kNormalTailError + kUnitRoundoff * (8 + 4 * ends[i + 1] * ends[i + 1])) * size /
        width_of_cell;
    points.weight[i] += std::fmax(0, (high * of_mass - of_mean) / width_of_cell) + error;
    points.weight[i + 1] += std::fmax(0, (of_mean - low * of_mass) / width_of_cell) + error;
  }
  points.weight.back() += NormalTail(ends.back());
  points.excess = NormalTail(ends.back() - deviation) + kFaint;
  return points;
}

HockeyStick::HockeyStick(double share, const RatioVariances& ratios, double faint)
    : share_(share),
      faint_(faint / share),
      first_is_smooth_(ratios.first >= ratios.second),
      smooth_(std::sqrt(std::fmax(ratios.first, ratios.second))),
      common_(Points::Of(ratios.common)),
      other_(Points::Of(std::fmin(ratios.first, ratios.second))) {}

double HockeyStick::Up(double k) const {
  // share·(common·(first - k·second) - fixed)_+
  const double fixed = (1 - share_) * (k - 1) / share_;
  double sum = 0;
  for (size_t i = 0; i < common_.value.size(); ++i) {
    const double weight = common_.weight[i] * common_.value[i];
    const double held = fixed / common_.value[i];
    double given = 0;
    for (size_t j = 0; j < other_.value.size(); ++j) {
      const double other = other_.value[j];
      // A call is at most 1, k puts of a strike that is less than other/k at most `other`.
      const double most = other_.weight[j] * (first_is_smooth_ ? 1 : other);
      if (weight * most < faint_) {
        given += most;
      } else if (first_is_smooth_) {
        given += other_.weight[j] * CallUp(k * other + held, smooth_);
      } else {
        // The difference errs by its terms' size.
        const double strike = (other - held + 8 * kUnitRoundoff * (other + held)) / k;
        if (strike > 0) given += other_.weight[j] * k * PutUp(strike, smooth_);
      }
    }
    if (first_is_smooth_) given += other_.at_zero * CallUp(held, smooth_);
    sum += weight * given;
  }
  // Beyond the last values the slopes are at most the means of what is left.
  sum += common_.excess + (first_is_smooth_ ? 0 : other_.excess);
  return std::fmin(1, share_ * sum * (1 + 1e-13) + kFaint);
}

std::vector<Cell> CellsOf(double distance, int angles) {
  const double unit = distance * distance / 4;
  std::vector<Cell> cells;
  for (int i = 0; i < angles; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (i + j < angles - 1) continue;
      const double near_first = SquaredChord(i, angles), far_first = SquaredChord(i + 1, angles);
      const double near_second = SquaredChord(j, angles), far_second = SquaredChord(j + 1, angles);
      if (i + j == angles - 1) {
        cells.push_back({Apart(far_first, near_second, unit), Apart(far_second, near_first, unit)});
      } else {
        const double apart = SquaredChord(2 * angles - i - j, angles);
        cells.push_back(
            {Of(far_first, near_second, apart, unit), Of(far_second, near_first, apart, unit)});
      }
    }
  }
  return cells;
}

Pair PairOfCell(double share, const Cell& cell, double mesh, double tail) {
  const auto points = [&](const RatioVariances& ratios) {
    const HockeyStick stick(share, ratios, 1e-3 * tail);
    std::vector<ProfilePoint> values;
    int step = 1;
    for (int place = 0; place < kGreatestPlace; place += step) {
      const double epsilon = mesh * place;
      if (epsilon > kGreatestProfileEpsilon) break;
      values.push_back({epsilon, stick.Up(std::fmax(1, ExpDown(epsilon)))});
      if (values.back().delta <= tail) break;
      if (place >= (place < kFewerFrom ? 2 : 1) * kPointsInOctave * step) step *= 2;
    }
    return values;
  };
  return PairOfProfile(points(cell.above), points(cell.below));
}

}  // namespace dpledger::accountant
