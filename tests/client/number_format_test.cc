#include "client/number_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "client/internal/clip_kernels.h"
#include "hwy/targets.h"

namespace dpledger::client {
namespace {

// By the definition: sign, exponent of `exponent_bits` bits, mantissa.
double ByDefinition(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - mantissa_bits);
}

bool Same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(NumberFormat, EveryNumberOf16BitsIsWidenedExactly) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    ASSERT_PRED2(Same, FromBfloat16(half), ByDefinition(half, 8)) << bits;
    ASSERT_PRED2(Same, FromFloat16(half), ByDefinition(half, 5)) << bits;
  }
}

// One number alone, squared: subnormals, infinities and NaN on every instruction set.
TEST(NumberFormat, EveryNumberOf16BitsIsWidenedExactlyByTheKernels) {
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (const NumberFormat format : {NumberFormat::kBfloat16, NumberFormat::kFloat16}) {
      for (uint32_t bits = 0; bits < 65536; ++bits) {
        std::vector<uint16_t> row(17, 0);
        row[bits % row.size()] = static_cast<uint16_t>(bits);
        const double value = NumberAt(format, row.data(), bits % row.size());
        const void* const at = row.data();
        double square = 0;
        internal::SquaredNormsInLanes(format, &at, 1, row.size(), &square);
        ASSERT_PRED2(Same, square, value * value) << hwy::TargetName(left & -left) << bits;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace dpledger::client
