// The inner loops of IntegerClip at the speed of the widest vector registers of the machine the
// program runs on. The same bits on every machine (docs/formats.md, section 3.2).
//
// 1. Only correctly rounded operations, in the section's order. Where a product is exact it may be
//    fused with the addition that follows, since that gives the same bits: squares of floats, and
//    of integers below 2^26. Numbers of 16 bits are widened exactly.
// 2. Rounding to the nearest integer is by adding R = 1.5 2^52: for |v| < 2^51 the bits of v + R,
//    less the bits of R, are the integer q that is added to the sums, and (v + R) - R is q too.
// 3. Sums of squares of integers are in doubles, and comparing one with B <= 2^53 is exact: while
//    it is at most 2^53 every addition is exact, and what has passed 2^53 stays above, for terms
//    are not negative. It is NaN or above 2^53 where (2) does not hold. So the order of additions
//    does not matter, nor do partial sums that are added up afterwards: if the total is at most
//    2^53 so are they, and all are exact; if one is inexact it has passed 2^53, and so has the
//    total.
//
// No alignment is needed. Thread safe: the caller owns the sums, and threads may add to ranges of
// them that do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/number_format.h"

namespace dpledger::client::internal {

// Rows that can be given at once. More in one sweep over the sums cost less memory traffic: with 32
// the sums' share is a sixteenth of that of float32 gradients. 16 took 2 % longer.
inline constexpr size_t kMaxRows = 32;

// n2 of step 2 for each of row_count rows, of which two at a time are read: from memory that took
// three quarters of the time of one after the other.
void SquaredNormsInLanes(NumberFormat format, const void* const* rows, size_t row_count,
                         size_t size, double* squared_norms);

// before[i] = sums[i]; then sums[i] += round(scales[r] rows[r][i]) for all r < row_count <=
// kMaxRows, modulo 2^64. squares[r] gets the sum of squares of what row r added, by (3): each
// number is loaded once, for both, so that this holds even if another thread writes to the row.
// Scales are not NaN.
void AddRounded(NumberFormat format, const void* const* rows, const double* scales,
                size_t row_count, size_t size, int64_t* sums, int64_t* before, double* squares);

}  // namespace dpledger::client::internal
