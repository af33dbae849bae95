// The plain text of docs/formats.md, section 3.2: one coordinate after the other, and the check in
// integers. What IntegerClip adds to sums is compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/integer_clip.h"

namespace dpledger::client {

// A clip of one part of scale 1.
inline absl::StatusOr<IntegerClip> OnePart(size_t size, double clip_norm, int64_t norm_bound) {
  return IntegerClip::Create({ClipPart{size}}, ClipToNorm{clip_norm}, norm_bound);
}

// The norm that AddClipped finds.
inline double FoundNorm(const std::vector<float>& gradient) {
  std::vector<int64_t> sums(gradient.size());
  std::vector<double> norm(1);
  OnePart(gradient.size(), 1, int64_t{1} << 24)
      ->AddClipped({gradient.data(), 1, gradient.size()}, absl::MakeSpan(sums),
                   absl::MakeSpan(norm));
  return norm[0];
}

// The sum of squares in 64 virtual double lanes.
inline double SquaredNorm(absl::Span<const float> gradient) {
  std::array<double, 64> lanes = {};
  const size_t whole = gradient.size() / 64 * 64;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double x = gradient[i];
    lanes[i < whole ? i % 64 : i - whole] += x * x;
  }
  for (size_t width = 32; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// Rounded up to an upper bound of the true sum, as one of so many parts.
inline double SquaredNormUp(absl::Span<const float> gradient, size_t parts = 1) {
  const auto roundings = static_cast<double>(gradient.size() / 64 + 7 + parts);
  return SquaredNorm(gradient) * (1 + roundings * 0x1p-52);
}

class PlainClip : public IntegerClip {
 public:
  PlainClip(const std::vector<ClipPart>& parts, const ClipRule& rule, int64_t norm_bound)
      : IntegerClip(*IntegerClip::Create(parts, rule, norm_bound)),
        plain_parts_(parts),
        bound_(norm_bound) {}

  // Step 3's n.
  double Norm(absl::Span<const float> gradient) const {
    double square = 0;
    size_t begin = 0;
    for (const ClipPart& part : plain_parts_) {
      square += part.scale * part.scale *
                SquaredNormUp(gradient.subspan(begin, part.size), plain_parts_.size());
      begin += part.size;
    }
    return std::nextafter(std::sqrt(square), std::numeric_limits<double>::infinity());
  }

  std::vector<int64_t> Clipped(absl::Span<const float> gradient) const {
    // A norm that is not finite has scale 0, which the value that is not finite makes NaN again.
    return Scaled(gradient, ScaleFor(Norm(gradient)));
  }
  // With another scale in place of step 4's.
  std::vector<int64_t> Scaled(absl::Span<const float> gradient, double scale) const {
    std::vector<int64_t> q(gradient.size());
    // Ties to even; then toward zero, which cannot lengthen the vector.
    if (Quantise(
            gradient, scale, [](double x) { return std::nearbyint(x); }, q))
      return q;
    if (Quantise(
            gradient, scale, [](double x) { return std::trunc(x); }, q))
      return q;
    std::fill(q.begin(), q.end(), 0);
    return q;
  }

 private:
  // False if a coordinate is not certainly within K (or is NaN), or all together are not.
  template <typename Round>
  bool Quantise(absl::Span<const float> gradient, double scale, Round round,
                std::vector<int64_t>& q) const {
    absl::uint128 squares = 0;
    size_t i = 0;
    for (const ClipPart& part : plain_parts_) {
      const double part_scale = scale * part.scale;
      for (const size_t end = i + part.size; i < end; ++i) {
        const double scaled = part_scale * static_cast<double>(gradient[i]);
        if (!(std::fabs(scaled) <= static_cast<double>(bound_))) return false;
        q[i] = static_cast<int64_t>(round(scaled));
        squares += static_cast<uint64_t>(q[i] * q[i]);
      }
    }
    return squares <= static_cast<uint64_t>(bound_ * bound_);
  }

  std::vector<ClipPart> plain_parts_;
  int64_t bound_;
};

}  // namespace dpledger::client
