// Clips one example's gradient to an integer vector whose L2 norm is at most K, checked exactly.
//
// The float arithmetic that finds the scale matters for accuracy only: what is returned has passed
// an exact integer check, or is zero. So the L2 sensitivity of a sum of such vectors is exactly at
// most K, whatever the input: NaN, infinities, norms that floats get wrong.
//
// Every step is fixed to the bit in docs/formats.md, section 3.2; the compiler must not contract or
// reorder it. Thread safety: const.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace dpledger::client {

class IntegerClip {
 public:
  // INVALID_ARGUMENT names the field: `size` in [1, 2^40] and small enough for K, `clip_norm` in
  // [1e-30, 1e30]. `norm_bound` (K) in [1, 2^25].
  static absl::StatusOr<IntegerClip> Create(size_t size, double clip_norm, int64_t norm_bound);

  // Writes the clipped integer vector of `gradient` to `clipped`; both have `size` elements.
  void Clip(absl::Span<const float> gradient, absl::Span<int32_t> clipped) const;

  // g: the sum's unit, in the gradient's units. K g is a little more than the clip norm.
  double grid() const { return grid_; }

 private:
  IntegerClip() = default;

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
