#include "client/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <string>

#include "base/status.h"
#include "client/epoch_sampler.h"
#include "client/fixed_batches.h"
#include "client/internal/uniform_integers.h"
#include "client/poisson_sampler.h"
#include "tests/client/oracle.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::kWithoutAes;
using ::dpledger::testing::OnlyTargets;

using ::testing::ElementsAre;

std::vector<uint64_t> DrawFrom(Sampler& sampler) {
  const auto sample = sampler.Draw();
  EXPECT_TRUE(sample.ok()) << sample.status();
  return sample.value_or(std::vector<uint64_t>());
}

accountant::SamplingScheme FixedSizeScheme(uint64_t population, uint64_t size) {
  return {population, accountant::WithoutReplacement{size}};
}

std::unique_ptr<Sampler> FixedSize(uint64_t population, uint64_t size) {
  auto sampler = Sampler::CreateNonPrivateForTesting(FixedSizeScheme(population, size), /*seed=*/7);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  return *std::move(sampler);
}

std::unique_ptr<EpochSampler> Epochs(EpochPartition partition, uint64_t population,
                                     uint64_t rounds) {
  auto sampler =
      EpochSampler::Create({partition, population, rounds}, RootKey::NonPrivateForTesting(7));
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  return *std::move(sampler);
}

constexpr EpochPartition kPartitions[] = {EpochPartition::kShuffledBatches,
                                          EpochPartition::kRandomAllocation};

std::vector<uint64_t> Unsigned(const JsonList& list) {
  std::vector<uint64_t> result;
  for (const auto& value : list) result.push_back(static_cast<uint64_t>(value.number_value()));
  return result;
}

// With the machine's generator, and with ChaCha20.
TEST(FixedSizeSampler, GivesTheSamplesOfTheFormat) {
  for (const int64_t targets : {int64_t{0}, kWithoutAes}) {
    const OnlyTargets only(targets);
    const auto oracle = LoadOracle();
    for (const auto& entry : ListAt(oracle.fields(), "fixed_sizes")) {
      const JsonObject& fields = entry.struct_value().fields();
      const auto sampler = FixedSize(NumberAt(fields, "population"), NumberAt(fields, "size"));
      for (int step = 0; step < NumberAt(fields, "step"); ++step) DrawFrom(*sampler);
      EXPECT_EQ(DrawFrom(*sampler), Unsigned(ListAt(fields, "indices")));
    }
  }
}

TEST(EpochSampler, GivesTheSamplesOfTheFormat) {
  for (const int64_t targets : {int64_t{0}, kWithoutAes}) {
    const OnlyTargets only(targets);
    const auto oracle = LoadOracle();
    for (const EpochPartition partition : kPartitions) {
      const bool shuffled = partition == EpochPartition::kShuffledBatches;
      for (const auto& entry : ListAt(oracle.fields(), shuffled ? "shuffles" : "allocations")) {
        const JsonObject& fields = entry.struct_value().fields();
        const auto sampler =
            Epochs(partition, NumberAt(fields, "population"), NumberAt(fields, "rounds"));
        for (const auto& epoch : ListAt(fields, "epochs")) {
          for (const auto& batch : epoch.list_value().values()) {
            EXPECT_EQ(DrawFrom(*sampler), Unsigned(batch.list_value().values()));
          }
        }
      }
    }
  }
}

// --- uniformity ------------------------------------------------------------------------------

// By outcome, how often it came; all of `cells` outcomes should come equally often.
using Counts = std::map<std::vector<uint64_t>, double>;

// Chi-square over its degrees of freedom, in standard deviations from 1.
double Deviation(const Counts& counts, size_t cells) {
  double total = 0, squares = 0;
  for (const auto& [outcome, count] : counts) total += count, squares += count * count;
  const double freedom = static_cast<double>(cells) - 1;
  const double chi_square = squares * static_cast<double>(cells) / total - total;
  EXPECT_LE(counts.size(), cells);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

constexpr int kTrials = 60'000;

TEST(FixedSizeSampler, TakesEverySetEquallyOften) {
  const auto sampler = FixedSize(8, 3);
  Counts counts;
  for (int i = 0; i < kTrials; ++i) ++counts[DrawFrom(*sampler)];
  EXPECT_LT(Deviation(counts, 56), 5);
}

// Floyd's algorithm with a draw that never reaches the last record: the statistic must see it.
TEST(FixedSizeSampler, ABiasedDrawWouldBeSeen) {
  internal::UniformIntegers uniform(
      RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kFixedSizeSampling, 0));
  Counts counts;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<uint64_t> drawn;
    for (uint64_t last = 5; last < 8; ++last) {
      const uint64_t record = uniform.Below(last);
      const bool again = std::count(drawn.begin(), drawn.end(), record) > 0;
      drawn.push_back(again ? last : record);
    }
    std::sort(drawn.begin(), drawn.end());
    ++counts[drawn];
  }
  EXPECT_GT(Deviation(counts, 56), 100);
}

