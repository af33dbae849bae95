// The inner loops of IntegerClip at the speed of the widest vector registers of the machine the
// program runs on. The same bits on every machine (docs/formats.md, section 3.2).
//
// 1. Only correctly rounded operations, in the section's order. Where a product is exact it may be
//    fused with the addition that follows, since that gives the same bits: squares of floats, and
//    of integers below 2^26.
// 2. Rounding to the nearest integer is by adding R = 1.5 2^52: for |v| < 2^51 the bits of v + R,
//    less the bits of R, are the integer q that is added to the sums, and (v + R) - R is q too.
// 3. Sums of squares of integers are in doubles, and comparing one with B <= 2^53 is exact: while
//    it is at most 2^53 every addition is exact, and what has passed 2^53 stays above, for terms
//    are not negative. It is NaN or above 2^53 where (2) does not hold.
//
// No alignment is needed. Thread safe: the caller owns the sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

// More gradients in one sweep over the sums cost less memory traffic; four leave the sums' share at
// that of the gradients.
inline constexpr size_t kMaxRows = 4;

// n2 of step 2.
double SquaredNormInLanes(const float* x, size_t size);

// sums[i] += round(scales[r] rows[r][i]) for all r < row_count, 1 <= row_count <= kMaxRows, modulo
// 2^64. squares[r] gets the sum of squares of what row r added, by (3). Scales are not NaN.
void AddRounded(const float* const* rows, const double* scales, size_t row_count, size_t size,
                int64_t* sums, double* squares);

// Takes back what AddRounded added for one row, to the bit, whatever it was.
void SubtractRounded(const float* row, double scale, size_t size, int64_t* sums);

}  // namespace dpledger::client::internal
