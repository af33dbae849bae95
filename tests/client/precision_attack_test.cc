// The precision attack (Mironov 2012; Haney et al. 2022): a release that one of two neighbouring
// inputs cannot produce is a certificate of the other. Float noise added to a float sum gives such
// certificates all the time; the privatizer's releases must give none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "client/clipped_sum.h"
#include "client/privatizer.h"
#include "tests/support/list_recorder.h"

namespace dpledger::client {
namespace {

constexpr int kReleases = 100'000;

// ---- Controls: noise and sum in floating point ----

// A standard normal, computed in T.
template <typename T>
T FloatNormal(std::mt19937_64& random) {
  const auto unit = [&] {
    constexpr int kDigits = std::numeric_limits<T>::digits;
    return (static_cast<T>(random() >> (64 - kDigits)) + T{0.5}) * std::ldexp(T{1}, -kDigits);
  };
  const T u1 = unit(), u2 = unit();
  return std::sqrt(T{-2} * std::log(u1)) * std::cos(static_cast<T>(2 * M_PI) * u2);
}

// Several normals added, which hides the generator's state and not the addition (Holohan and
// Braghin 2021).
template <typename T>
T StackedNormal(std::mt19937_64& random) {
  T sum = 0;
  for (int i = 0; i < 4; ++i) sum += FloatNormal<T>(random);
  return sum / 2;
}

// Is there a T n with fl(x + n) = y? Of all n, fl(y - x) brings the sum nearest to y from one side,
// and one of its neighbours from the other; addition is monotone, so those three decide.
template <typename T>
bool FloatReachable(T x, T y) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T n = y - x;
  return x + n == y || x + std::nextafter(n, -kInfinity) == y ||
         x + std::nextafter(n, kInfinity) == y;
}

// The rule of thumb for the inputs 0 and 1: below 1, sums with 1 are multiples of half the spacing
// there.
template <typename T>
bool RuleCertifies(T y) {
  const T units = std::ldexp(y, std::numeric_limits<T>::digits);
  return std::abs(y) < 1 && units != std::trunc(units);
}

struct Shares {
  double rule;      // of releases of 0 that the rule certifies
  double complete;  // of those that the input 1 cannot produce
};

template <typename T, typename Noise>
Shares Certified(Noise noise) {
  std::mt19937_64 random(9);
  int rule = 0, complete = 0;
  for (int i = 0; i < kReleases; ++i) {
    const T y = T{0} + static_cast<T>(noise(random));
    rule += RuleCertifies(y);
    complete += !FloatReachable(T{1}, y);
    EXPECT_LE(RuleCertifies(y), !FloatReachable(T{1}, y)) << y;
  }
  return {static_cast<double>(rule) / kReleases, static_cast<double>(complete) / kReleases};
}

// P(l <= Y < 2l), Y normal.
double Octave(double l) {
  return (std::erf(std::sqrt(0.5) * 2 * l) - std::erf(std::sqrt(0.5) * l)) / 2;
}

// In the k-th octave below [1/2, 1) a share of 1 - 2^-k is finer than the rule's unit. 0.257.
double ExpectedOfRule() {
  double share = 0;
  for (int k = 1; k < 50; ++k) {
    share += 2 * Octave(std::ldexp(1.0, -k - 1)) * (1 - std::ldexp(1.0, -k));
  }
  return share;
}

// Below 0 the sum's other end is longer than 1, so its unit is twice as large; and between -2 and
// -1, and -4 and -3, every other number is out of reach. 0.433 (beyond -4: 3e-5).
double ExpectedOfComplete() {
  double share = ExpectedOfRule() / 2;
  for (int k = 0; k < 50; ++k) {
    share += Octave(std::ldexp(1.0, -k - 1)) * (1 - std::ldexp(1.0, -k - 1));
  }
  const double from_3_to_4 = (std::erf(std::sqrt(8.0)) - std::erf(std::sqrt(4.5))) / 2;
  return share + Octave(1) / 2 + from_3_to_4 / 2;
}

constexpr double kSixDeviations = 6 * 0.5 / 316;  // at most, of a share of 1e5

TEST(PrecisionAttack, CertifiesAQuarterOfFloatNoisedReleases) {
  EXPECT_NEAR(ExpectedOfRule(), 0.257, 5e-4);
  for (const Shares& shares :
       {Certified<double>(FloatNormal<double>), Certified<float>(FloatNormal<float>),
        Certified<double>(std::normal_distribution<double>())}) {
    EXPECT_NEAR(shares.rule, ExpectedOfRule(), kSixDeviations);
    EXPECT_NEAR(shares.complete, ExpectedOfComplete(), kSixDeviations);
  }
}

TEST(PrecisionAttack, CertifiesASixthDespiteStackedNoise) {
  EXPECT_NEAR(Certified<double>(StackedNormal<double>).rule, 0.163, kSixDeviations);
  EXPECT_NEAR(Certified<float>(StackedNormal<float>).rule, 0.163, kSixDeviations);
}

TEST(PrecisionAttack, NeverNamesTheWrongInput) {
  std::mt19937_64 random(9);
  for (int i = 0; i < kReleases; ++i) {
    const double y = 1 + FloatNormal<double>(random);
    const float single = 1 + FloatNormal<float>(random);
    EXPECT_TRUE(FloatReachable(1.0, y) && !RuleCertifies(y)) << y;
    EXPECT_TRUE(FloatReachable(1.0f, single) && !RuleCertifies(single)) << single;
  }
}

// ---- The privatizer ----

// What an attacker knows of a release of the privatizer: its ledger entry and the code.
class GridAttack {
 public:
  GridAttack(double grid, double noise_stddev) : grid_(grid), stddev_(noise_stddev) {}
  explicit GridAttack(const accountant::SumQuery& query)
      : GridAttack(query.grid, query.noise_stddev) {}

