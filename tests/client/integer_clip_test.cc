#include "client/integer_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/numeric/int128.h"
#include "client/root_key.h"
#include "tests/client/oracle.h"
#include "tests/client/plain_clip.h"

namespace dpledger::client {
namespace {

using ::testing::Each;

constexpr int64_t kBound = int64_t{1} << 24;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<int64_t> Clipped(const std::vector<float>& gradient, double clip_norm = 1,
                             int64_t bound = kBound) {
  const auto clip = OnePart(gradient.size(), clip_norm, bound);
  EXPECT_TRUE(clip.ok()) << clip.status();
  std::vector<int64_t> q(gradient.size());
  clip->AddClipped({gradient.data(), 1, gradient.size()}, absl::MakeSpan(q));
  return q;
}

// Independent of the code under test: 128-bit sum.
double NormOver(const std::vector<int64_t>& q, int64_t bound) {
  absl::uint128 sum = 0;
  for (const int64_t value : q) sum += static_cast<uint64_t>(value * value);
  EXPECT_LE(sum, absl::uint128(static_cast<uint64_t>(bound) * static_cast<uint64_t>(bound)));
  return std::sqrt(static_cast<double>(sum)) / static_cast<double>(bound);
}

std::vector<float> RandomFloats(size_t count, uint64_t stream) {
  KeyStream key = RootKey::NonPrivateForTesting(3).Derive(KeyPurpose::kNoise, 0);
  std::vector<uint64_t> words(count);
  key.Words(stream, 0, absl::MakeSpan(words));
  std::vector<float> floats(count);
  for (size_t i = 0; i < count; ++i) {
    floats[i] = static_cast<float>(static_cast<int64_t>(words[i])) * 0x1p-60f;
  }
  return floats;
}

double TrueNorm(const std::vector<float>& x) {
  long double sum = 0;
  for (const float value : x) sum += static_cast<long double>(value) * value;
  return static_cast<double>(std::sqrt(sum));
}

TEST(IntegerClip, GivesTheVectorsOfTheFormat) {
  const auto oracle = LoadOracle();
  for (const auto& entry : ListAt(oracle.fields(), "clips")) {
    const JsonObject& fields = entry.struct_value().fields();
    std::vector<float> gradient(ListAt(fields, "clipped").size());
    for (uint32_t i = 0; i < gradient.size(); ++i) {
      const auto mixed = static_cast<int64_t>(i * 2654435761u) - (int64_t{1} << 31);
      gradient[i] =
          static_cast<float>(std::ldexp(static_cast<double>(mixed), -31 - static_cast<int>(i % 9)));
    }
    std::vector<ClipPart> parts;
    for (const auto& part : ListAt(fields, "parts")) {
      const JsonObject& of_part = part.struct_value().fields();
      parts.push_back({static_cast<size_t>(NumberAt(of_part, "size")), NumberAt(of_part, "scale")});
    }
    const ClipRule rule = fields.contains("clip")
                              ? ClipRule(ClipToNorm{NumberAt(fields, "clip")})
                              : ClipRule(Normalise{NumberAt(fields, "normalise")});
    const auto clip =
        IntegerClip::Create(parts, rule, static_cast<int64_t>(NumberAt(fields, "bound")));
    ASSERT_TRUE(clip.ok()) << clip.status();
    ASSERT_EQ(clip->size(), gradient.size());
    ASSERT_EQ(clip->parts(), parts.size());
    size_t begin = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      EXPECT_EQ(clip->grid(p), ListAt(fields, "grids")[static_cast<int>(p)].number_value()) << p;
      EXPECT_EQ(SquaredNorm(absl::MakeConstSpan(gradient).subspan(begin, parts[p].size)),
                ListAt(fields, "squared_norms")[static_cast<int>(p)].number_value());
      begin += parts[p].size;
    }
    std::vector<int64_t> q(gradient.size());
    std::vector<double> norm(1);
    clip->AddClipped({gradient.data(), 1, gradient.size()}, absl::MakeSpan(q),
                     absl::MakeSpan(norm));
    EXPECT_EQ(q, IntegersAt(fields, "clipped"));
    EXPECT_EQ(norm[0], NumberAt(fields, "norm"));
  }
}

TEST(IntegerClip, KeepsShortVectorsToTheGrid) {
  const std::vector<float> x = {0.25f, -0.5f, 0.125f, 0};
  const auto clip = OnePart(x.size(), 2.0, kBound);
  ASSERT_TRUE(clip.ok());
  const std::vector<int64_t> q = Clipped(x, 2.0);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::fabs(clip->grid() * static_cast<double>(q[i]) - x[i]), clip->grid() * 0.51) << i;
  }
}

