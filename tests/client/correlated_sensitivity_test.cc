// What the ledger says of a run with correlated noise, against what the integers do.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <variant>
#include <vector>

#include "absl/numeric/int128.h"
#include "accountant/accountant.h"
#include "accountant/mechanism/bin_overlaps.h"
#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/matrix_sensitivity.h"
#include "client/correlated_options.h"
#include "client/internal/buffer_plan.h"
#include "client/internal/encoder.h"
#include "events/event_values.h"

namespace dpledger::client {
namespace {

constexpr int64_t kNormBound = 10;  // so small that the rounding of buffers shows
constexpr double kNoiseMultiplier = 2;
constexpr size_t kSize = 2;

// All messages of a run without noise.
std::vector<int64_t> Messages(const CorrelatedOptions& options,
                              std::vector<std::vector<int64_t>> sums) {
  const auto encoder = internal::MakeEncoder(options, kSize);
  std::vector<int64_t> all;
  std::vector<float> estimates(kSize);
  for (uint64_t step = 1; step <= options.steps; ++step) {
    encoder->Begin(step);
    for (size_t i = 0; i < encoder->Messages(step); ++i) {
      std::vector<int64_t> message(kSize);
      encoder->Encode(step, i, 0, absl::MakeSpan(sums[step - 1]), absl::MakeSpan(message));
      encoder->Decode(step, i, 0, message, absl::MakeSpan(estimates));
      all.insert(all.end(), message.begin(), message.end());
    }
  }
  return all;
}

// The greatest distance of the messages between runs with and without a record, over all patterns
// in which it may take part with the same vector of norm kNormBound; in units of that norm and of
// a message.
double WorstDistance(const CorrelatedOptions& options) {
  std::vector<std::vector<int64_t>> others;
  for (uint64_t t = 0; t < options.steps; ++t) {
    others.push_back({static_cast<int64_t>(t * 7919 % 3001) - 1500, static_cast<int64_t>(t)});
  }
  const std::vector<int64_t> without = Messages(options, others);
  double worst = 0;
  std::vector<uint64_t> pattern;
  const std::function<void(uint64_t)> extend = [&](uint64_t from) {
    auto sums = others;
    for (const uint64_t t : pattern) {
      sums[t][0] += 6;
      sums[t][1] -= 8;
    }
    const std::vector<int64_t> with = Messages(options, sums);
    double square = 0;
    for (size_t i = 0; i < with.size(); ++i) {
      square += std::pow(static_cast<double>(with[i] - without[i]), 2);
    }
    worst = std::fmax(worst, square);
    if (pattern.size() == options.max_participations) return;
    for (uint64_t t = from; t < options.steps; ++t) {
      pattern.push_back(t);
      extend(t + options.min_separation);
      pattern.pop_back();
    }
  };
  extend(0);
  return std::sqrt(worst) / (kNormBound * std::ldexp(1, MessageBits(options)));
}

accountant::Event EventOf(const v1::MatrixMechanism& mechanism) {
  v1::Event message;
  *message.mutable_mechanism()->mutable_matrix_mechanism() = mechanism;
  const auto event = events::ValueOf(message);
  EXPECT_TRUE(event.ok()) << event.status();
  return *event;
}

// Of the recorded encoder, for contributions of norm one.
double RecordedSensitivity(const v1::MatrixMechanism& mechanism) {
  const accountant::Event event = EventOf(mechanism);
  const auto& encoder =
      std::get<accountant::MatrixMechanism>(std::get<accountant::Mechanism>(event).kind).encoder;
  if (const auto* tree = std::get_if<accountant::TreeEncoder>(&encoder)) {
    const auto& participation = std::get<accountant::Participation>(tree->schedule);
    double additions = 0;  // a bound will do
    return std::sqrt(accountant::SquaredSensitivity(*tree, participation, additions).upper());
  }
  const auto& toeplitz = std::get<accountant::ToeplitzEncoder>(encoder);
  const auto& participation = std::get<accountant::Participation>(toeplitz.schedule);
  return std::sqrt(accountant::SquaredSensitivity(toeplitz, participation).upper());
}

// What the ledger would get, of sums with the norm bound of this test.
v1::MatrixMechanism Recorded(const CorrelatedOptions& options) {
  const NoisePlan plan{{kNormBound}, static_cast<int64_t>(kNoiseMultiplier * kNormBound), 1};
  const auto mechanism = MechanismOf(options, plan);
  EXPECT_TRUE(mechanism.ok()) << mechanism.status();
  return *mechanism;
}

CorrelatedOptions Options(uint64_t steps, uint64_t participations, uint64_t separation) {
  CorrelatedOptions options;
  options.sums = {{{"w", kSize, 1.0}}, kNoiseMultiplier};
  options.steps = steps;
  options.max_participations = participations;
  options.min_separation = separation;
  return options;
}

TEST(CorrelatedSensitivity, OfBandedRunsIsWhatTheLedgerSays) {
  for (const uint64_t steps : {3, 7, 9}) {
    for (const uint64_t participations : {1, 2, 4}) {
      for (const uint64_t separation : {1, 2, 3}) {
        for (const auto& coefficients :
             std::vector<std::vector<double>>{{1}, {1, 0.5, 0.375}, {1, 0.7}, {1, 1, 0.0001}}) {
          CorrelatedOptions options = Options(steps, participations, separation);
          options.encoder = BandedToeplitz{coefficients};
          const double worst = WorstDistance(options);
          const double recorded = RecordedSensitivity(Recorded(options));
          EXPECT_GE(recorded, worst);
          EXPECT_LE(recorded, worst * (1 + 1e-13));
        }
      }
    }
  }
}

// Rounding makes runs differ by more than the coefficients say, and the noise that is recorded is
// less than the real one by enough.
TEST(CorrelatedSensitivity, OfBufferedRunsIsCoveredByTheNoiseThatIsRecorded) {
  double most_without_allowance = 0;
  for (const uint64_t steps : {1, 6, 9}) {
    for (const uint64_t participations : {1, 2, 4}) {
      for (const uint64_t separation : {1, 2, 3}) {
        for (const auto& buffers : std::vector<BufferedToeplitz>{{{0.5, 0.25}, {0.25, 0.875}},
                                                                 {{0.3, 0.7}, {0.1, 0.99}},
                                                                 {{1}, {0}},
                                                                 {{0}, {0.5}}}) {
          CorrelatedOptions options = Options(steps, participations, separation);
          options.encoder = buffers;
          const v1::MatrixMechanism mechanism = Recorded(options);
          const double recorded = mechanism.noise_stddev() / RecordedSensitivity(mechanism);
          const double real = kNoiseMultiplier / WorstDistance(options);
          EXPECT_LE(recorded, real);
          EXPECT_GE(recorded, real * (1 - 1e-3));
          most_without_allowance = std::fmax(
              most_without_allowance, kNoiseMultiplier / RecordedSensitivity(mechanism) / real);
        }
      }
    }
  }
  EXPECT_GT(most_without_allowance, 1 + 1e-6);
}

// What records of the bins add to all messages of a run, as the integers are.
std::vector<std::vector<double>> MeansOfBins(const CorrelatedOptions& options, uint64_t bins) {
  std::vector<std::vector<int64_t>> others;
  for (uint64_t t = 0; t < options.steps; ++t) {
    others.push_back({static_cast<int64_t>(t * 7919 % 3001) - 1500, static_cast<int64_t>(t)});
  }
  const std::vector<int64_t> without = Messages(options, others);
  std::vector<std::vector<double>> means;
  for (uint64_t bin = 0; bin < bins; ++bin) {
    auto sums = others;
    for (uint64_t t = bin; t < options.steps; t += bins) {
      sums[t][0] += 6;
      sums[t][1] -= 8;
    }
    const std::vector<int64_t> with = Messages(options, sums);
    means.emplace_back();
    for (size_t i = 0; i < with.size(); ++i)
      means.back().push_back(static_cast<double>(with[i] - without[i]));
  }
  return means;
}

// Rounding moves scalar products of two bins by more than its share of the noise: the Gaussian
// beside the run stands for that.
TEST(CorrelatedSensitivity, OfBufferedRunsInBinsIsCoveredByTheRecordedEvent) {
  int above_without_gaussian = 0;
  for (const auto& buffers : std::vector<BufferedToeplitz>{
           {{0.001}, {0.5}}, {{0.5, 0.25}, {0.25, 0.875}}, {{0.3, 0.7}, {0.1, 0.99}}, {{1}, {0}}}) {
    for (const uint64_t bins : {2, 3, 4}) {
      CorrelatedOptions options = Options(9, 1, 1);
      options.encoder = buffers;
      options.sampling = BallsInBinsSampling{100, bins};
      const NoisePlan plan{{kNormBound}, static_cast<int64_t>(kNoiseMultiplier * kNormBound), 1};
      const auto event = EventOf(options, plan);
      ASSERT_TRUE(event.ok()) << event.status();
      ASSERT_EQ(event->composed().events_size(), 2);
      const v1::MatrixMechanism& run = event->composed().events(0).matrix_mechanism();
      const double beside = event->composed().events(1).gaussian().noise_multiplier();
      const accountant::Event resolved = EventOf(run);
      const auto& encoder = std::get<accountant::ToeplitzEncoder>(
          std::get<accountant::MatrixMechanism>(std::get<accountant::Mechanism>(resolved).kind)
              .encoder);
      const auto overlaps = accountant::OverlapsOf(encoder, accountant::BallsInBins{bins});
      const auto means = MeansOfBins(options, bins);
      const double variance =
          std::pow(std::ldexp(static_cast<double>(plan.noise_stddev), kCoefficientBits), 2);
      for (uint64_t i = 0; i < bins; ++i) {
        for (uint64_t j = i; j < bins; ++j) {
          double real = 0;
          for (size_t k = 0; k < means[i].size(); ++k) real += means[i][k] * means[j][k] / variance;
          const double recorded = (i == j ? overlaps.own.upper() : overlaps.apart[j - i]) /
                                  std::pow(run.noise_stddev(), 2);
          EXPECT_LE(real, recorded + 1 / (beside * beside)) << bins << " " << i << " " << j;
          above_without_gaussian += real > recorded ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(above_without_gaussian, 0);
}

std::unique_ptr<internal::Encoder> EncoderOf(const std::vector<double>& weights,
                                             const std::vector<double>& decays) {
  CorrelatedOptions options;
  options.encoder = BufferedToeplitz{weights, decays};
  return internal::MakeEncoder(options, 1);
}

TEST(CorrelatedSensitivity, RoundingOfBuffersIsWithinItsBound) {
  const std::vector<double> weights = {0.4, 0.2, 0.1}, decays = {0.3, 0.9, 0.999};
  const auto plan = internal::BufferPlan::For(weights, decays);
  constexpr uint64_t kSteps = 400;
  const std::vector<double> c = plan.CoefficientsUp(kSteps);
  std::mt19937_64 random(1);
  const auto encoder = EncoderOf(weights, decays);
  std::vector<double> sums;
  double least = 0, most = 0;
  for (uint64_t t = 0; t < kSteps; ++t) {
    std::vector<int64_t> sum = {static_cast<int64_t>(random()) >> 40}, message = {0};
    sums.push_back(static_cast<double>(sum[0]));
    encoder->Encode(t + 1, 0, 0, absl::MakeSpan(sum), absl::MakeSpan(message));
    double exact = 0;
    for (uint64_t j = 0; j <= t; ++j) exact += 1024 * c[j] * sums[t - j];
    const double error = static_cast<double>(message[0]) - exact;
    least = std::fmin(least, error);
    most = std::fmax(most, error);
  }
  // All floors go down: a difference of two is as much as the lowest one.
  EXPECT_LE(most, 1e-3);
  EXPECT_GE(least, -plan.Slack());
  EXPECT_LE(least, -0.3 * plan.Slack());
}

// Where the buffers' own rounding is nothing, what is left are the floors: one for the message, and
// one in eighths for each buffer. Sixteen buffers make those the greater part.
TEST(CorrelatedSensitivity, FloorsAreWithinTheBoundOfRounding) {
  for (const auto& [buffers, least_of_slack] :
       std::vector<std::pair<size_t, double>>{{1, 0.85}, {16, 0.8}}) {
    std::vector<double> weights, decays;
    for (size_t i = 0; i < buffers; ++i) {
      weights.push_back(0.9 / static_cast<double>(buffers) - 0.0007 * static_cast<double>(i));
      decays.push_back(0.5 + 0.01 * static_cast<double>(i));
    }
    const auto plan = internal::BufferPlan::For(weights, decays);
    std::mt19937_64 random(1);
    double least = 0;
    constexpr uint64_t kSteps = 6;  // coefficients and products are exact in doubles
    const std::vector<double> c = plan.CoefficientsUp(kSteps);
    for (int run = 0; run < 30000; ++run) {
      const auto encoder = EncoderOf(weights, decays);
      std::vector<double> sums;
      for (uint64_t t = 0; t < kSteps; ++t) {
        std::vector<int64_t> sum = {static_cast<int64_t>(random()) >> 50}, message = {0};
        sums.push_back(static_cast<double>(sum[0]));
        encoder->Encode(t + 1, 0, 0, absl::MakeSpan(sum), absl::MakeSpan(message));
        double exact = 0;
        for (uint64_t j = 0; j <= t; ++j) exact += 1024 * c[j] * sums[t - j];
        least = std::fmin(least, static_cast<double>(message[0]) - exact);
      }
    }
    EXPECT_GE(least, -plan.Slack()) << buffers;
    EXPECT_LE(least, -least_of_slack * plan.Slack()) << buffers;
  }
}

// The recorded coefficients against the buffers' own, in integers: w q^(j-1) is a multiple of
// 2^-16j, which 128 bits hold for j <= 7. Doubles must round most of them.
TEST(CorrelatedSensitivity, RecordedCoefficientsOfBuffersAreNeverTooSmall) {
  int above = 0;
  for (uint32_t i = 1; i < 200; ++i) {
    const std::vector<double> weights = {i * 0x1p-10, 0.3}, decays = {i * 0x1.3579p-8, 0.9};
    const auto plan = internal::BufferPlan::For(weights, decays);
    const std::vector<double> c = plan.CoefficientsUp(8);
    for (int j = 4; j <= 7; ++j) {
      absl::uint128 exact = 0;
      for (const auto& buffer : plan.buffers) {
        absl::uint128 term = buffer.weight;
        for (int factor = 1; factor < j; ++factor) term *= buffer.decay;
        exact += term;
      }
      const auto recorded =
          static_cast<absl::uint128>(std::ldexp(c[static_cast<size_t>(j)], 16 * j));
      ASSERT_GE(recorded, exact) << i << " " << j;
      ASSERT_LE(recorded - exact, exact >> 47) << i << " " << j;
      above += recorded > exact ? 1 : 0;
    }
  }
  EXPECT_GT(above, 400);
}

// Rounded up, weights that add up to one could add up to more, which neither 62 bits nor the
// ledger has room for.
TEST(CorrelatedSensitivity, WeightsOfBuffersAreRoundedDown) {
  const std::vector<double> thirds(3, 1.0 / 3), almost = {0x2.ffp-16}, decays(3, 0.5);
  EXPECT_EQ(internal::BufferPlan::For(almost, {0.5}).buffers[0].weight, 2u);
  EXPECT_EQ(internal::BufferPlan::For(thirds, decays).buffers[2].weight, 21845u);
}

// Coordinates beyond the bound of the buffers are cut, and nothing wraps.
TEST(CorrelatedSensitivity, BuffersTakeTheLargestSums) {
  const std::vector<double> weights = {1}, decays = {1 - 0x1p-13};
  const auto encoder = EncoderOf(weights, decays);
  std::vector<int64_t> message;
  double expected = 0, past = 0;
  for (uint64_t t = 1; t <= 60000; ++t) {
    std::vector<int64_t> sum = {std::numeric_limits<int64_t>::min()};
    message = {0};
    encoder->Encode(t, 0, 0, absl::MakeSpan(sum), absl::MakeSpan(message));
    expected = -0x1p46 + 1024 * past;
    past = past * decays[0] - 0x1p36;
  }
  EXPECT_NEAR(static_cast<double>(message[0]) / expected, 1, 1e-6);
}

// The control: a ledger that leaves out a coefficient is caught.
TEST(CorrelatedSensitivity, OfAnEncoderWithoutItsLastCoefficientIsTooSmall) {
  CorrelatedOptions options = Options(7, 2, 2);
  options.encoder = BandedToeplitz{{1, 0.5, 0.375}};
  v1::MatrixMechanism mechanism = Recorded(options);
  mechanism.mutable_toeplitz()->mutable_coefficients()->RemoveLast();
  EXPECT_LT(RecordedSensitivity(mechanism), 0.95 * WorstDistance(options));
}

TEST(CorrelatedSensitivity, OfTreesIsAtMostWhatTheLedgerSays) {
  int tight = 0, all = 0;
  for (const uint64_t steps : {1, 3, 7, 8, 10}) {
    for (const uint64_t participations : {1, 2, 4}) {
      for (const uint64_t separation : {1, 2, 4}) {
        const CorrelatedOptions options = Options(steps, participations, separation);
        const double worst = WorstDistance(options);
        const double recorded = RecordedSensitivity(Recorded(options));
        EXPECT_GE(recorded, worst * (1 - 1e-15)) << steps;
        ++all;
        tight += recorded <= worst * (1 + 1e-15) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tight, 0.7 * all);
}

// Of the Gaussian mechanism (Balle and Wang 2018, theorem 8).
double EpsilonByHand(double multiplier, double delta) {
  const auto tail = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  double low = 0, high = 100;
  for (int i = 0; i < 100; ++i) {
    const double epsilon = (low + high) / 2, half = 0.5 / multiplier, shift = epsilon * multiplier;
    const double excess = tail(shift - half) - std::exp(epsilon) * tail(shift + half);
    (excess > delta ? low : high) = epsilon;
  }
  return high;
}

TEST(CorrelatedSensitivity, EpsilonIsThatOfOneGaussianMechanism) {
  // Three participations whose messages do not meet: 3 (1 + 1/4 + 1/16).
  CorrelatedOptions options = Options(100, 3, 10);
  options.encoder = BandedToeplitz{{1, 0.5, 0.25}};
  accountant::History history;
  history.Add("w", EventOf(Recorded(options)));
  const auto composition = accountant::Resolve(history, accountant::Adjacency::kZeroOut);
  ASSERT_TRUE(composition.ok()) << composition.status();
  const auto answer = accountant::ComputeEpsilon(*composition, 1e-6, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(answer->value.upper(), EpsilonByHand(kNoiseMultiplier / std::sqrt(3 * 1.3125), 1e-6),
              1e-4);
  // Removal would move the steps of all others.
  EXPECT_EQ(accountant::Resolve(history, accountant::Adjacency::kAddOrRemoveOne).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dpledger::client
