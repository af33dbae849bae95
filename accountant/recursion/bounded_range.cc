#include "accountant/recursion/bounded_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Grid points in one range, and in one unit of a greater one: the bound exceeds the optimal ε by a
// part in some 3000 at the most of them, in 50 at the fewest.
constexpr double kFewestCells = 4, kMostCells = 64;
// The greatest work, in points times cells times steps (a nanosecond or two each), and as a share
// of the work that a question may take.
constexpr double kGreatestWork = 1.5e8, kShareOfWork = 1.0 / 6;
// Beyond, e^ε leaves doubles.
constexpr double kGreatestRange = 30;

// V_j at the points x = 0, h, 2h, ... of the recursion over steps.
class Recursion {
 public:
  Recursion(double range, size_t cells, size_t points)
      : cells_(cells), step_(range / static_cast<double>(cells)), values_(points, 0) {
    const double whole = std::expm1(range);
    for (size_t j = 0; j <= cells; ++j) {
      // P's mass at the loss t = jh; the rest is at t - range.
      const double t = step_ * static_cast<double>(j);
      at_loss_.push_back(std::expm1(step_ * static_cast<double>(cells - j)) * std::exp(t) / whole);
      below_.push_back(std::expm1(t) / whole);
    }
    bend_ = std::tanh(step_ / 4) / whole;
    growth_ = std::exp(range);
  }

  void Step() {
    const size_t points = values_.size();
    // From -range to the last point and a range beyond, where V is at most what it is there.
    around_.resize(points + 2 * cells_);
    for (size_t i = 1; i <= cells_; ++i) {
      const double x = -step_ * static_cast<double>(i);
      const double mirrored = values_[std::min(i, points - 1)];
      around_[cells_ - i] = -std::expm1(x) + std::exp(x) * mirrored;
    }
    std::copy(values_.begin(), values_.end(), around_.begin() + static_cast<ptrdiff_t>(cells_));
    std::fill(around_.end() - static_cast<ptrdiff_t>(cells_), around_.end(), values_.back());
    std::fill(values_.begin(), values_.end(), 0);
    double* const value = values_.data();
    for (size_t j = 0; j < cells_; ++j) {
      // At x - t and at x + range - t, for both ends of the cell [jh, (j+1)h] of t.
      const double* const near = around_.data() + (cells_ - j);
      const double* const far = near + cells_;
      const double y0 = at_loss_[j], z0 = below_[j], y1 = at_loss_[j + 1], z1 = below_[j + 1];
      for (size_t i = 0; i < points; ++i) {
        const double d0 = near[i], d1 = near[i - 1], g0 = far[i], g1 = far[i - 1];
        const double ends = std::max(y0 * d0 + z0 * g0, y1 * d1 + z1 * g1);
        const double rounding = 4 * kUnitRoundoff * (growth_ * d1 + g1);
        const double bent = std::max(0.0, growth_ * (d1 - d0) - (g1 - g0) + rounding);
        value[i] = std::max(value[i], ends + bend_ * bent);
      }
    }
    for (double& v : values_) v = std::min(1.0, v * kOutward);
  }

  const std::vector<double>& values() const { return values_; }
  double step() const { return step_; }

 private:
  // Shares and exponentials of a step have up to a dozen roundings, relatively.
  static constexpr double kOutward = 1 + 64 * kUnitRoundoff;

  size_t cells_;
  double step_, bend_, growth_;
  std::vector<double> at_loss_, below_, values_, around_;
};

}  // namespace

absl::StatusOr<std::vector<ProfilePoint>> BoundedRangeProfile(double range, uint64_t count,
                                                              double negligible,
                                                              const Limits& limits) {
  const auto steps = static_cast<double>(count);
  const double work = std::fmin(kGreatestWork, kShareOfWork * limits.max_grid_work);
  const bool some = range >= std::numeric_limits<double>::min();  // below, quotients are lost
  if (!some || !(range <= kGreatestRange) || !(steps <= work)) return std::vector<ProfilePoint>();
  // Hoeffding: the composition is steps·range²/8-zCDP, so δ is negligible from here on.
  const double rho = steps * range * range / 8;
  const double reach =
      std::fmin(steps * range, rho + 2 * std::sqrt(rho * std::log(steps / negligible))) + range;
  const double cells = std::fmin(kMostCells * std::fmax(1, range),
                                 std::floor(std::sqrt(work * range / (steps * reach))));
  if (!(cells >= kFewestCells)) return std::vector<ProfilePoint>();
  const auto points = static_cast<size_t>(std::ceil(reach / range * std::floor(cells))) + 1;
  Recursion recursion(range, static_cast<size_t>(cells), points);
  for (uint64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(limits.Check());
    recursion.Step();
  }
  std::vector<ProfilePoint> profile;
  for (size_t i = 0; i < points; ++i) {
    // The grid of `range` is finer or coarser than this one by a rounding.
    const double epsilon = recursion.step() * static_cast<double>(i) * (1 + 4 * kUnitRoundoff);
    if (epsilon > kGreatestProfileEpsilon) break;
    profile.push_back({epsilon, recursion.values()[i]});
  }
  return profile;
}

}  // namespace dpledger::accountant
