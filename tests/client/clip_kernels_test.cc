#include "client/internal/clip_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hwy/targets.h"
#include "tests/client/plain_clip.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::OnEveryTarget;

constexpr int64_t kBound = int64_t{1} << 24;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Of both signs, up to 8.
std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> floats(count);
  for (float& x : floats) x = static_cast<float>(static_cast<int64_t>(random())) * 0x1p-60f;
  return floats;
}

double SquaredNormInLanes(const float* x, size_t size) {
  const void* const row = x;
  double squared_norm = 0;
  internal::SquaredNormsInLanes(NumberFormat::kFloat32, &row, 1, size, &squared_norm);
  return squared_norm;
}

using NormKernel = std::function<double(const float*, size_t)>;

// Empty if the kernel gives the bits of the plain loop at every length and misalignment.
std::string FirstWrongNorm(const NormKernel& kernel) {
  std::vector<size_t> sizes = {1000, 2047, 2048, 2049, 4096 + 63, 10007, 65536 + 1};
  for (size_t size = 0; size <= 300; ++size) sizes.push_back(size);
  for (const size_t size : sizes) {
    const std::vector<float> values = RandomFloats(size + 16, size);
    for (size_t offset = 0; offset < 16; offset += size <= 300 ? 1 : 5) {
      const double expected = SquaredNorm({values.data() + offset, size});
      const double got = kernel(values.data() + offset, size);
      if (std::memcmp(&expected, &got, sizeof(got)) != 0) {
        return absl::StrCat("size ", size, ", offset ", offset, ": ", got, " for ", expected);
      }
    }
  }
  return "";
}

TEST(ClipKernels, NormIsThatOfThePlainLoopOnEveryTarget) {
  OnEveryTarget([](const std::string& target) {
    EXPECT_EQ(FirstWrongNorm(SquaredNormInLanes), "") << target;
  });
}

// The comparison above must see one addition in another lane.
TEST(ClipKernels, OneWrongLaneIsNoticed) {
  const NormKernel wrong = [](const float* x, size_t size) {
    std::vector<float> moved(x, x + size);
    if (size > 100) std::swap(moved[36], moved[37]);
    return SquaredNormInLanes(moved.data(), size);
  };
  EXPECT_THAT(FirstWrongNorm(wrong), ::testing::StartsWith("size "));
}

// Rows one behind the other with a gap, beginning `offset` floats into their storage.
struct Matrix {
  Matrix(std::vector<std::vector<float>> rows_in, size_t offset)
      : rows(std::move(rows_in)), stride(rows[0].size() + offset % 3) {
    storage.resize(offset + rows.size() * stride, kNan);
    for (size_t r = 0; r < rows.size(); ++r) {
      std::copy(rows[r].begin(), rows[r].end(), storage.begin() + offset + r * stride);
    }
    first = storage.data() + offset;
  }

  std::vector<std::vector<float>> rows;
  size_t stride;
  std::vector<float> storage;
  const float* first;
};

using Adder = std::function<void(const IntegerClip&, const GradientRows&, absl::Span<int64_t>)>;

// Empty if `add` gives the sums of the plain clip, by the scales if there are any, over sums that
// begin anywhere in 64 bits, and leaves what is before and behind them alone.
std::string FirstWrongSum(const Matrix& matrix, const std::vector<double>* scales, int64_t bound,
                          const Adder& add) {
  const size_t size = matrix.rows[0].size(), offset = matrix.first - matrix.storage.data();
  const PlainClip clip({{size}}, ClipToNorm{1}, bound);
  std::vector<int64_t> got(offset + size + 8);
  std::mt19937_64 random(size);
  for (int64_t& sum : got) sum = static_cast<int64_t>(random()) >> (2 + random() % 40);
  std::vector<int64_t> expected = got;
  for (size_t r = 0; r < matrix.rows.size(); ++r) {
    const std::vector<int64_t> clipped = scales != nullptr
                                             ? clip.Scaled(matrix.rows[r], (*scales)[r])
                                             : clip.Clipped(matrix.rows[r]);
    for (size_t i = 0; i < size; ++i) expected[offset + i] += clipped[i];
  }
  add(clip, {matrix.first, matrix.rows.size(), matrix.stride},
      absl::MakeSpan(got).subspan(offset, size));
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected[i]) {
      return absl::StrCat("size ", size, ", offset ", offset, ", sum ",
                          static_cast<int64_t>(i - offset), ": ", got[i], " for ", expected[i]);
    }
  }
  return "";
}

