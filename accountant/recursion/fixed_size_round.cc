#include "accountant/recursion/fixed_size_round.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/profile_pair.h"

namespace dpledger::accountant {
namespace {

// Parts of a cell, along the angle that its hockey stick grows with.
constexpr int kSlices = 4;
// More than underflow loses.
constexpr double kFaint = 1e-300;
// Gram matrices are known to this, relatively; their differences to this of the greatest entry.
constexpr double kGramError = 16 * kUnitRoundoff;
// Cells of a normal variable, in standard deviations: their chords add the width squared over 6 to
// its variance. That fine to kFar beyond the mean of the law that r tilts it to, as tails come from
// there; then ever wider, to where doubles end.
constexpr double kWidth = 0.3;
constexpr double kBelow[] = {-4, -2.8};
constexpr double kFirstFine = -2, kFar = 5, kLast = 38;
// Strikes of an option, in standard deviations of log r from its mean: to where the option is worth
// as much as it can be, to where at most it is worth anything, and from one to the next. At x
// deviations chords add a share of (x·step)²/8.
constexpr double kFewDeviations = 8, kMostDeviations = 40, kStrikeStep = 0.03;
// Points of a pair: from 0 on at every mesh, then kPointsInOctave an octave, and half of these from
// kFewerFrom meshes on. They stay within kFarthestPoints, or kFarthestInMeshes meshes, of each
// other: a loss that is spread over more shows more.
constexpr int kPointsInOctave = 8, kFewerFrom = 64;
constexpr double kFarthestPoints = 0.1, kFarthestInMeshes = 4;
constexpr int kGreatestPlace = 1 << 20;

// Relative rounding error of a tail at x: its own error, and that of its argument.
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

double FourSinSquared(double angle) { return 4 * std::sin(angle) * std::sin(angle); }
double FourCosSquared(double angle) { return 4 * std::cos(angle) * std::cos(angle); }

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

HockeyStick::Option::Option(double deviation, bool is_call, std::optional<double> faint)
    : deviation_(deviation), is_call_(is_call) {
  if (!faint.has_value() || deviation == 0) return;
  // An option is worth less than the tail of r, or of its mean's law, beyond the strike.
  const double far =
      std::fmin(kMostDeviations, std::sqrt(std::fmax(0, -2 * std::log(*faint))) + deviation);
  const double below = is_call ? kFewDeviations : far, above = is_call ? far : kFewDeviations;
  const double in_octave = std::ceil(std::log2(std::log(2) / (kStrikeStep * deviation)));
  shift_ = 52 - static_cast<int>(std::clamp(in_octave, 0.0, 20.0));
  const double middle = -deviation * deviation / 2, last = std::exp(middle + above * deviation);
  first_ = std::bit_cast<uint64_t>(std::exp(middle - below * deviation));
  do {
    value_.push_back(Exactly(StrikeAt(value_.size())));
  } while (StrikeAt(value_.size() - 1) < last);
}

double HockeyStick::Option::StrikeAt(size_t i) const {
  return std::bit_cast<double>(first_ + (static_cast<uint64_t>(i) << shift_));
}

double HockeyStick::Option::Exactly(double strike) const {
  return is_call_ ? CallUp(strike, deviation_) : PutUp(strike, deviation_);
}

double HockeyStick::Option::Up(double strike) const {
  if (value_.empty()) return Exactly(strike);
  // Before the first strike and after the last one.
  const uint64_t bits = std::bit_cast<uint64_t>(strike);
  if (bits <= first_) return is_call_ ? 1 : value_.front();
  const size_t i = (bits - first_) >> shift_;
  if (i + 1 >= value_.size()) return is_call_ ? value_.back() : strike;
  const double low = StrikeAt(i), high = StrikeAt(i + 1);
  return (value_[i] * (high - strike) + value_[i + 1] * (strike - low)) / (high - low);
}

HockeyStick::Points HockeyStick::Points::Of(double variance) {
  if (variance == 0) return {{1}, {1}};
  const double deviation = std::sqrt(variance);
  std::vector<double> ends(std::begin(kBelow), std::end(kBelow));
  const double last_fine = deviation + kFar;
  double width = kWidth, end = kFirstFine;
  for (; end < last_fine; end += width) ends.push_back(end);
  for (; end < deviation + kLast; end += width) {
    ends.push_back(end);
    width *= 2;
  }
  ends.push_back(deviation + kLast);
  const auto mass = [](double from, double to) {
    // On the side on which the tails are small.
    return from + to > 0 ? NormalTail(from) - NormalTail(to) : NormalTail(-to) - NormalTail(-from);
  };
  Points points;
  for (const double at : ends) points.value.push_back(std::exp(deviation * at - variance / 2));
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
      common_(Points::Of(ratios.common)),
      other_(Points::Of(std::fmin(ratios.first, ratios.second))),
      smooth_(
          std::sqrt(std::fmax(ratios.first, ratios.second)), first_is_smooth_,
          common_.value.size() * other_.value.size() > 1 ? std::optional(faint_) : std::nullopt) {}

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
        given += other_.weight[j] * smooth_.Up(k * other + held);
      } else {
        // The difference errs by its terms' size.
        const double strike = (other - held + 8 * kUnitRoundoff * (other + held)) / k;
        if (strike > 0) given += other_.weight[j] * k * smooth_.Up(strike);
      }
    }
    if (first_is_smooth_) given += other_.at_zero * smooth_.Up(held);
    sum += weight * given;
  }
  // Beyond the last values the slopes are at most the means of what is left.
  sum += common_.excess + (first_is_smooth_ ? 0 : other_.excess);
  return std::fmin(1, share_ * sum * (1 + 1e-13) + kFaint);
}