TEST(EpochSampler, ShufflesToEveryPartitionEquallyOften) {
  const auto sampler = Epochs(EpochPartition::kShuffledBatches, 6, 3);
  Counts counts;  // by the batches one after the other: 6!/(2! 2! 2!) of them
  for (int i = 0; i < kTrials; ++i) {
    std::vector<uint64_t> order;
    for (int round = 0; round < 3; ++round) {
      for (const uint64_t record : DrawFrom(*sampler)) order.push_back(record);
    }
    ++counts[order];
  }
  EXPECT_LT(Deviation(counts, 90), 5);
}

TEST(EpochSampler, AllocatesToEveryRoundIndependently) {
  const auto sampler = Epochs(EpochPartition::kRandomAllocation, 5, 3);
  Counts counts;  // by the rounds of the five records
  for (int i = 0; i < kTrials; ++i) {
    std::vector<uint64_t> rounds(5);
    for (uint64_t round = 0; round < 3; ++round) {
      for (const uint64_t record : DrawFrom(*sampler)) rounds[record] = round;
    }
    ++counts[rounds];
  }
  EXPECT_LT(Deviation(counts, 243), 5);
}

TEST(Deviation, SeesASwapWithAnyPlace) {
  // The shuffle that is often written in place of ours: each place with any place, not with one
  // that is not before it.
  internal::UniformIntegers uniform(
      RootKey::NonPrivateForTesting(7).Derive(KeyPurpose::kShuffling, 0));
  Counts counts;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<uint64_t> order(4);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < 4; ++i) std::swap(order[i], order[uniform.Below(4)]);
    ++counts[order];
  }
  EXPECT_GT(Deviation(counts, 24), 100);
}

TEST(UniformBelow, ReadsOnUntilNothingCanCarry) {
  // 3 U with U = 1/3 - tiny or + tiny: 0.0101...01 in binary, then what decides.
  constexpr uint64_t kThird = 0x5555555555555555;
  for (const bool above : {false, true}) {
    uint64_t deepest = 0;
    const auto bits = [&](uint64_t level) {
      deepest = std::max(deepest, level);
      return level < 4 ? kThird : above ? kThird + 1 : kThird - 1;
    };
    EXPECT_EQ(internal::UniformBelow(3, bits), above ? 1u : 0u);
    EXPECT_EQ(deepest, 4u);
  }
  const auto ones = [](uint64_t) { return ~uint64_t{0}; };
  const auto zeros = [](uint64_t) { return uint64_t{0}; };
  EXPECT_EQ(internal::UniformBelow(1, ones), 0u);
  EXPECT_EQ(internal::UniformBelow(uint64_t{1} << 53, ones), (uint64_t{1} << 53) - 1);
  EXPECT_EQ(internal::UniformBelow(12345, zeros), 0u);
}

// --- partitions and schemes ------------------------------------------------------------------

TEST(EpochSampler, EachEpochHasEveryRecordOnceAndANewPartition) {
  for (const EpochPartition partition : kPartitions) {
    const auto sampler = Epochs(partition, 1000, 7);
    std::vector<std::vector<uint64_t>> before;
    for (int epoch = 0; epoch < 4; ++epoch) {
      std::vector<std::vector<uint64_t>> batches;
      std::vector<uint64_t> all;
      for (int round = 0; round < 7; ++round) {
        batches.push_back(DrawFrom(*sampler));
        EXPECT_TRUE(std::is_sorted(batches.back().begin(), batches.back().end()));
        all.insert(all.end(), batches.back().begin(), batches.back().end());
        if (partition == EpochPartition::kShuffledBatches) {
          EXPECT_TRUE(batches.back().size() == 142 || batches.back().size() == 143);
        }
      }
      std::sort(all.begin(), all.end());
      std::vector<uint64_t> expected(1000);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
      EXPECT_NE(batches, before);
      before = batches;
    }
  }
}