  // An integer whose release is y, if there is one.
  std::optional<int64_t> IntegerOf(float y) const {
    const int64_t near = std::llround(double{y} / grid_);
    for (int64_t integer = near - 2; integer <= near + 2; ++integer) {
      if (static_cast<float>(grid_ * static_cast<double>(integer)) == y) return integer;
    }
    return std::nullopt;
  }

  // Can the sum `sum` have led to y? Noise beyond 9 standard deviations counts as impossible: it
  // has probability 2e-19.
  bool Reachable(int64_t sum, float y) const {
    const std::optional<int64_t> integer = IntegerOf(y);
    return integer && std::abs(static_cast<double>(*integer - sum)) < 9 * stddev_;
  }

 private:
  double grid_, stddev_;
};

class PrivatizerAttack : public ::testing::Test {
 protected:
  // `steps` releases of the sum of `rows`, one after the other.
  std::vector<float> Release(const PrivatizerOptions& options, const std::vector<float>& rows,
                             int steps) {
    auto privatizer = Privatizer::CreateNonPrivateForTesting(options, &recorder_, 5);
    EXPECT_TRUE(privatizer.ok()) << privatizer.status();
    queries_ = (*privatizer)->queries();
    const accountant::SamplingScheme scheme;  // a full batch
    std::vector<float> releases;
    for (int i = 0; i < steps; ++i) {
      EXPECT_TRUE((*privatizer)->BeginStep(scheme).ok());
      EXPECT_TRUE((*privatizer)->Accumulate(rows).ok());
      const auto released = (*privatizer)->Finish();
      EXPECT_TRUE(released.ok()) << released.status();
      if (!released.ok()) return releases;
      releases.insert(releases.end(), released->begin(), released->end());
    }
    return releases;
  }

  static ClippedSum SumOf(const PrivatizerOptions& options, const std::vector<float>& rows) {
    auto sum = ClippedSum::Create(options);
    EXPECT_TRUE(sum.ok()) << sum.status();
    EXPECT_TRUE(sum->Accumulate(rows).ok());
    return *std::move(sum);
  }

  // An attack on each coordinate of the gradient.
  static std::vector<GridAttack> Attacks(const PrivatizerOptions& options, const ClippedSum& sum) {
    const auto stddev = static_cast<double>(sum.plan().noise_stddev);
    std::vector<GridAttack> attacks;
    for (size_t g = 0; g < options.groups.size(); ++g) {
      const ClipGroup& group = options.groups[g];
      for (size_t part = 0; part < std::max<size_t>(1, group.parts.size()); ++part) {
        const size_t size = group.parts.empty() ? group.size : group.parts[part].size;
        attacks.resize(attacks.size() + size, {sum.groups()[g].clip.grid(part), stddev});
      }
    }
    return attacks;
  }

  // Releases of either input that the other cannot produce, or that cannot be at all.
  int Certificates(const PrivatizerOptions& options, const std::vector<float>& rows,
                   const std::vector<float>& neighbour, int steps) {
    const ClippedSum sum = SumOf(options, rows), other = SumOf(options, neighbour);
    const std::vector<GridAttack> attacks = Attacks(options, sum);
    int certified = 0;
    for (const auto& input : {rows, neighbour}) {
      const std::vector<float> releases = Release(options, input, steps);
      for (size_t i = 0; i < releases.size(); ++i) {
        const size_t at = i % attacks.size();
        certified += !attacks[at].Reachable(sum.sums()[at], releases[i]) ||
                     !attacks[at].Reachable(other.sums()[at], releases[i]);
      }
    }
    return certified;
  }

