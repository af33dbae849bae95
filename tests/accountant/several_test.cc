// Several contributions of a record in one epoch: what parts of the outcomes show, against
// quadrature (two of three rounds) and simulation.
#include "accountant/allocation/several.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace dpledger::accountant::allocation {
namespace {

Partition Of(uint64_t rounds, double z, uint64_t contributions, double mesh = 0.05) {
  const auto parts = LowerPartition({rounds, 1 / z}, contributions, mesh, 1e-30, {});
  EXPECT_TRUE(parts.ok()) << parts.status();
  return *parts;
}
// δ(ε), the record in or not.
double Remove(const Partition& parts, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < parts.q.size(); ++i)
    sum += std::fmax(0, parts.p[i] - std::exp(epsilon) * parts.q[i]);
  return sum;
}
double Add(const Partition& parts, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < parts.q.size(); ++i)
    sum += std::fmax(0, parts.q[i] - std::exp(epsilon) * parts.p[i]);
  return sum;
}

TEST(Several, TwoOfThreeMeetQuadrature) {
  // From oracle/several_of_rounds.py.
  const struct {
    double z, epsilon, remove, add;
    double share;  // of δ that a partition keeps
  } rows[] = {{1, 1, 0.200409913, 0.197193886, 0.97},
              {1, 4, 0.00104134238, 0.000682546, 0.5},
              {0.5, 1, 0.6731066, 0.6672804, 0.97},
              {0.5, 4, 0.2647074, 0.2331588, 0.9}};
  for (const auto& row : rows) {
    const Partition parts = Of(3, row.z, 2, 0.02);
    EXPECT_LE(Remove(parts, row.epsilon), row.remove * (1 + 1e-6)) << row.z << " " << row.epsilon;
    EXPECT_GE(Remove(parts, row.epsilon), row.share * row.remove) << row.z << " " << row.epsilon;
    EXPECT_LE(Add(parts, row.epsilon), row.add * (1 + 1e-6)) << row.z << " " << row.epsilon;
    EXPECT_GE(Add(parts, row.epsilon), row.share * row.add) << row.z << " " << row.epsilon;
    // The control: noise that is a tenth less is out.
    EXPECT_GT(Remove(Of(3, 0.9 * row.z, 2, 0.02), row.epsilon), row.remove) << row.z;
  }
}

TEST(Several, MeetsSimulation) {
  const struct {
    uint64_t rounds, contributions;
    double z, epsilon;
  } rows[] = {{100, 5, 1, 1}, {60, 3, 0.5, 4}};
  for (const auto& row : rows) {
    std::mt19937_64 bits(23);
    std::normal_distribution<double> normal;
    const double mu = 1 / row.z;
    double sum = 0, squares = 0;
    const int samples = 20000;
    for (int i = 0; i < samples; ++i) {
      std::vector<double> e(row.contributions + 1, 0);  // of rounds so far, over their number
      e[0] = 1;
      for (uint64_t round = 0; round < row.rounds; ++round) {
        const double x = normal(bits) + (round < row.contributions ? mu : 0);
        const double ratio = std::exp(mu * x - mu * mu / 2);
        for (uint64_t m = row.contributions; m > 0; --m) {
          const double in = static_cast<double>(m) / static_cast<double>(round + 1);
          e[m] = m > round + 1 ? 0 : e[m] * (1 - in) + e[m - 1] * ratio * in;
        }
      }
      const double value = std::fmax(0, 1 - std::exp(row.epsilon) / e[row.contributions]);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / samples;
    const double error = std::sqrt((squares / samples - mean * mean) / samples);
    const double delta = Remove(Of(row.rounds, row.z, row.contributions), row.epsilon);
    EXPECT_LT(delta, mean + 4 * error) << row.rounds;
    EXPECT_GT(delta, 0.93 * mean - 4 * error) << row.rounds;
    // The control: of one more contribution it is out.
    EXPECT_GT(Remove(Of(row.rounds, row.z, row.contributions + 1), row.epsilon), mean + 4 * error)
        << row.rounds;
  }
}

// Nothing is made, and nothing but tails and roundings lost, with the record or without.
TEST(Several, MassIsKept) {
  for (const uint64_t rounds : {3ul, 7ul, 100ul, 1000003ul}) {
    const Partition parts = Of(rounds, 1, 2, 0.2);
    double p = 0, q = 0;
    for (size_t i = 0; i < parts.q.size(); ++i) {
      p += parts.p[i];
      q += parts.q[i];
    }
    EXPECT_NEAR(p, 1, 1e-15 + parts.relative_error) << rounds;
    EXPECT_NEAR(q, 1, 1e-15 + parts.relative_error) << rounds;
    EXPECT_LT(parts.relative_error, 1e-5) << rounds;
  }
}

TEST(Several, WhatIsOutOfReachShowsNothing) {
  EXPECT_TRUE(Of(100, 1, 33).q.empty());
  EXPECT_TRUE(Of(100, 0.01, 5).q.empty());
  // Much noise: losses that rounding hardly tells apart.
  EXPECT_LT(Remove(Of(100, 1e8, 2, 0.1), 0), 1e-8);
  Limits stopped;
  stopped.cancelled = [] { return true; };
  EXPECT_EQ(LowerPartition({100, 1}, 2, 0.1, 1e-30, stopped).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant::allocation