TEST(EpochSampler, SchemeIsThatOfTheNextSample) {
  const auto shuffled = Epochs(EpochPartition::kShuffledBatches, 10, 3);
  const auto allocated = Epochs(EpochPartition::kRandomAllocation, 10, 3);
  const uint64_t first = std::get<accountant::DisjointBatches>(shuffled->scheme().kind).epoch;
  const uint64_t other = std::get<accountant::RandomAllocation>(allocated->scheme().kind).epoch;
  EXPECT_GT(other, first + (uint64_t{1} << 31)) << "no epoch of both";
  for (uint64_t round = 0; round < 10; ++round) {
    EXPECT_EQ(shuffled->scheme().population_size, 10u);
    EXPECT_EQ(std::get<accountant::DisjointBatches>(shuffled->scheme().kind).batches_per_epoch, 3u);
    EXPECT_EQ(std::get<accountant::DisjointBatches>(shuffled->scheme().kind).epoch,
              first + round / 3);
    EXPECT_EQ(allocated->scheme().population_size, 10u);
    EXPECT_EQ(std::get<accountant::RandomAllocation>(allocated->scheme().kind).rounds_per_epoch,
              3u);
    EXPECT_EQ(std::get<accountant::RandomAllocation>(allocated->scheme().kind).epoch,
              other + round / 3);
    DrawFrom(*shuffled);
    DrawFrom(*allocated);
  }
}

TEST(FixedSizeSampler, SchemeStatesTheSizes) {
  const auto sampler = FixedSize(100, 7);
  EXPECT_EQ(sampler->scheme().population_size, 100u);
  EXPECT_EQ(std::get<accountant::WithoutReplacement>(sampler->scheme().kind).sample_size, 7u);
}

// A bit for each of 2^40 records would be 128 GiB.
TEST(FixedSizeSampler, TakesMemoryForTheSampleOnly) {
  const auto sampler = FixedSize(uint64_t{1} << 40, 1000);
  const std::vector<uint64_t> sample = DrawFrom(*sampler);
  ASSERT_EQ(sample.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_TRUE(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
  EXPECT_LT(sample.back(), uint64_t{1} << 40);
  EXPECT_LT(sample.capacity(), 5000u);
}

TEST(FixedSizeSampler, OfTheWholePopulationTakesEveryRecord) {
  EXPECT_THAT(DrawFrom(*FixedSize(4, 4)), ElementsAre(0, 1, 2, 3));
}

TEST(FullBatchSampler, TakesEveryRecordInEachRound) {
  const auto sampler = Sampler::Create({4, accountant::FullBatch{}});
  ASSERT_TRUE(sampler.ok());
  EXPECT_EQ((*sampler)->scheme().population_size, 4u);
  EXPECT_TRUE(std::holds_alternative<accountant::FullBatch>((*sampler)->scheme().kind));
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(DrawFrom(**sampler), ElementsAre(0, 1, 2, 3));
  }
}

TEST(CyclicBatch, ComesAgainEveryEpochAndLeavesNoRecordOut) {
  for (const auto& [population, batches] : {std::pair(10u, 3u), {7u, 7u}, {5u, 1u}, {1000u, 17u}}) {
    uint64_t next = 0;
    for (uint64_t step = 0; step < batches; ++step) {
      const auto range = CyclicBatch(population, batches, step);
      const auto again = CyclicBatch(population, batches, step + 5 * uint64_t{batches});
      ASSERT_TRUE(range.ok() && again.ok());
      EXPECT_EQ(range->begin, next);
      EXPECT_GE(range->end - range->begin, population / batches);
      EXPECT_LE(range->end - range->begin, population / batches + 1);
      EXPECT_EQ(again->begin, range->begin);
      EXPECT_EQ(again->end, range->end);
      next = range->end;
    }
    EXPECT_EQ(next, population);
  }
  constexpr uint64_t kMost = (uint64_t{1} << 53) - 1;
  const auto last = CyclicBatch(kMost, kMost, kMost - 1);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->begin, kMost - 1);
  EXPECT_EQ(last->end, kMost);
}