const Adder kAddClipped = [](const IntegerClip& clip, const GradientRows& rows,
                             absl::Span<int64_t> sums) { clip.AddClipped(rows, sums); };

Adder AddScaledBy(const std::vector<double>& scales) {
  return [&scales](const IntegerClip& clip, const GradientRows& rows, absl::Span<int64_t> sums) {
    clip.AddScaled(rows, scales, sums);
  };
}

// Rows short, long and very long for the clip norm.
Matrix RandomMatrix(size_t rows, size_t size, size_t offset) {
  std::vector<std::vector<float>> values;
  for (size_t r = 0; r < rows; ++r) {
    values.push_back(RandomFloats(size, 31 * size + r));
    for (float& x : values.back()) x *= std::ldexp(1.0f, static_cast<int>(r * 37 % 120) - 20);
  }
  return Matrix(std::move(values), offset);
}

TEST(ClipKernels, SumsAreThoseOfThePlainClipOnEveryTarget) {
  OnEveryTarget([](const std::string& target) {
    for (size_t size = 1; size <= 300; ++size) {
      for (const size_t offset : {size % 16, (3 * size + 5) % 16}) {
        const Matrix matrix = RandomMatrix(1 + size % 9, size, offset);
        ASSERT_EQ(FirstWrongSum(matrix, nullptr, kBound, kAddClipped), "") << target;
      }
    }
    for (const size_t size : {1001u, 4099u, 20011u, 65536u}) {
      const Matrix matrix = RandomMatrix(6, size, size % 7);
      ASSERT_EQ(FirstWrongSum(matrix, nullptr, kBound, kAddClipped), "") << target;
    }
    for (size_t offset = 0; offset < 16; ++offset) {
      const Matrix matrix = RandomMatrix(5, 131, offset);
      ASSERT_EQ(FirstWrongSum(matrix, nullptr, kBound, kAddClipped), "") << target;
    }
  });
}

// Scales that lie by little, by much, in sign, and such as no arithmetic survives.
TEST(ClipKernels, SumsWithSuppliedScalesAreThoseOfThePlainClipOnEveryTarget) {
  const std::vector<double> lies = {0,      1,      1 + 1e-7,  1 - 1e-7,   1 + 1e-5, -1,
                                    1.5,    1e3,    1e30,      1e300,      0x1p27,   1e-5,
                                    1e-300, 5e-324, kInfinity, -kInfinity, kNan,     0x1p40 / 3};
  OnEveryTarget([&](const std::string& target) {
    for (const size_t size : {1u, 2u, 7u, 64u, 65u, 300u, 5003u}) {
      const Matrix matrix = RandomMatrix(lies.size(), size, size % 5);
      const auto clip = OnePart(size, 1, kBound);
      std::vector<double> scales;
      for (size_t r = 0; r < lies.size(); ++r) {
        scales.push_back(lies[r] *
                         clip->ScaleFor(std::sqrt(SquaredNormUp(matrix.rows[r])) * (1 + 1e-15)));
      }
      ASSERT_EQ(FirstWrongSum(matrix, &scales, kBound, AddScaledBy(scales)), "") << target;
    }
  });
}

