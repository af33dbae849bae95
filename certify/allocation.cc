#include "certify/allocation.h"

#include <flint/fmpz_poly.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "certify/laws.h"
#include "certify/steps.h"

namespace dpledger::certify {
namespace {

constexpr slong kFixedBits = 160;  // of masses
constexpr slong kBallBits = 224;
constexpr long kPlacesPerPoint = 32;  // of the loss, on average
constexpr slong kDensityBits = 64;
constexpr double kFarEnd = 0x1p-110;    // of E (Y - x)_+
constexpr double kRounding = 0x1p-150;  // more than HullOf may be above a height below kFarthest
constexpr double kFarthest = 0x1p40;
constexpr uint64_t kMostRounds = 100'000;

// Numbers in units of 2^-kFixedBits, each within `error` units of a mass that it stands for.
class Masses {
 public:
  explicit Masses(long places) : places_(places) { fmpz_poly_init2(units_, places); }
  Masses(const Masses& other) : places_(other.places_), error_(other.error_) {
    fmpz_poly_init(units_);
    fmpz_poly_set(units_, other.units_);
  }
  Masses& operator=(const Masses&) = delete;
  ~Masses() { fmpz_poly_clear(units_); }

  void Set(long place, const Ball& mass) {
    arb_t scaled;
    fmpz_t unit;
    arb_init(scaled), fmpz_init(unit);
    arb_mul_2exp_si(scaled, mass.get(), kFixedBits);
    arf_get_fmpz(unit, arb_midref(scaled), ARF_RND_NEAR);
    fmpz_poly_set_coeff_fmpz(units_, place, unit);
    error_ = std::max(error_, 1 + mag_get_d(arb_radref(scaled)));
    arb_clear(scaled), fmpz_clear(unit);
  }
  Ball At(long place) const {
    Ball mass;
    fmpz_t unit;
    fmpz_init(unit);
    fmpz_poly_get_coeff_fmpz(unit, units_, place);
    arb_set_fmpz(mass.get(), unit);
    fmpz_clear(unit);
    arb_mul_2exp_si(mass.get(), mass.get(), -kFixedBits);
    return mass.Widened(std::ldexp(error_, -kFixedBits));
  }
  long places() const { return places_; }
  // The sum of one of each, below places().
  void Add(const Masses& other) {
    // Each product has the error of one factor times the other, all of which are 1 at most and
    // their errors; the division drops less than a unit.
    const double all =
        1 + std::ldexp(static_cast<double>(places_) * (error_ + other.error_), -kFixedBits);
    error_ = 1.000001 * all * (error_ + other.error_) + 1;
    fmpz_poly_mullow(units_, units_, other.units_, places_);
    fmpz_poly_scalar_tdiv_2exp(units_, units_, kFixedBits);
  }

 private:
  fmpz_poly_t units_;
  long places_;
  double error_ = 0;
};

// Of Y = e^{μZ - μ²/2}, Z normal: the mean is 1.
class Lognormal {
 public:
  explicit Lognormal(const Ball& mu) : mu_(mu), mode_(Exp(-(mu * mu * 1.5))) {}
  // E (x - Y)_+, and Pr[Y <= x].
  Ball Shortfall(const Ball& x) const {
    const Ball z = Place(x);
    return x * NormalTail(-z) - NormalTail(mu_ - z);
  }
  Ball Below(const Ball& x) const { return NormalTail(-Place(x)); }
  // At least the density anywhere between the two: it rises up to the mode, and falls from there.
  Ball Densest(const Ball& from, const Ball& to) const {
    const Ball ends = Max(Density(from), Density(to));
    const bool apart = CertainlyLess(mode_, from) || CertainlyLess(to, mode_);
    return (apart ? ends : Max(ends, Density(mode_))).Greatest();
  }

