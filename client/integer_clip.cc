#include "client/integer_clip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/clip_kernels.h"

namespace dpledger::client {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
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

// An upper bound of the true square, from the lanes' sum. Squares of floats are exact; the
// additions on the way of any term: one each 64 coordinates, and the tree's 6. (1 - 2^-53)^-n <=
// 1 + n 2^-52, and the product's own rounding is one more.
double Up(double squared_norm, size_t size) {
  const auto additions = static_cast<double>(size / kLanes + 1 + 6 + 1);
  return squared_norm * (1 + additions * 0x1p-52);
}

// Step 3's n.
double NormUp(double squared_norm, size_t size) {
  return std::nextafter(std::sqrt(Up(squared_norm, size)), kInfinity);
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
  return Up(SquaredNorm(gradient), gradient.size());
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

double IntegerClip::ScaleFor(double norm) const {
  if (!(norm >= 0 && norm < kInfinity)) return 0;
  return std::nextafter(target_ / std::max(clip_norm_, norm), 0.0);
}

void IntegerClip::Clip(absl::Span<const float> gradient, absl::Span<int32_t> clipped) const {
  // A norm that is not finite has scale 0, which the value that is not finite makes NaN again.
  ClipScaled(gradient, ScaleFor(NormUp(SquaredNorm(gradient), gradient.size())), clipped);
}

void IntegerClip::ClipScaled(absl::Span<const float> gradient, double scale,
                             absl::Span<int32_t> clipped) const {
  const auto fits = [&](auto round) {
    return Quantise(gradient, scale, norm_bound_, round, clipped) &&
           FitsNormBound(clipped, norm_bound_);
  };
  // Ties to even. Then toward zero, which cannot lengthen the vector; it is for inputs made to
  // round up.
  if (fits([](double x) { return std::nearbyint(x); })) return;
  if (fits([](double x) { return std::trunc(x); })) return;
  std::fill(clipped.begin(), clipped.end(), 0);
}

void IntegerClip::AddClipped(const GradientRows& rows, absl::Span<int64_t> sums) const {
  const auto scale_of = [&](size_t r) {
    const double n2 = internal::SquaredNormInLanes(rows.first + r * rows.stride, sums.size());
    return ScaleFor(NormUp(n2, sums.size()));
  };
  AddRows(rows, scale_of, sums);
}

void IntegerClip::AddScaled(const GradientRows& rows, absl::Span<const double> scales,
                            absl::Span<int64_t> sums) const {
  AddRows(
      rows, [&](size_t r) { return scales[r]; }, sums);
}

template <typename ScaleOf>
void IntegerClip::AddRows(const GradientRows& rows, const ScaleOf& scale_of,
                          absl::Span<int64_t> sums) const {
  std::array<const float*, internal::kMaxRows> together;
  std::array<double, internal::kMaxRows> scales;
  size_t count = 0;
  const auto add = [&] {
    AddTogether({together.data(), count}, {scales.data(), count}, sums);
    count = 0;
  };
  for (size_t r = 0; r < rows.count; ++r) {
    const double scale = scale_of(r);
    if (scale == 0 || !std::isfinite(scale)) continue;  // such a row is 0
    together[count] = rows.first + r * rows.stride;
    scales[count++] = scale;
    if (count == internal::kMaxRows) add();
  }
  if (count > 0) add();
}

// Adds the rows rounded to nearest, then takes back those that the exact check refuses and tries
// them toward zero.
void IntegerClip::AddTogether(absl::Span<const float* const> rows, absl::Span<const double> scales,
                              absl::Span<int64_t> sums) const {
  std::array<double, internal::kMaxRows> squares;
  internal::AddRounded(rows.data(), scales.data(), rows.size(), sums.size(), sums.data(),
                       squares.data());
  for (size_t r = 0; r < rows.size(); ++r) {
    const absl::Span<const float> gradient(rows[r], sums.size());
    if (Accepts(gradient, scales[r], squares[r])) continue;
    internal::SubtractRounded(rows[r], scales[r], sums.size(), sums.data());
    AddTruncated(gradient, scales[r], sums);
  }
}

// Where abs(scale x) > K for a coordinate, its integer alone has a square of K^2 or more. So below
// K^2 all are within K, and at K^2 that is left to be seen. NaN fails.
bool IntegerClip::Accepts(absl::Span<const float> gradient, double scale, double squares) const {
  const auto limit = static_cast<double>(norm_bound_);
  if (squares < limit * limit) return true;
  return squares == limit * limit && std::all_of(gradient.begin(), gradient.end(), [&](float x) {
           return std::fabs(scale * static_cast<double>(x)) <= limit;
         });
}

void IntegerClip::AddTruncated(absl::Span<const float> gradient, double scale,
                               absl::Span<int64_t> sums) const {
  const auto limit = static_cast<double>(norm_bound_);
  int64_t squares = 0;
  for (const float x : gradient) {
    const double scaled = scale * static_cast<double>(x);
    if (!(std::fabs(scaled) <= limit)) return;
    const auto q = static_cast<int64_t>(scaled);
    squares += q * q;
    if (squares > norm_bound_ * norm_bound_) return;
  }
  for (size_t i = 0; i < gradient.size(); ++i) {
    sums[i] += static_cast<int64_t>(scale * static_cast<double>(gradient[i]));
  }
}

}  // namespace dpledger::client
