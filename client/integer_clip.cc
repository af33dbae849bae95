#include "client/integer_clip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client {
namespace {

constexpr size_t kLanes = 64;
// (4096 + 1) K^2 < 2^63 for K <= 2^25.
constexpr size_t kCheckedBlock = 4096;

// Quantises with `round`; false if a coordinate is not certainly within K (or is NaN), which the
// conversion needs.
template <typename Round>
bool Quantise(absl::Span<const float> gradient, double scale, int64_t norm_bound, Round round,
              absl::Span<int32_t> q) {
  const auto limit = static_cast<double>(norm_bound);
  bool convertible = true;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double scaled = scale * static_cast<double>(gradient[i]);
    const bool within = std::fabs(scaled) <= limit;
    convertible &= within;
    q[i] = within ? static_cast<int32_t>(round(scaled)) : 0;
  }
  return convertible;
}

}  // namespace

double SquaredNorm(absl::Span<const float> gradient) {
  std::array<double, kLanes> lanes = {};
  const size_t whole = gradient.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double x = gradient[i + lane];
      lanes[lane] += x * x;
    }
  }
  for (size_t i = whole; i < gradient.size(); ++i) {
    const double x = gradient[i];
    lanes[i - whole] += x * x;
  }
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

double SquaredNormUp(absl::Span<const float> gradient) {
  // Squares of floats are exact; the additions on the way of any term: one each 64 coordinates, and
  // the tree's 6. (1 - 2^-53)^-n <= 1 + n 2^-52, and the product's own rounding is one more.
  const double additions = static_cast<double>(gradient.size() / kLanes + 1 + 6 + 1);
  return SquaredNorm(gradient) * (1 + additions * 0x1p-52);
}

bool FitsNormBound(absl::Span<const int32_t> q, int64_t norm_bound) {
  const auto bound = static_cast<uint64_t>(norm_bound);
  uint64_t total = 0;
  for (size_t begin = 0; begin < q.size(); begin += kCheckedBlock) {
    const absl::Span<const int32_t> block = q.subspan(begin, kCheckedBlock);
    uint64_t largest = 0;
    for (const int32_t value : block) {
      largest = std::max(largest, static_cast<uint64_t>(std::abs(int64_t{value})));
    }
    if (largest > bound) return false;
    for (const int32_t value : block) {
      const int64_t wide = value;
      total += static_cast<uint64_t>(wide * wide);
    }
    if (total > bound * bound) return false;
  }
  return true;
}

absl::StatusOr<IntegerClip> IntegerClip::Create(size_t size, double clip_norm, int64_t norm_bound) {
  if (size < 1 || size > size_t{1} << 40) {
    return FieldError("size", absl::StrCat("must be in [1, 2^40], got ", size));
  }
  if (!(clip_norm >= 1e-30 && clip_norm <= 1e30)) {
    return FieldError("clip_norm", absl::StrCat("must be in [1e-30, 1e30], got ", clip_norm));
  }
  const auto dimension = static_cast<double>(size);
  const double bound_squared = static_cast<double>(norm_bound) * static_cast<double>(norm_bound);
  // Rounding adds dimension/12 to the squared norm on average, and 8 standard deviations are left
  // for chance.
  const double target_squared =
      bound_squared - dimension / 12 - 8 * std::sqrt(bound_squared / 3 + dimension / 180);
  if (!(target_squared >= bound_squared / 4)) {
    return FieldError(
        "size",
        absl::StrCat(size, " coordinates are too many for the integer norm bound ", norm_bound));
  }
  IntegerClip clip;
  clip.clip_norm_ = clip_norm;
  clip.target_ = std::sqrt(target_squared);
  clip.norm_bound_ = norm_bound;
  clip.grid_ = clip_norm / clip.target_;
  return clip;
}

void IntegerClip::Clip(absl::Span<const float> gradient, absl::Span<int32_t> clipped) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double norm = std::nextafter(std::sqrt(SquaredNormUp(gradient)), kInfinity);
  if (std::isfinite(norm)) {
    const double scale = std::nextafter(target_ / std::max(clip_norm_, norm), 0.0);
    const auto fits = [&](auto round) {
      return Quantise(gradient, scale, norm_bound_, round, clipped) &&
             FitsNormBound(clipped, norm_bound_);
    };
    // Ties to even. Then toward zero, which cannot lengthen the vector; it is for inputs made to
    // round up.
    if (fits([](double x) { return std::nearbyint(x); })) return;
    if (fits([](double x) { return std::trunc(x); })) return;
  }
  std::fill(clipped.begin(), clipped.end(), 0);
}

}  // namespace dpledger::client