 private:
  Ball Place(const Ball& x) const { return Log(x) / mu_ + mu_ / 2.0; }
  Ball Density(const Ball& x) const {
    if (!CertainlyPositive(x)) return 0.0;  // at 0
    const Ball z = Place(x);
    return Exp(-(z * z / 2.0)) / (x * mu_ * Sqrt(Ball(2.0) * Pi()));
  }
  Ball mu_, mode_;
};

// The law with these E (x - W)_+ at x = 0, step, 2 step, ..., which is linear between them: its
// masses but for those from the last one on.
Masses LawOf(const std::vector<Ball>& shortfalls, const Ball& step, long places) {
  Masses law(places);
  Ball before = 0.0;
  for (size_t k = 0; k + 1 < shortfalls.size(); ++k) {
    const Ball below = (shortfalls[k + 1] - shortfalls[k]) / step;
    law.Set(static_cast<long>(k), below - before);
    before = below;
  }
  return law;
}

Masses SumOf(const Masses& one, uint64_t count) {
  Masses sum(one);
  for (int bit = std::bit_width(count) - 2; bit >= 0; --bit) {
    sum.Add(sum);
    if ((count >> bit & 1) != 0) sum.Add(one);
  }
  return sum;
}

// The lower convex hull of `heights` over 0, 1, ...: its values there. Ends stay.
std::vector<Ball> HullOf(const std::vector<Ball>& heights) {
  std::vector<size_t> corners;
  // Whether b lies on the line from a to c, or above it. Ends of balls: their middles are exact.
  const auto above = [&](size_t a, size_t b, size_t c) {
    const Ball left = (heights[b] - heights[a]) * static_cast<double>(c - b);
    return !CertainlyLess(left, (heights[c] - heights[b]) * static_cast<double>(b - a));
  };
  for (size_t k = 0; k < heights.size(); ++k) {
    while (corners.size() > 1 && above(corners[corners.size() - 2], corners.back(), k))
      corners.pop_back();
    corners.push_back(k);
  }
  std::vector<Ball> hull(heights.size());
  for (size_t i = 0; i + 1 < corners.size(); ++i) {
    const size_t a = corners[i], b = corners[i + 1];
    for (size_t k = a; k <= b; ++k) {
      hull[k] = heights[a] +
                (heights[b] - heights[a]) * static_cast<double>(k - a) / static_cast<double>(b - a);
    }
  }
  return hull;
}

// Shortfalls of a law on the lattice that are at most Y's everywhere. Empty: none were found.
// CLAIM.md, section 7.
std::vector<Ball> Under(const Lognormal& y, const std::vector<Ball>& shortfalls, const Ball& step) {
  std::vector<Ball> under = {0.0};
  bool is_positive = false;
  for (size_t k = 1; k < shortfalls.size(); ++k) {
    Ball less;
    {
      const Bits few(kDensityBits);
      const Ball from = step * static_cast<double>(k - 1), to = step * static_cast<double>(k + 1);
      less = (y.Densest(from, to) * step * step / 8.0).Greatest();
    }
    const Ball height = (shortfalls[k] - less - kRounding).Least();
    // From the first place on where 0 itself is so much lower.
    under.push_back(is_positive ? height : Ball(0.0));
    is_positive = is_positive || CertainlyPositive(height);
    // Y is hardly ever greater.
    if (CertainlyLess(shortfalls[k] - step * static_cast<double>(k) + 1.0, kFarEnd)) break;
  }
  std::vector<Ball> hull = HullOf(under);
  // What lies past the last place can be put at one more, so that the mean is 1.
  const size_t last = hull.size() - 1;
  const Ball end = step * static_cast<double>(last);
  const bool is_law = CertainlyAtMost(end, kFarthest) && CertainlyAtMost(0.0, hull[1]) &&
                      CertainlyAtMost((hull[last] - hull[last - 1]) / step, y.Below(end)) &&
                      CertainlyAtMost(end - 1.0, hull[last]);
  return is_law ? hull : std::vector<Ball>();
}

// Places about as far apart in the logarithm, up to the end.
std::vector<long> PointsOf(const Masses& sum, double ignored) {
  const long end = sum.places(), points_wanted = end / kPlacesPerPoint;
  long first = 1;
  for (double below = 0; first < end; ++first) {
    below += sum.At(first).Middle();
    if (below > ignored) break;
  }
  std::vector<long> points = {first};
  const double range = std::log(static_cast<double>(end) / static_cast<double>(first));
  for (long i = 1; i < points_wanted; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points_wanted);
    const long at = std::lround(static_cast<double>(first) * std::exp(range * part));
    if (at > points.back() && at < end) points.push_back(at);
  }
  points.push_back(end);
  return points;
}

// From each point up to the next.
Cells CellsOf(const Masses& sum, const std::vector<long>& points, const Ball& unit) {
  Cells cells;
  const auto at = [&](long k) { return unit * static_cast<double>(k); };
  for (long k = 1; k < points[0]; ++k) cells.before = cells.before + sum.At(k) * at(k);
  for (size_t j = 0; j + 1 < points.size(); ++j) {
    Ball all = 0.0, excess = 0.0;
    for (long k = points[j]; k < points[j + 1]; ++k) {
      const Ball mass = sum.At(k);
      all = all + mass, excess = excess + mass * at(k - points[j]);
    }
    cells.ratios.push_back(at(points[j]));
    cells.masses.push_back(all), cells.excesses.push_back(excess);
  }
  cells.ratios.push_back(at(points.back()));
  return cells;
}

// Where the sum of so many ends, but for about `ignored` of what one of them is with the record.
double EndOf(double mu, double count, double ignored) {
  double z = 0;
  while (std::erfc(z / std::sqrt(2.0)) / 2 > ignored) z += 0.05;
  return count + z * std::sqrt(count * std::expm1(mu * mu)) + std::exp(z * mu + mu * mu / 2);
}

}  // namespace

absl::StatusOr<Enclosed> EncloseAllocation(const Ball& mu, uint64_t rounds,
                                           const Closeness& closeness) {
  if (rounds > kMostRounds) return Unknown("a random allocation to more than 100,000 rounds");
  const Bits wide(kBallBits);
  const double count = static_cast<double>(rounds);
  const Ball step =
      EndOf(mu.Middle(), count, closeness.ignored) / static_cast<double>(closeness.places);
  const Lognormal one(mu);
  std::vector<Ball> shortfalls = {0.0};
  for (long k = 1; k <= closeness.places && shortfalls.back().IsFinite(); ++k)
    shortfalls.push_back(one.Shortfall(step * static_cast<double>(k)));
  if (!shortfalls.back().IsFinite()) {
    return Unknown("a random allocation whose noise is too small or too great");
  }
  const Ball unit = step / count;
  const Masses above = SumOf(LawOf(shortfalls, step, closeness.places), rounds);
  const std::vector<long> points = PointsOf(above, closeness.ignored);
  const std::vector<Ball> under = Under(one, shortfalls, step);
  const Pair below =
      under.empty()
          ? Pair()
          : Merge(CellsOf(SumOf(LawOf(under, step, closeness.places), rounds), points, unit), 0.0);
  return Enclosed{Spread(CellsOf(above, points, unit)), below};
}

}  // namespace dpledger::certify