// --- keys and refusals -----------------------------------------------------------------------

TEST(Samplers, OfKernelKeysDrawDifferentSamples) {
  const auto one = Sampler::Create(FixedSizeScheme(1000, 20)),
             other = Sampler::Create(FixedSizeScheme(1000, 20));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(DrawFrom(**one), DrawFrom(**other));
  EXPECT_NE(DrawFrom(**one), DrawFrom(**one));
  for (const EpochPartition partition : kPartitions) {
    const auto first = EpochSampler::Create({partition, 1000, 2}),
               second = EpochSampler::Create({partition, 1000, 2});
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(DrawFrom(**first), DrawFrom(**second));
  }
}

// The check that also refuses a forked child (root_key_test.cc).
TEST(Samplers, DrawNothingWhereItIsNotSafe) {
  const auto poisson = PoissonSampler::Create({1000, 0.5});
  const auto fixed_size = Sampler::Create(FixedSizeScheme(1000, 20));
  const auto epochs = EpochSampler::Create({EpochPartition::kShuffledBatches, 1000, 2});
  ASSERT_TRUE(poisson.ok() && fixed_size.ok() && epochs.ok());
  for (Sampler* sampler :
       std::initializer_list<Sampler*>{poisson->get(), fixed_size->get(), epochs->get()}) {
    std::fesetround(FE_UPWARD);
    const absl::Status status = sampler->Draw().status();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(sampler->Draw().ok());
  }
}

void ExpectRefused(const absl::Status& status, const std::string& message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), message);
}

TEST(Samplers, RefuseOptionsOutOfTheirDomain) {
  constexpr uint64_t kMost = (uint64_t{1} << 53) - 1;
  ExpectRefused(Sampler::Create(FixedSizeScheme(0, 1)).status(),
                "scheme.population_size: must be in [1, 2^53), got 0");
  ExpectRefused(Sampler::Create(FixedSizeScheme(kMost + 1, 1)).status(),
                "scheme.population_size: must be in [1, 2^53), got 9007199254740992");
  ExpectRefused(Sampler::Create(FixedSizeScheme(10, 0)).status(),
                "scheme.sample_size: must be in [1, population_size], got 0");
  ExpectRefused(Sampler::Create(FixedSizeScheme(10, 11)).status(),
                "scheme.sample_size: must be in [1, population_size], got 11");
  ExpectRefused(Sampler::Create(FixedSizeScheme(kMost, (uint64_t{1} << 32) + 1)).status(),
                "scheme.sample_size: must be in [1, 2^32], got 4294967297");
  for (const EpochPartition partition : kPartitions) {
    ExpectRefused(EpochSampler::Create({partition, 0, 1}).status(),
                  "population_size: must be in [1, 2^32], got 0");
    ExpectRefused(EpochSampler::Create({partition, (uint64_t{1} << 32) + 1, 1}).status(),
                  "population_size: must be in [1, 2^32], got 4294967297");
    ExpectRefused(EpochSampler::Create({partition, 5, 0}).status(),
                  "rounds_per_epoch: must be in [1, population_size], got 0");
    ExpectRefused(EpochSampler::Create({partition, 5, 6}).status(),
                  "rounds_per_epoch: must be in [1, population_size], got 6");
    ExpectRefused(EpochSampler::Create({partition, 5, 2, nullptr, EpochPosition{0, 3}}).status(),
                  "recorded.rounds: an epoch has only 2 rounds, got 3");
    EXPECT_EQ(EpochSampler::Create({partition, 5, 2, nullptr, EpochPosition{0, 1}}).status(),
              absl::FailedPreconditionError(
                  "recorded: must be absent where no epoch is carried on: this is a new one"));
  }
  ExpectRefused(Sampler::Create({0, accountant::FullBatch{}}).status(),
                "scheme.population_size: must be in [1, 2^32], got 0");
  ExpectRefused(CyclicBatch(0, 1, 0).status(), "population_size: must be in [1, 2^53), got 0");
  ExpectRefused(CyclicBatch(5, 0, 0).status(),
                "batches_per_epoch: must be in [1, population_size], got 0");
  ExpectRefused(CyclicBatch(5, 6, 0).status(),
                "batches_per_epoch: must be in [1, population_size], got 6");
}

}  // namespace
}  // namespace dpledger::client
