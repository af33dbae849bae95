#include "accountant/calibration/tried.h"

#include <algorithm>
#include <cmath>

namespace dpledger::accountant {
namespace {

// A slope less than this is no slope.
constexpr double kFlattest = 1e-6;
// A guess is at least this share of the bracket inside it.
constexpr double kInside = 1e-3;

// The point nearest to either end, apart from the ends.
const Tried* Third(const Tried& safe, const Tried& missed, const std::vector<Tried>& all) {
  const Tried* third = nullptr;
  const auto away = [&](const Tried& point) {
    return std::fmin(std::fabs(point.y - safe.y), std::fabs(point.y - missed.y));
  };
  for (const Tried& point : all) {
    if (!std::isfinite(point.log_epsilon) || !(away(point) > 0)) continue;
    if (third == nullptr || away(point) < away(*third)) third = &point;
  }
  return third;
}

}  // namespace

double FallAt(const std::vector<Tried>& points, double y) {
  const Tried *near = nullptr, *next = nullptr;
  for (const Tried& point : points) {
    if (!std::isfinite(point.log_epsilon)) continue;
    if (near == nullptr || std::fabs(point.y - y) < std::fabs(near->y - y)) {
      next = near;
      near = &point;
    } else if (next == nullptr || std::fabs(point.y - y) < std::fabs(next->y - y)) {
      next = &point;
    }
  }
  if (next == nullptr || near->y == next->y) return 0;
  const double slope = (near->log_epsilon - next->log_epsilon) / (next->y - near->y);
  return slope > kFlattest ? slope : 0;
}

std::optional<double> Meets(const Tried& safe, const Tried& missed, const std::vector<Tried>& all,
                            double aim, double tolerance) {
  const double wide = safe.y - missed.y;
  const double rise = missed.log_epsilon - safe.log_epsilon;
  if (!std::isfinite(rise) || !(rise > 0)) return std::nullopt;
  const double share = std::clamp((aim - safe.log_epsilon) / rise, 0.0, 1.0);
  double y = safe.y - wide * share, off = 0.1 * wide * std::fmin(share, 1 - share);
  if (const Tried* third = Third(safe, missed, all); third != nullptr) {
    // Newton's form.
    const double first = -wide / rise;
    const double second =
        ((third->y - missed.y) / (third->log_epsilon - missed.log_epsilon) - first) /
        (third->log_epsilon - safe.log_epsilon);
    const double bent = second * (aim - safe.log_epsilon) * (aim - missed.log_epsilon);
    if (std::isfinite(bent) && y + bent > missed.y && y + bent < safe.y) {
      y += bent;
      off = 0.2 * std::fabs(bent);
    }
  }
  off = std::fmax(off, 0.4 * std::fmin(wide, tolerance));
  y += y < (safe.y + missed.y) / 2 ? off : -off;
  return std::clamp(y, missed.y + kInside * wide, safe.y - kInside * wide);
}

}  // namespace dpledger::accountant