// Values whose integers, squares or sums of squares leave every narrower type, alone and among
// others, with scales that bring each product to the edge.
TEST(ClipKernels, AdversarialRowsAreThoseOfThePlainClipOnEveryTarget) {
  const float largest = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> values = {
      kNan,       -kNan,          kInfinity,      -kInfinity, largest,     -largest,   least,
      -least,     -0.0f,          1e-40f,         1,          -1,          0x1p24f,    -0x1p24f,
      0x1p25f,    0x1.000002p24f, 0x1.fffffep23f, 0x1p31f,    -0x1p31f,    0x1p32f,    -0x1p32f,
      0x1p51f,    0x1p52f,        -0x1p52f,       0x1p53f,    -0x1p63f,    0x1p64f,    0x1.8p52f,
      -0x1.8p52f, 0.5f,           -0.5f,          1.5f,       16777215.5f, 8388607.5f, 2.5f};
  std::vector<std::vector<float>> rows;
  for (const float value : values) {
    for (const size_t at : {0u, 8u, 70u}) {
      std::vector<float> row(71, 0.0f);
      row[at] = value;
      rows.push_back(row);
    }
    rows.push_back(std::vector<float>(71, value));
    // 4 (2^31)^2 = 2^64 is 0 modulo 2^64.
    std::vector<float> few(71, 0.0f);
    std::fill_n(few.begin(), 4, value);
    rows.push_back(few);
  }
  OnEveryTarget([&](const std::string& target) {
    for (const size_t offset : {0u, 3u}) {
      const Matrix matrix(rows, offset);
      EXPECT_EQ(FirstWrongSum(matrix, nullptr, kBound, kAddClipped), "") << target;
      // 2^24 (1 + 2^-26) and 2^24 (1 + 2^-52) lie between K and K + 1/2.
      for (const double scale :
           {1.0, -1.0, 1 + 0x1p-52, 1 + 0x1p-26, 1 - 0x1p-53, 0.5, 2.0, 1e38}) {
        const std::vector<double> scales(rows.size(), scale);
        EXPECT_EQ(FirstWrongSum(matrix, &scales, kBound, AddScaledBy(scales)), "")
            << target << " " << scale;
      }
    }
  });
}

// K^2 is within, one more is not, and a value just above K is not though it rounds to K. What is
// refused comes back rounded toward zero if that is within, else not at all.
TEST(ClipKernels, CheckIsExactAtTheBoundOnEveryTarget) {
  OnEveryTarget([](const std::string& target) {
    const auto large = OnePart(3, 1, 5 << 20);
    ASSERT_TRUE(large.ok());
    std::vector<int64_t> sums(3);
    const auto added = [&](const std::vector<float>& row, double scale) {
      std::fill(sums.begin(), sums.end(), 0);
      large->AddScaled({row.data(), 1, 3}, {scale}, absl::MakeSpan(sums));
      return sums;
    };
    const int64_t unit = 1 << 20;
    const auto is = [](std::vector<int64_t> q) { return q; };
    EXPECT_EQ(added({3, -4, 0}, 0x1p20), is({3 * unit, -4 * unit, 0})) << target;
    EXPECT_EQ(added({3, -4, 0x1p-20f}, 0x1p20), is({0, 0, 0})) << target;
    EXPECT_EQ(added({3, -4, 0x1.8p-21f}, 0x1p20), is({3 * unit, -4 * unit, 0})) << target;
    EXPECT_EQ(added({0, 5, 0}, 0x1p20), is({0, 5 * unit, 0})) << target;
    EXPECT_EQ(added({0, 5, 0}, 0x1p20 + 0x1p-8), is({0, 0, 0})) << target;
    EXPECT_EQ(added({0, -5, 0}, 0x1p20 - 0x1p-8), is({0, -5 * unit, 0})) << target;
  });
}

// 100 coordinates of 6.56 grid units: the integers exceed the bound, what they were rounded from
// does not.
TEST(ClipKernels, IntegersAreCheckedAndNotWhatTheyAreRoundedFrom) {
  const Matrix matrix({std::vector<float>(100, 1.0f)}, 0);
  OnEveryTarget([&](const std::string& target) {
    EXPECT_EQ(FirstWrongSum(matrix, nullptr, 68, kAddClipped), "") << target;
  });
}

TEST(ClipKernels, OneWrongSumIsNoticed) {
  const Matrix matrix = RandomMatrix(5, 131, 3);
  const Adder wrong = [](const IntegerClip& clip, const GradientRows& rows,
                         absl::Span<int64_t> sums) {
    clip.AddClipped(rows, sums);
    sums[130] += 1;
  };
  EXPECT_THAT(FirstWrongSum(matrix, nullptr, kBound, wrong),
              ::testing::StartsWith("size 131, offset 3, sum 130: "));
}

}  // namespace
}  // namespace dpledger::client
