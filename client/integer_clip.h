// Clips one example's gradient to an integer vector whose L2 norm is at most K, checked exactly.
//
// The float arithmetic that finds the scale matters for accuracy only: what is returned has passed
// an exact integer check, or is zero. So the L2 sensitivity of a sum of such vectors is exactly at
// most K, whatever the input: NaN, infinities, norms that floats get wrong.
//
// Every step is fixed to the bit in docs/formats.md, section 3.2; the compiler must not contract or
// reorder it. Clip and ClipScaled are its plain text, one coordinate after the other; AddClipped
// and AddScaled give the same integers at the speed of memory. Thread safety: const.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace dpledger::client {

// The gradients of `count` examples: that of example r begins at first + r * stride.
struct GradientRows {
  const float* first;
  size_t count;
  size_t stride;
};

class IntegerClip {
 public:
  // INVALID_ARGUMENT names the field: `size` in [1, 2^40] and small enough for K, `clip_norm` in
  // [1e-30, 1e30]. `norm_bound` (K) in [1, 2^25].
  static absl::StatusOr<IntegerClip> Create(size_t size, double clip_norm, int64_t norm_bound);

  // Writes the clipped integer vector of `gradient` to `clipped`; both have `size` elements.
  void Clip(absl::Span<const float> gradient, absl::Span<int32_t> clipped) const;

  // The same with another scale in place of step 4's. What it is matters for accuracy only: a scale
  // too large by more than chance makes the vector 0, or rounded toward zero; one that is not
  // finite makes it 0.
  void ClipScaled(absl::Span<const float> gradient, double scale,
                  absl::Span<int32_t> clipped) const;

  // The scale of step 4 for a gradient whose norm is at most `norm`; 0 if that is not a finite
  // number from 0 on. For norms known from elsewhere: too small a norm risks the gradient.
  double ScaleFor(double norm) const;

  // Adds the clipped integer vectors of `rows` to `sums`, which has `size` elements. Each row is
  // read twice, at once again from the cache; four rows a call or more are fastest. While it runs,
  // `sums` may hold what a check then takes back.
  void AddClipped(const GradientRows& rows, absl::Span<int64_t> sums) const;

  // The same with scales[r] for row r, which is read once. `scales` has rows.count elements. For
  // privacy a scale must depend on nothing but its own example and what is public.
  void AddScaled(const GradientRows& rows, absl::Span<const double> scales,
                 absl::Span<int64_t> sums) const;

  // g: the sum's unit, in the gradient's units. K g is a little more than the clip norm.
  double grid() const { return grid_; }

 private:
  IntegerClip() = default;

  template <typename ScaleOf>
  void AddRows(const GradientRows& rows, const ScaleOf& scale_of, absl::Span<int64_t> sums) const;
  void AddTogether(absl::Span<const float* const> rows, absl::Span<const double> scales,
                   absl::Span<int64_t> sums) const;
  bool Accepts(absl::Span<const float> gradient, double scale, double squares) const;
  void AddTruncated(absl::Span<const float> gradient, double scale, absl::Span<int64_t> sums) const;

  double clip_norm_;
  double target_;  // K': the norm aimed at, below K by what rounding to the grid can add
  int64_t norm_bound_;
  double grid_;
};

// The sum of squares in 64 virtual double lanes, and the same rounded up to an upper bound of the
// true sum.
double SquaredNorm(absl::Span<const float> gradient);
double SquaredNormUp(absl::Span<const float> gradient);

// max |q| <= norm_bound and sum q^2 <= norm_bound^2, in integers without overflow. `norm_bound` in
// [0, 2^25].
bool FitsNormBound(absl::Span<const int32_t> q, int64_t norm_bound);

}  // namespace dpledger::client
