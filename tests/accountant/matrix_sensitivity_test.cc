#include "accountant/mechanism/matrix_sensitivity.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

namespace dpledger::accountant {
namespace {

// The most over every pattern of participation.
double Exhaustive(uint64_t steps, Participation participation,
                  const std::function<double(const std::vector<uint64_t>&)>& cost) {
  double most = 0;
  std::vector<uint64_t> pattern;
  const std::function<void(uint64_t)> extend = [&](uint64_t from) {
    most = std::fmax(most, cost(pattern));
    if (pattern.size() == participation.max_participations) return;
    for (uint64_t at = from; at < steps; ++at) {
      pattern.push_back(at);
      extend(at + participation.min_separation);
      pattern.pop_back();
    }
  };
  extend(0);
  return most;
}

double TreeCost(uint64_t steps, const std::vector<uint64_t>& pattern) {
  double sum = 0;
  for (uint64_t size = 1; size <= steps; size *= 2) {
    for (uint64_t start = 0; start + size <= steps; start += size) {
      double c = 0;
      for (const uint64_t at : pattern) c += at >= start && at < start + size ? 1 : 0;
      sum += c * c;
    }
  }
  return sum;
}

// With `additions` to be exact.
Interval OfTree(uint64_t steps, Participation participation, double additions = 3e7) {
  return SquaredSensitivity(TreeEncoder{steps, {}}, participation, additions);
}

TEST(MatrixSensitivity, OfATreeIsTheWorstPattern) {
  int tight = 0, all = 0;
  for (const uint64_t steps : {1, 2, 3, 7, 8, 9, 13, 16, 19}) {
    for (const uint64_t most : {1, 2, 3, 6}) {
      for (const uint64_t separation : {1, 2, 3, 4, 8}) {
        const Participation participation{most, separation};
        const double worst = Exhaustive(
            steps, participation, [&](const auto& pattern) { return TreeCost(steps, pattern); });
        const Interval exact = OfTree(steps, participation);
        EXPECT_EQ(exact.lower(), worst) << steps << " " << most << " " << separation;
        EXPECT_EQ(exact.upper(), worst) << steps << " " << most << " " << separation;
        // Without the work for it: bounds.
        const Interval bounds = OfTree(steps, participation, 0);
        EXPECT_LE(bounds.lower(), worst) << steps << " " << most << " " << separation;
        EXPECT_GE(bounds.upper(), worst) << steps << " " << most << " " << separation;
        ++all;
        tight += bounds.upper() == worst ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tight, 0.8 * all);
  EXPECT_LT(tight, all) << "the control: the exact ones are not the bounds";
}

// Values of a published library's dynamic programme (TensorFlow Privacy's tests); there the
// separation counts the steps between.
TEST(MatrixSensitivity, OfATreeHasPublishedValues) {
  EXPECT_EQ(OfTree(8, {1, 8}).upper(), 4);
  EXPECT_EQ(OfTree(9, {3, 4}).upper(), 11);
  EXPECT_EQ(OfTree(7, {3, 3}).upper(), 9);
  EXPECT_EQ(OfTree(24, {8, 3}).upper(), 88);
  // Gboard's language model, by a programme of another kind over dyadic blocks.
  EXPECT_EQ(OfTree(2000, {6, 314}).upper(), 79);
  EXPECT_EQ(OfTree(2000, {20, 100}).upper(), 425);
  // One participation is in as many intervals as the single-epoch event counts.
  EXPECT_EQ(OfTree(1600, {1, 1}).upper(), std::bit_width(1600u));
}

TEST(MatrixSensitivity, OfAToeplitzEncoderIsTheWorstPatterns) {
  const std::vector<double> coefficients = {1, 0.5, 0.375, 0.3125, 0.1};
  for (const uint64_t steps : {5, 8, 11}) {
    for (const uint64_t most : {1, 2, 4}) {
      for (const uint64_t separation : {1, 2, 3, 6}) {
        const double worst = Exhaustive(steps, {most, separation}, [&](const auto& pattern) {
          std::vector<double> out(steps, 0);
          for (const uint64_t at : pattern) {
            for (size_t j = 0; j < coefficients.size() && at + j < steps; ++j)
              out[at + j] += coefficients[j];
          }
          double sum = 0;
          for (const double x : out) sum += x * x;
          return sum;
        });
        const Interval found =
            SquaredSensitivity(ToeplitzEncoder{steps, coefficients, {}}, {most, separation});
        EXPECT_TRUE(found.Contains(worst)) << steps << " " << most << " " << separation;
        EXPECT_LT(found.RelativeGap(), 1e-13);
      }
    }
  }
}

TEST(MatrixSensitivity, OfLongRunsIsQuick) {
  const Interval found = OfTree(uint64_t{1} << 53, {1000, 1 << 20});
  EXPECT_GT(found.lower(), 1e6);
  EXPECT_LT(found.upper(), 1e9);
}

}  // namespace
}  // namespace dpledger::accountant
