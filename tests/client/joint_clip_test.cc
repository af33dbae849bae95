// Clips with parts of their own scale, and the rule that normalises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "hwy/targets.h"
#include "tests/client/plain_clip.h"

namespace dpledger::client {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kBound = int64_t{1} << 24;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

PlainClip ClipOf(const std::vector<ClipPart>& parts, const ClipRule& rule, int64_t bound = kBound) {
  return PlainClip(parts, rule, bound);
}

// Of both signs, up to 8.
std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> floats(count);
  for (float& x : floats) x = static_cast<float>(static_cast<int64_t>(random())) * 0x1p-60f;
  return floats;
}

std::vector<int64_t> Clipped(const IntegerClip& clip, const std::vector<float>& gradient) {
  std::vector<int64_t> q(gradient.size());
  clip.AddClipped({gradient.data(), 1, gradient.size()}, absl::MakeSpan(q));
  return q;
}

absl::uint128 SquaredNormOf(const std::vector<int64_t>& q) {
  absl::uint128 sum = 0;
  for (const int64_t value : q) sum += static_cast<uint64_t>(value * value);
  return sum;
}

// Long, short and single parts, with scales far apart.
std::vector<ClipPart> RandomParts(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ClipPart> parts;
  while (size > 0) {
    const size_t part = 1 + random() % (random() % 2 == 0 ? size : std::min<size_t>(size, 5));
    parts.push_back({part, std::ldexp(1 + 0x1p-64 * static_cast<double>(random()),
                                      static_cast<int>(random() % 20) - 10)});
    size -= part;
  }
  return parts;
}

TEST(JointClip, OnePartOfScaleOneIsThePlainClip) {
  for (const size_t size : {1u, 63u, 64u, 1000u, 4099u}) {
    const std::vector<float> x = RandomFloats(size, size);
    const PlainClip joint = ClipOf({{size, 1}}, ClipToNorm{0.3});
    EXPECT_EQ(joint.Clipped(x), Clipped(joint, x));
    EXPECT_EQ(joint.Norm(x), std::nextafter(std::sqrt(SquaredNormUp(x)), 1e300));
  }
}

// A short gradient comes back through the grids of its parts; a long one has the direction of
// (0.1 x, 10 y) and the norm C in scaled coordinates.
TEST(JointClip, ScalesCountInTheNormAndAreUndoneByTheGrids) {
  const PlainClip clip = ClipOf({{2, 0.1}, {3, 10}}, ClipToNorm{5});
  const auto released = [&](const std::vector<float>& x) {
    const std::vector<int64_t> q = Clipped(clip, x);
    std::vector<double> result;
    for (size_t i = 0; i < q.size(); ++i)
      result.push_back(clip.grid(i < 2 ? 0 : 1) * static_cast<double>(q[i]));
    return result;
  };
  const std::vector<float> small = {3, -20, 0.125f, 0.25f, -0.125f};
  EXPECT_NEAR(clip.Norm(small), std::sqrt(0.09 + 4 + 100 * 0.09375), 1e-12);
  const std::vector<double> same = released(small);
  for (size_t i = 0; i < small.size(); ++i) EXPECT_NEAR(same[i], small[i], 1e-5) << i;
  // Scaled: (3, -4, 0, 0, 12), of norm 13.
  const std::vector<double> clipped = released({30, -40, 0, 0, 1.2f});
  const double share = 5.0 / 13;
  EXPECT_NEAR(clipped[0], 30 * share, 1e-4);
  EXPECT_NEAR(clipped[1], -40 * share, 1e-4);
  EXPECT_NEAR(clipped[4], 1.2 * share, 1e-6);
}

TEST(JointClip, BoundsAllPartsTogether) {
  for (size_t size = 1; size <= 200; ++size) {
    const IntegerClip clip = ClipOf(RandomParts(size, size), ClipToNorm{1e-3});
    const double norm =
        std::sqrt(static_cast<double>(SquaredNormOf(Clipped(clip, RandomFloats(size, size)))));
    EXPECT_LE(norm, kBound);
    EXPECT_GT(norm, kBound * (1 - 1e-5)) << size;
  }
}