TEST(IntegerClip, BringsLongVectorsToTheBound) {
  for (const size_t size : {1u, 2u, 63u, 64u, 65u, 1000u, 100000u}) {
    const double share = NormOver(Clipped(RandomFloats(size, size), 0.01), kBound);
    EXPECT_GT(share, 1 - 1e-5) << size;
  }
}

// Clipping in floats: x = (1, 4), C = 1, scale 1/|x| in f32 gives a norm above 1 by 4.4e-8.
TEST(IntegerClip, FloatScaleExceedsTheBoundAndThisDoesNot) {
  const float scale = 1 / std::sqrt(17.0f);
  const double x = 1 * scale, y = 4 * scale;
  EXPECT_GT(x * x + y * y, 1.0);
  NormOver(Clipped({1, 4}), kBound);
}

// The scale C / (n + 1e-6): for n > 32 the 1e-6 is lost in f32, and half of all vectors exceed the
// bound.
TEST(IntegerClip, SmallOffsetInTheScaleDoesNotHelpFloats) {
  int exceeded = 0;
  const std::vector<float> values = RandomFloats(2000, 9);
  for (size_t i = 0; i < values.size(); i += 2) {
    const float x = values[i] * 100, y = values[i + 1] * 100;
    const float scale = 1 / (std::sqrt(x * x + y * y) + 1e-6f);
    const double clipped_x = x * scale, clipped_y = y * scale;
    exceeded += clipped_x * clipped_x + clipped_y * clipped_y > 1;
    NormOver(Clipped({x, y}), kBound);
  }
  EXPECT_GT(exceeded, 200);
}

// 64 ones, then values whose squares vanish beside 1 in f32 lanes: the float norm misses them all.
TEST(IntegerClip, SeesWhatFloatLanesLose) {
  std::vector<float> x(64 * 4096, 0x1.fep-13f);
  std::fill_n(x.begin(), 64, 1.0f);
  std::vector<float> lanes(64);
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 64] += x[i] * x[i];
  for (const float lane : lanes) ASSERT_EQ(lane, 1.0f);
  const double true_square = 64 + 64 * 4095.0 * 0x1.fep-13 * 0x1.fep-13;
  EXPECT_NEAR(FoundNorm(x), std::sqrt(true_square), 1e-11);
  EXPECT_GE(FoundNorm(x), std::sqrt(true_square));
  NormOver(Clipped(x), kBound);
}