  testing::ListRecorder recorder_;
  std::vector<accountant::SumQuery> queries_;
};

TEST_F(PrivatizerAttack, FindsNothingWhereOneGradientIsPresentOrAbsent) {
  for (const double noise_multiplier : {1.0, 0.3, 7.7}) {
    const PrivatizerOptions options{{{"w", 1, 1.0}}, noise_multiplier};
    for (const float gradient : {1.0f, -0.3f, 1e-6f, 5e30f}) {
      EXPECT_EQ(Certificates(options, {}, {gradient}, kReleases / 10), 0) << gradient;
      EXPECT_EQ(Certificates(options, {0.7f, -1}, {0.7f, -1, gradient}, kReleases / 10), 0)
          << gradient;
    }
  }
}

TEST_F(PrivatizerAttack, FindsNothingInAHundredThousandCoordinates) {
  constexpr size_t kSize = kReleases;
  const PrivatizerOptions options{{{"w", kSize, 0.5}}, 1.0};
  std::vector<float> spread(kSize), single(kSize);
  for (size_t i = 0; i < kSize; ++i) spread[i] = std::sin(static_cast<float>(i));
  single[17] = -3;
  EXPECT_EQ(Certificates(options, {}, spread, 1), 0);
  EXPECT_EQ(Certificates(
                options, spread,
                [&] {
                  std::vector<float> both = spread;
                  both.insert(both.end(), single.begin(), single.end());
                  return both;
                }(),
                1),
            0);
}

TEST_F(PrivatizerAttack, FindsNothingWhateverTheStrategy) {
  constexpr size_t kSize = 20'000;
  std::vector<float> one(kSize), both(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    one[i] = 0.01f * std::sin(static_cast<float>(i));
    both[i] = 0.01f * std::cos(static_cast<float>(i * i % 1000));
  }
  both.insert(both.end(), one.begin(), one.end());

  PrivatizerOptions groups{{{"a", 5000, 0.1}, {"b", 15'000, 0.7}}, 0.9};
  PrivatizerOptions least_variance = groups;
  least_variance.allocation = NoiseAllocation::kLeastVariance;
  PrivatizerOptions joint{{{"w", kSize, 1.0}}, 1.1};
  joint.groups[0].parts = {{kSize / 4, 3.0}, {kSize * 3 / 4, 0.3}};
  PrivatizerOptions normalised{{{"w", kSize}}, 1.1};
  normalised.groups[0].normalise = Normalise{0.01};
  PrivatizerOptions microbatches{{{"w", kSize, 1.0}}, 1.1};
  microbatches.microbatches = true;
  PrivatizerOptions adaptive{{{"w", kSize, 1.0}}, 1.1};
  adaptive.adaptive = AdaptiveClipNorm{NormQuantile{}, 20, 2};
  for (const auto& options : {groups, least_variance, joint, normalised, microbatches, adaptive}) {
    EXPECT_EQ(Certificates(options, one, both, 1), 0);
    EXPECT_EQ(Certificates(options, {}, one, 1), 0);
  }
}

// Nothing finer than the grid is released, so what is left to tell neighbours apart is the integer;
// its lowest bits are the same under both.
TEST_F(PrivatizerAttack, LowestBitsAreUniformWhateverTheInput) {
  const PrivatizerOptions options{{{"w", 1, 1.0}},
                                  16.0};  // K = 2^20, so that floats keep every bit of most sums
  for (const std::vector<float>& rows : {std::vector<float>{}, {0.3f}, {1, 1, 1}}) {
    const std::vector<float> releases = Release(options, rows, kReleases);
    const GridAttack attack(queries_[0]);
    constexpr int kValues = 16;
    std::vector<int> counts(kValues);
    int exact = 0;
    for (const float y : releases) {
      const std::optional<int64_t> integer = attack.IntegerOf(y);
      ASSERT_TRUE(integer.has_value());
      if (std::abs(*integer) >= 1 << 23) continue;
      ++exact;
      ++counts[static_cast<size_t>(*integer & (kValues - 1))];
    }
    EXPECT_GT(exact, kReleases / 10);
    double chi_square = 0;
    const double expected = static_cast<double>(exact) / kValues;
    for (const int count : counts) chi_square += std::pow(count - expected, 2) / expected;
    EXPECT_LT(chi_square, 56);  // 15 degrees of freedom: exceeded once in 1e6
  }
}

// Control: the same noise on the same grid, added to an input a quarter of a unit off the grid,
// gives the input away wherever a float is fine enough to show it: P(|y| < 1/4) = 0.197.
TEST_F(PrivatizerAttack, CertifiesAnInputThatIsNotOnTheGrid) {
  const PrivatizerOptions options{{{"w", 1, 1.0}}, 1.0};
  const std::vector<float> noise = Release(options, {}, kReleases / 10);
  const GridAttack attack(queries_[0]);
  const auto input = static_cast<float>(queries_[0].grid / 4);
  int certified = 0;
  for (const float value : noise) certified += !attack.Reachable(0, value + input);
  EXPECT_GT(certified, 0.15 * kReleases / 10);
}

}  // namespace
}  // namespace dpledger::client