// Each part alone is within K, both together are not: all is taken back, from both.
TEST(JointClip, RefusesAllPartsTogether) {
  const PlainClip clip = ClipOf({{1, 3}, {1, 4}}, ClipToNorm{1}, 5 << 20);
  std::vector<int64_t> sums = {100, -100};
  const auto add = [&](const std::vector<float>& x, double scale) {
    clip.AddScaled({x.data(), 1, 2}, {scale}, absl::MakeSpan(sums));
  };
  add({1, 1}, 0x1p20);
  EXPECT_THAT(sums, ElementsAre(100 + (3 << 20), -100 + (4 << 20)));
  add({1.25f, 1}, 0x1p20);
  add({1, 1.25f}, 0x1p20);
  EXPECT_THAT(sums, ElementsAre(100 + (3 << 20), -100 + (4 << 20)));
  EXPECT_THAT(clip.Scaled({1.25f, 1}, 0x1p20), Each(0));
}

TEST(JointClip, NanInOnePartSilencesAll) {
  const IntegerClip clip = ClipOf({{10, 1}, {10, 2}}, ClipToNorm{1});
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const size_t at : {0u, 9u, 10u, 19u}) {
      std::vector<float> x(20, 0.01f);
      x[at] = bad;
      EXPECT_THAT(Clipped(clip, x), Each(0));
    }
  }
}