// Rounding a clipped vector to bfloat16 lengthens half of all vectors; clipping vectors that are
// bfloat16 does not.
TEST(IntegerClip, RoundingToBfloat16AfterClippingExceedsTheBound) {
  int exceeded = 0;
  for (uint64_t trial = 0; trial < 100; ++trial) {
    std::vector<float> x = RandomFloats(64, 2000 + trial);
    const double scale = 1 / TrueNorm(x);
    double rounded_square = 0;
    for (float& value : x) {
      const auto clipped = static_cast<float>(scale * value);
      const uint32_t bits = std::bit_cast<uint32_t>(clipped) + 0x8000;  // nearest, ties away
      const float rounded = FromBfloat16(static_cast<uint16_t>(bits >> 16));
      rounded_square += double{rounded} * rounded;
      value = FromBfloat16(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    }
    exceeded += rounded_square > 1;
    NormOver(Clipped(x), kBound);
  }
  EXPECT_GT(exceeded, 20);
}

// "Clip in f32 to C - g sqrt(D)/2, then round to a grid of 1e9 steps" exceeds its integer bound in
// half of the trials.
TEST(IntegerClip, FloatClipWithMarginExceedsAFineGrid) {
  int exceeded = 0;
  const std::vector<float> values = RandomFloats(2000, 10);
  constexpr double kSteps = 1e9;
  for (size_t i = 0; i < values.size(); i += 2) {
    const float x = values[i] * 100, y = values[i + 1] * 100;
    const auto target = static_cast<float>(1 - std::sqrt(2.0) / 2 / kSteps);
    const float scale = target / std::sqrt(x * x + y * y);
    const auto q_x = static_cast<int64_t>(std::nearbyint(static_cast<double>(x * scale) * kSteps));
    const auto q_y = static_cast<int64_t>(std::nearbyint(static_cast<double>(y * scale) * kSteps));
    exceeded += q_x * q_x + q_y * q_y > static_cast<int64_t>(kSteps * kSteps);
    NormOver(Clipped({x, y}, 1, int64_t{1} << 25), int64_t{1} << 25);
  }
  EXPECT_GT(exceeded, 200);
}

TEST(IntegerClip, NanAndInfinityContributeNothing) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    std::vector<float> x(100, 0.01f);
    x[71] = bad;
    EXPECT_THAT(Clipped(x), Each(0)) << bad;
  }
}

TEST(IntegerClip, TakesTheLargestAndTheSmallestFloats) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_GT(NormOver(Clipped({largest, -largest, largest}), kBound), 1 - 1e-6);
  EXPECT_THAT(Clipped({std::numeric_limits<float>::denorm_min(), -0.0f, 1e-40f}), Each(0));
  // A clip norm so small that subnormal gradients fill it.
  EXPECT_GT(NormOver(Clipped({1e-29f, 1e-42f}, 1e-30), kBound), 1 - 1e-6);
}

// 100 coordinates of 6.56 grid units: to nearest the norm is 70 > 68, toward zero it is 60.
TEST(IntegerClip, TruncatesWhereRoundingExceedsTheBound) {
  EXPECT_THAT(Clipped(std::vector<float>(100, 1.0f), 1, 68), Each(6));
}

TEST(IntegerClip, FindsNoNormBelowTheTrueOne) {
  for (size_t size = 1; size < 400; ++size) {
    const std::vector<float> x = RandomFloats(size, 1000 + size);
    const double norm = TrueNorm(x);
    EXPECT_GE(FoundNorm(x), norm * (1 - 0x1p-52)) << size;
    EXPECT_LE(FoundNorm(x), norm * (1 + 0x1p-46)) << size;
  }
}

TEST(IntegerClip, RefusesOptionsOutOfTheirDomain) {
  const auto message = [](size_t size, double clip_norm, int64_t bound) {
    const absl::Status status = OnePart(size, clip_norm, bound).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(0, 1, kBound), "parts[0].size: must be in [1, 2^40], got 0");
  EXPECT_EQ(message(1, 0, kBound), "clip_norm: must be in [1e-30, 1e30], got 0");
  EXPECT_EQ(message(1, -1, kBound), "clip_norm: must be in [1e-30, 1e30], got -1");
  EXPECT_EQ(message(1, kNan, kBound), "clip_norm: must be in [1e-30, 1e30], got nan");
  EXPECT_EQ(message(1, kInfinity, kBound), "clip_norm: must be in [1e-30, 1e30], got inf");
  EXPECT_EQ(message(1'000'000, 1, 100),
            "parts: 1000000 coordinates are too many for the integer norm bound 100");
}

TEST(IntegerClip, ScaleOfANormThatIsNoneIsZero) {
  const auto clip = OnePart(10, 2, kBound);
  for (const double norm : {-1.0, double{kInfinity}, double{kNan}}) {
    EXPECT_EQ(clip->ScaleFor(norm), 0) << norm;
  }
  EXPECT_EQ(clip->ScaleFor(0), clip->ScaleFor(2));
  EXPECT_NEAR(clip->ScaleFor(8) / clip->ScaleFor(2), 0.25, 1e-15);
}

}  // namespace
}  // namespace dpledger::client