std::vector<Cell> CellsOf(double distance, const std::vector<double>& angles) {
  const double unit = distance * distance / 4;
  // Of a first record at a right angle less `first`, a second one at `second`.
  const auto of = [&](double first, double second, double apart) {
    return Of(FourCosSquared(first), FourSinSquared(second), apart, unit);
  };
  const size_t last = angles.size() - 1;
  std::vector<Cell> cells;
  for (size_t i = 0; i < last; ++i) {
    const double near = angles[i], far = angles[i + 1];
    for (size_t j = i; j < last; ++j) {
      if (near + angles[j] >= kRightAngle) break;  // with the records exchanged
      const double from = angles[j], to = angles[j + 1];
      Cell cell;
      if (i == j) {
        cell.above.push_back(Apart(FourCosSquared(near), FourSinSquared(from), unit));
        cell.below.push_back(Apart(FourSinSquared(to), FourCosSquared(far), unit));
      } else {
        // (The last slice ends where the cell does, without a rounding.)
        for (int k = 0; k < kSlices; ++k) {
          const double start = static_cast<double>(k) / kSlices,
                       end = static_cast<double>(k + 1) / kSlices;
          const auto first = [&](double at) { return far - at * (far - near); };
          const auto second = [&](double at) { return from + at * (to - from); };
          cell.above.push_back(
              of(k + 1 == kSlices ? near : first(end), from, FourCosSquared(from - first(start))));
          const RatioVariances below =
              of(far, k + 1 == kSlices ? to : second(end), FourCosSquared(second(start) - far));
          cell.below.push_back({below.common, below.second, below.first});
        }
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::vector<int> PointsOfPair(double mesh, double reach) {
  std::vector<int> places = {0};
  int step = 1;
  while (mesh * places.back() < reach && places.back() < kGreatestPlace) {
    const int place = places.back();
    const bool fewer = place >= (place < kFewerFrom ? 2 : 1) * kPointsInOctave * step;
    if (fewer && 2 * step * mesh <= std::fmax(kFarthestPoints, kFarthestInMeshes * mesh)) step *= 2;
    places.push_back(place + step);
  }
  return places;
}

Pair PairOfCell(double share, double distance, const Cell& cell, double mesh, double tail) {
  // No place has more than both records at the two ends, which is in closed form.
  const HockeyStick ends(share, Apart(4, 0, distance * distance / 4), 0);
  const std::vector<int> places = PointsOfPair(mesh, kGreatestProfileEpsilon);
  const auto points = [&](const std::vector<RatioVariances>& all) {
    std::vector<HockeyStick> sticks;
    for (const RatioVariances& ratios : all) sticks.emplace_back(share, ratios, 1e-3 * tail);
    std::vector<ProfilePoint> values;
    for (const int place : places) {
      const double epsilon = mesh * place;
      if (epsilon > kGreatestProfileEpsilon) break;
      const double k = std::fmax(1, ExpDown(epsilon));
      double greatest = 0;
      for (const HockeyStick& stick : sticks) greatest = std::fmax(greatest, stick.Up(k));
      values.push_back({epsilon, std::fmin(greatest, ends.Up(k))});
      if (values.back().delta <= tail) break;
    }
    return values;
  };
  return PairOfProfile(points(cell.above), points(cell.below));
}

}  // namespace dpledger::accountant
