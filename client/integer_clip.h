// Clips one example's gradient to an integer vector whose L2 norm is at most K, checked exactly.
//
// The gradient may have parts with a scale alpha each, clipped by one norm (McMahan et al. 2018,
// section 2, "joint clipping"): coordinates are multiplied by their part's alpha for norm and
// check, and each part's sum has a unit that divides by it again.
//
// The float arithmetic that finds the scale matters for accuracy only: what is returned has passed
// an exact integer check, or is zero. So the L2 sensitivity of a sum of such vectors is exactly at
// most K, whatever the input: NaN, infinities, norms that floats get wrong.
//
// Every step is fixed to the bit in docs/formats.md, section 3.2; the compiler must not contract or
// reorder it (tests/client/plain_clip.h is its plain text). Thread safety: compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/number_format.h"

namespace dpledger::client {
namespace internal {
class Workers;
}

// The gradients of `count` examples, of numbers of one format that follow one another: that of
// example r begins r * stride numbers behind `first`, which is aligned to its numbers. Where they
// are summed (client/clipped_sum.h), stride 0 stands for the sum's dimension.
struct GradientRows {
  const void* first = nullptr;
  size_t count = 0;
  size_t stride = 0;
  NumberFormat format = NumberFormat::kFloat32;

  // Where coordinate `i` of example `r` is.
  const void* At(size_t r, size_t i = 0) const {
    return static_cast<const char*>(first) + (r * stride + i) * BytesOf(format);
  }
  // The same rows without their first `coordinates`.
  GradientRows From(size_t coordinates) const {
    return {At(0, coordinates), count, stride, format};
  }
};

// Coordinates that follow one another, with one scale.
struct ClipPart {
  size_t size = 0;   // in [1, 2^40]
  double scale = 1;  // alpha, in [1e-30, 1e30]; a public constant, or privacy is lost
};

// Shortens what is longer than the clip norm C, in [1e-30, 1e30], to it.
struct ClipToNorm {
  double clip_norm = 0;
};
// Brings every gradient to about length 1: x / (|x| + gamma), AUTO-S of Bu et al. 2022. gamma, in
// [1e-30, 1e30], decides what counts as short.
struct Normalise {
  double gamma = 0;
};
using ClipRule = std::variant<ClipToNorm, Normalise>;

class IntegerClip {
 public:
  // INVALID_ARGUMENT names the field: `parts` are one or more, of 2^40 coordinates together at most
  // and few enough for K; `parts[i].size`, `parts[i].scale`, `clip_norm` or `gamma` is out of its
  // domain. `norm_bound` (K) in [1, 2^25].
  static absl::StatusOr<IntegerClip> Create(absl::Span<const ClipPart> parts, const ClipRule& rule,
                                            int64_t norm_bound);

  // Changes C and with it the grids; K stays. INVALID_ARGUMENT, and nothing is changed, unless it
  // is in [1e-30, 1e30] and the rule has a clip norm.
  absl::Status SetClipNorm(double clip_norm);

  // The scale of step 4 for a gradient whose norm is at most `norm`; 0 if that is not a finite
  // number from 0 on. For norms known from elsewhere: too small a norm risks the gradient.
  double ScaleFor(double norm) const;

  // Adds the clipped integer vectors of `rows` to `sums`, which has size() elements. Each row is
  // read twice, at once again from a cache if it fits; 32 rows a call or more are fastest.
  // While it runs, `sums` may hold what a check then refuses. `norms` gets step 3's n of each row,
  // the norm over all parts with their scales, rounded up (NaN if a coordinate is, else infinite if
  // one is); it has rows.count elements, or none. With `workers` their threads share the work where
  // that pays: the sums are the same. `spare` has size() elements, whose values do not matter;
  // afterwards they are as secret as the sums. Without it the call asks for memory.
  //
  // If another thread writes to the rows meanwhile, each still adds a vector of norm at most K:
  // what is added and what is checked come from one load of each number.
  void AddClipped(const GradientRows& rows, absl::Span<int64_t> sums, absl::Span<double> norms = {},
                  internal::Workers* workers = nullptr, absl::Span<int64_t> spare = {}) const;

  // The same with scales[r] for row r, which is read once. `scales` has rows.count elements. What a
  // scale is matters for accuracy only, as long as it depends on nothing but its own example and
  // what is public: one too large by more than chance makes the vector 0, or rounded toward zero;
  // one that is not finite makes it 0.
  void AddScaled(const GradientRows& rows, absl::Span<const double> scales,
                 absl::Span<int64_t> sums, internal::Workers* workers = nullptr,
                 absl::Span<int64_t> spare = {}) const;

  // Coordinates of all parts together.
  size_t size() const { return size_; }
  size_t parts() const { return parts_.size(); }
  size_t part_size(size_t part) const { return parts_[part].size; }
  // g: the unit of the sum's coordinates of that part, in the gradient's units. K g is a little
  // more than C / alpha. If gradients are normalised it is the unit of their directions, divided by
  // alpha.
  double grid(size_t part = 0) const { return grid_ / parts_[part].scale; }
  // The same before the division by alpha: that of all parts together.
  double scaled_grid() const { return grid_; }

 private:
  struct Part {
    size_t begin, size;
    double scale;
  };

  IntegerClip() = default;

  // Rows that are added in one sweep over the sums.
  struct Group;

  // What a part with this sum of squares adds to the square of step 3, and its root n.
  double ShareOfSquare(const Part& part, double squared_norm) const;
  static double NormOf(double square);

  void FindNorms(const GradientRows& rows, size_t begin, absl::Span<double> norms) const;
  struct Sums;
  void AddGroup(const Group& group, Sums& sums, internal::Workers* workers) const;
  bool AddAll(const Group& group, Sums& sums, internal::Workers* workers) const;
  void AddRange(const Group& group, size_t begin, size_t end, Sums& sums,
                absl::Span<double> squares) const;
  void AddTruncated(const Group& group, Sums& sums) const;
  template <typename Use>
  bool EachScaled(const Group& group, size_t row, const Use& use) const;

  std::vector<Part> parts_;
  size_t size_;
  ClipRule rule_;
  double target_;  // K': the norm aimed at, below K by the most that rounding to the grid can add
  int64_t norm_bound_;
  double grid_;  // where alpha is 1
};

}  // namespace dpledger::client