// Supplied scales that are a little too large are refused, or rounded toward zero.
TEST(JointClip, SumsAndNormsAreThoseOfThePlainClipOnEveryTarget) {
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (size_t size = 1; size <= 400; size += 7) {
      const size_t rows = 1 + size % 9;
      std::vector<float> x = RandomFloats(size * rows, size);
      for (size_t i = 0; i < size; ++i) x[i] *= 1e-6f;
      if (rows > 2) x[2 * size] = kNan;
      if (rows > 3) x[3 * size] = kInfinity;
      const ClipRule rule = size % 2 == 0 ? ClipRule(ClipToNorm{0.5}) : ClipRule(Normalise{0.1});
      const PlainClip clip = ClipOf(RandomParts(size, size), rule);
      std::vector<int64_t> sums(size, 5), scaled_sums(size, 5);
      std::vector<int64_t> expected = sums, scaled_expected = sums;
      std::vector<double> norms(rows), scales(rows);
      for (size_t r = 0; r < rows; ++r) {
        const absl::Span<const float> row(x.data() + r * size, size);
        const std::vector<int64_t> q = clip.Clipped(row);
        scales[r] = clip.ScaleFor(clip.Norm(row)) * (1 + 1e-6 * static_cast<double>(r % 3));
        const std::vector<int64_t> scaled = clip.Scaled(row, scales[r]);
        for (size_t i = 0; i < size; ++i) expected[i] += q[i], scaled_expected[i] += scaled[i];
      }
      clip.AddClipped({x.data(), rows, size}, absl::MakeSpan(sums), absl::MakeSpan(norms));
      ASSERT_EQ(sums, expected) << size;
      clip.AddScaled({x.data(), rows, size}, scales, absl::MakeSpan(scaled_sums));
      ASSERT_EQ(scaled_sums, scaled_expected) << size;
      for (size_t r = 0; r < rows; ++r) {
        if (r == 2) {
          EXPECT_TRUE(std::isnan(norms[r]));
        } else {
          EXPECT_EQ(norms[r], clip.Norm({x.data() + r * size, size}));
          EXPECT_EQ(std::isinf(norms[r]), r == 3);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(JointClip, LyingScalesAreThoseOfThePlainClip) {
  const std::vector<double> lies = {0, 1, -1, 1e300, 1e-300, 5e-324, kInfinity, kNan, 0x1p24};
  const std::vector<float> x = RandomFloats(150, 3);
  const PlainClip clip = ClipOf({{70, 1e30}, {70, 1e-30}, {10, 1}}, ClipToNorm{1});
  for (const double lie : lies) {
    std::vector<int64_t> sums(x.size());
    clip.AddScaled({x.data(), 1, x.size()}, {lie}, absl::MakeSpan(sums));
    EXPECT_EQ(sums, clip.Scaled(x, lie)) << lie;
  }
}

TEST(Normalise, BringsEveryGradientToTheSameLength) {
  const PlainClip clip = ClipOf({{100, 1}}, Normalise{1e-9});
  for (const double length : {1e-3, 1.0, 1e6}) {
    std::vector<float> x = RandomFloats(100, 1);
    for (float& value : x) value *= static_cast<float>(length);
    const std::vector<int64_t> q = Clipped(clip, x);
    const double norm = std::sqrt(static_cast<double>(SquaredNormOf(q)));
    EXPECT_NEAR(norm * clip.grid(), 1, 2e-6);
    EXPECT_NEAR(clip.grid() * static_cast<double>(q[3]), x[3] / clip.Norm(x), 1e-6);
  }
}

// x / (|x| + gamma): 0.3 / (0.5 + 0.5).
TEST(Normalise, LeavesWhatIsShorterThanGammaShort) {
  const IntegerClip clip = ClipOf({{2, 1}}, Normalise{0.5});
  const std::vector<int64_t> q = Clipped(clip, {0.3f, -0.4f});
  EXPECT_NEAR(clip.grid() * static_cast<double>(q[0]), 0.3, 1e-6);
  EXPECT_NEAR(clip.grid() * static_cast<double>(q[1]), -0.4, 1e-6);
  EXPECT_THAT(Clipped(clip, {0, 0}), Each(0));
}

TEST(SetClipNorm, IsTheClipThatWasCreatedWithIt) {
  const std::vector<ClipPart> parts = {{50, 0.5}, {60, 3}};
  IntegerClip clip = ClipOf(parts, ClipToNorm{100});
  EXPECT_TRUE(clip.SetClipNorm(0.25).ok());
  const IntegerClip fresh = ClipOf(parts, ClipToNorm{0.25});
  const std::vector<float> x = RandomFloats(110, 5);
  EXPECT_EQ(Clipped(clip, x), Clipped(fresh, x));
  EXPECT_EQ(clip.grid(1), fresh.grid(1));
}

TEST(SetClipNorm, RefusesWhatCreateRefusesAndKeepsTheOld) {
  IntegerClip clip = ClipOf({{2, 1}}, ClipToNorm{2});
  for (const double bad : {0.0, -1.0, 1e31, double{kNan}, double{kInfinity}}) {
    const absl::Status status = clip.SetClipNorm(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                ::testing::StartsWith("clip_norm: must be in [1e-30, 1e30], got "));
  }
  EXPECT_EQ(clip.grid(), ClipOf({{2, 1}}, ClipToNorm{2}).grid());
  EXPECT_EQ(std::string(ClipOf({{2, 1}}, Normalise{1}).SetClipNorm(1).message()),
            "clip_norm: must not be set where gradients are normalised");
}

TEST(JointClip, RefusesOptionsOutOfTheirDomain) {
  const auto message = [](const std::vector<ClipPart>& parts, const ClipRule& rule,
                          int64_t bound = kBound) {
    const absl::Status status = IntegerClip::Create(parts, rule, bound).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const size_t most = size_t{1} << 40;
  EXPECT_EQ(message({}, ClipToNorm{1}), "parts: must be one or more, got none");
  EXPECT_EQ(message({{1}, {0}}, ClipToNorm{1}), "parts[1].size: must be in [1, 2^40], got 0");
  EXPECT_EQ(message({{most + 1}}, ClipToNorm{1}),
            "parts[0].size: must be in [1, 2^40], got 1099511627777");
  EXPECT_EQ(message({{most}, {1}}, ClipToNorm{1}),
            "parts: must have at most 2^40 coordinates together, got more");
  EXPECT_EQ(message({{1, 0}}, ClipToNorm{1}), "parts[0].scale: must be in [1e-30, 1e30], got 0");
  EXPECT_EQ(message({{1}, {1, -2}}, ClipToNorm{1}),
            "parts[1].scale: must be in [1e-30, 1e30], got -2");
  EXPECT_EQ(message({{1, kNan}}, ClipToNorm{1}),
            "parts[0].scale: must be in [1e-30, 1e30], got nan");
  EXPECT_EQ(message({{1}}, ClipToNorm{0}), "clip_norm: must be in [1e-30, 1e30], got 0");
  EXPECT_EQ(message({{1}}, Normalise{0}), "gamma: must be in [1e-30, 1e30], got 0");
  EXPECT_EQ(message({{1}}, Normalise{kInfinity}), "gamma: must be in [1e-30, 1e30], got inf");
  EXPECT_EQ(message({{500'000}, {500'000}}, ClipToNorm{1}, 100),
            "parts: 1000000 coordinates are too many for the integer norm bound 100");
}

}  // namespace
}  // namespace dpledger::client
