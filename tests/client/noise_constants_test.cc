// The numbers of the noise kernels against the functions that they stand for, in exact arithmetic:
// lines P and N of client/CLAIM.md rest on what is shown here.
#include "client/internal/noise_constants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <vector>

#include "client/internal/real.h"

namespace dpledger::client {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Coefficients = std::vector<Rational>;

constexpr int kTaylorTerms = 24;

template <size_t kCount>
Coefficients Exact(const double (&coefficients)[kCount]) {
  return Coefficients(coefficients, coefficients + kCount);
}

Coefficients Difference(Coefficients a, const Coefficients& b) {
  a.resize(std::max(a.size(), b.size()));
  for (size_t i = 0; i < b.size(); ++i) a[i] -= b[i];
  return a;
}

// p(low + width s) in powers of s.
Coefficients Substituted(const Coefficients& p, const Rational& low, const Rational& width) {
  Coefficients result;
  for (size_t i = p.size(); i-- > 0;) {
    // result * (low + width s) + p[i]
    Coefficients next(result.size() + 1);
    for (size_t j = 0; j < result.size(); ++j) {
      next[j] += result[j] * low;
      next[j + 1] += result[j] * width;
    }
    next[0] += p[i];
    result = next;
  }
  return result;
}

// A polynomial on [0, 1] lies between its least and its greatest Bernstein coefficient.
Rational LargestBernstein(const Coefficients& p) {
  const size_t n = p.size() - 1;
  Rational largest = 0;
  for (size_t i = 0; i <= n; ++i) {
    // sum over j of C(i, j) / C(n, j) p[j]
    Rational sum = 0, ratio = 1;
    for (size_t j = 0; j <= i; ++j) {
      sum += ratio * p[j];
      if (j < n) ratio *= Rational(i - j, n - j);
    }
    largest = std::max(largest, Rational(abs(sum)));
  }
  return largest;
}

// An upper bound of abs(p(x)) over [low, high].
Rational Bound(const Coefficients& p, const Rational& low, const Rational& high) {
  constexpr int kPieces = 16;
  const Rational width = (high - low) / kPieces;
  Rational largest = 0;
  for (int i = 0; i < kPieces; ++i) {
    largest = std::max(largest, LargestBernstein(Substituted(p, low + i * width, width)));
  }
  return largest;
}

Rational Inverse(const Rational& x) { return 1 / x; }

// 2 (ln(1 + t) - t) / t^2 in powers of t. What is left off is at most
// 2 abs(t)^kTaylorTerms / (kTaylorTerms + 2) / (1 - abs(t)), below 2^-120 for abs(t) <= 1/31.
Coefficients LogTail() {
  Coefficients tail;
  for (int k = 0; k < kTaylorTerms; ++k) tail.push_back(Rational(k % 2 ? 2 : -2, k + 2));
  return tail;
}

// (sin a / a - 1) / a^2 and (cos a - 1) / a^2 in powers of a^2. Alternating and shrinking: what is
// left off is at most the next term, below 2^-150.
Coefficients SineTail() {
  Coefficients tail;
  Rational term = 1;
  for (int k = 1; k <= kTaylorTerms; ++k) {
    term *= -Inverse(2 * k) * Inverse(2 * k + 1);
    tail.push_back(term);
  }
  return tail;
}
Coefficients CosineTail() {
  Coefficients tail;
  Rational term = 1;
  for (int k = 1; k <= kTaylorTerms; ++k) {
    term *= -Inverse(2 * k - 1) * Inverse(2 * k);
    tail.push_back(term);
  }
  return tail;
}

const Rational kLeftOff = 1 / Rational(boost::multiprecision::cpp_int(1) << 100);

double Log2(const Rational& x) { return std::log2(x.convert_to<double>()); }

// abs(t) <= 1/32 and what rounding adds to it.
const Rational kLargestRemainder = Rational(1, 32) + Rational(1, int64_t{1} << 50);
// (pi/4)^2 = 0.61685027506808491..., and what rounding adds.
const Rational kLargestSquare = Rational(616850275068086, 1'000'000'000'000'000);

TEST(NoiseConstants, LogarithmLeavesOutLessThanTheClaimSays) {
  const Coefficients error = Difference(Exact(internal::kLogTail), LogTail());
  const Rational bound = Bound(error, -kLargestRemainder, kLargestRemainder) + kLeftOff;
  // Times t^2 in 2 ln(1 + t), times t/2 relative to 2 t.
  const double absolute = Log2(bound * kLargestRemainder * kLargestRemainder);
  const double relative = Log2(bound * kLargestRemainder / 2);
  RecordProperty("absolute_log2", std::to_string(absolute));
  RecordProperty("relative_log2", std::to_string(relative));
  EXPECT_LT(absolute, -53);
  EXPECT_LT(relative, -49);
  EXPECT_GT(absolute, -56);  // not more than is known
}

TEST(NoiseConstants, SineLeavesOutLessThanTheClaimSays) {
  const Rational bound =
      Bound(Difference(Exact(internal::kSineTail), SineTail()), 0, kLargestSquare) + kLeftOff;
  // Times a^3 < 0.4845.
  const double absolute = Log2(bound * Rational(4845, 10000));
  RecordProperty("absolute_log2", std::to_string(absolute));
  EXPECT_LT(absolute, -55.8);
}

TEST(NoiseConstants, CosineLeavesOutLessThanTheClaimSays) {
  const Rational bound =
      Bound(Difference(Exact(internal::kCosineTail), CosineTail()), 0, kLargestSquare) + kLeftOff;
  const double absolute = Log2(bound * kLargestSquare);
  RecordProperty("absolute_log2", std::to_string(absolute));
  EXPECT_LT(absolute, -57);
}

// One coefficient off by 2^-40 of its value.
TEST(NoiseConstants, AWrongCoefficientIsNoticed) {
  Coefficients wrong = Exact(internal::kSineTail);
  wrong[1] += wrong[1] / (int64_t{1} << 40);
  EXPECT_GT(Log2(Bound(Difference(wrong, SineTail()), 0, kLargestSquare)), -50);
}

TEST(NoiseConstants, ScalesLeaveSmallRemaindersAndAreShort) {
  for (int j = 0; j < 16; ++j) {
    const Rational scale = internal::kScales[j];
    EXPECT_EQ(Rational(scale * 256), Rational(std::floor(internal::kScales[j] * 256))) << j;
    for (const int edge : {j, j + 1}) {
      EXPECT_LE(Rational(abs(scale * Rational(16 + edge, 16) - 1)), Rational(1, 32)) << j;
    }
  }
  EXPECT_EQ(internal::kScales[15], 0.5);
}

TEST(NoiseConstants, LogarithmsOfScalesAreRounded) {
  internal::Real x(200);
  for (int j = 0; j < 16; ++j) {
    mpfr_set_d(x, 2 * internal::kScales[j], MPFR_RNDN);
    mpfr_log(x, x, MPFR_RNDN);
    mpfr_mul_2ui(x, x, 1, MPFR_RNDN);
    EXPECT_EQ(internal::kScaleLogs[j], mpfr_get_d(x, MPFR_RNDN)) << j;
  }
}

}  // namespace
}  // namespace dpledger::client
