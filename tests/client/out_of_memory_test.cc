// What is left behind where memory runs out at any one place: never a sum that a second try would
// add the same gradients to, and never a release that the ledger does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/privatizer.h"
#include "tests/support/list_recorder.h"
#include "tests/support/refusing_new.h"

namespace {

// How many allocations are granted, of all threads together, before one is refused.
std::atomic<int64_t> granted = INT64_MAX;

}  // namespace

bool RefusesAllocation(size_t) { return granted.fetch_sub(1) == 0; }

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::Each;
using ::testing::ElementsAreArray;

// Whether it threw, where allocation number `refused` is refused.
template <typename Call>
bool RunsOut(int64_t refused, const Call& call) {
  granted = refused;
  bool out = false;
  try {
    call();
  } catch (const std::bad_alloc&) {
    out = true;
  }
  granted = INT64_MAX;
  return out;
}

PrivatizerOptions Adaptive(size_t size) {
  PrivatizerOptions options{{{"w", size, 1.0}}, 1.0};
  options.adaptive =
      AdaptiveClipNorm{MeanNorm{}, /*noise_multiplier=*/4, /*expected_batch_size=*/2};
  return options;
}

accountant::SamplingScheme FullBatch() { return {}; }

TEST(OutOfMemory, AddsAllOrNothing) {
  const std::vector<float> gradients(100 * 6, 0.25f);
  PrivatizerOptions groups{{{"a", 2, 1.0}, {"b", 4, 1.0}}, 1.0};
  groups.threads = 2;
  for (const PrivatizerOptions& options : {groups, Adaptive(6)}) {
    for (const bool with_norms : {false, true}) {
      const std::vector<double> norms(100 * options.groups.size(), 1.0);
      bool out = true;
      int64_t refused = 0;
      for (; out; ++refused) {
        auto sum = ClippedSum::Create(options);
        ASSERT_TRUE(sum.ok());
        const GradientRows rows{gradients.data(), 100, 6};
        out = RunsOut(refused, [&] {
          if (with_norms) {
            EXPECT_TRUE(sum->Accumulate(rows, norms).ok());
          } else {
            EXPECT_TRUE(sum->Accumulate(rows).ok());
          }
        });
        if (!out) break;
        ASSERT_THAT(sum->sums(), Each(0)) << refused;
      }
      EXPECT_EQ(refused > 0, with_norms || options.adaptive.has_value());
    }
  }
}

TEST(OutOfMemory, EndsTheRoundWithoutARelease) {
  constexpr size_t kSize = 33000;  // more than one thread takes
  const std::vector<float> gradient(kSize, 0.001f);
  for (const size_t threads : {1u, 3u}) {
    PrivatizerOptions options = Adaptive(kSize);
    options.threads = threads;
    bool out = true;
    int64_t refused = 0;
    for (; out; ++refused) {
      ListRecorder recorder;
      const auto privatizer = *Privatizer::Create(options, &recorder);
      ASSERT_TRUE(privatizer->BeginStep(FullBatch()).ok());
      ASSERT_TRUE(privatizer->Accumulate(gradient).ok());
      std::vector<float> released(kSize);
      out =
          RunsOut(refused, [&] { EXPECT_TRUE(privatizer->Finish(absl::MakeSpan(released)).ok()); });
      EXPECT_EQ(privatizer->Finish(absl::MakeSpan(released)).code(),
                absl::StatusCode::kFailedPrecondition);
      if (!out) break;
      ASSERT_EQ(std::count(released.begin(), released.end(), 0.0f), kSize) << refused;
      // The next round is charged for all that it releases.
      ASSERT_TRUE(privatizer->BeginStep(FullBatch()).ok());
      EXPECT_EQ(recorder.queries.size(), 2u) << refused;
    }
    EXPECT_GT(refused, 3);
  }
}

// The round after one that was lost has its own gradients alone, of which there are none here: what
// it releases is noise, of the first step's key or of the next one's.
TEST(OutOfMemory, WipesTheSumOfARoundThatIsLost) {
  constexpr size_t kSize = 33000;
  const std::vector<float> gradient(kSize, 0.001f);
  for (const size_t threads : {1u, 3u}) {
    PrivatizerOptions options{{{"w", kSize, 1.0}}, 1.0};
    options.threads = threads;
    ListRecorder recorder;
    const auto begin = [&] {
      auto privatizer = *Privatizer::CreateNonPrivateForTesting(options, &recorder, /*seed=*/5);
      EXPECT_TRUE(privatizer->BeginStep(FullBatch()).ok());
      return privatizer;
    };
    const auto reference = begin();
    const std::vector<float> first = *reference->Finish();
    ASSERT_TRUE(reference->BeginStep(FullBatch()).ok());
    const std::vector<float> second = *reference->Finish();
    bool out = true;
    int64_t refused = 0;
    for (; out; ++refused) {
      const auto privatizer = begin();
      ASSERT_TRUE(privatizer->Accumulate(gradient).ok());
      std::vector<float> released(kSize);
      out =
          RunsOut(refused, [&] { EXPECT_TRUE(privatizer->Finish(absl::MakeSpan(released)).ok()); });
      ASSERT_TRUE(privatizer->BeginStep(FullBatch()).ok());
      const std::vector<float> next = *privatizer->Finish();
      EXPECT_TRUE(next == first || next == second) << refused;
    }
    EXPECT_GT(refused, 3);
  }
}

TEST(OutOfMemory, AStepIsRepeatedOrTheRunHasEnded) {
  const std::vector<float> gradient(200, 0.01f);
  CorrelatedOptions tree, banded, buffered;
  banded.encoder = BandedToeplitz{{1, 0.5, 0.25}};
  buffered.encoder = BufferedToeplitz{{0.5}, {0.5}};
  for (CorrelatedOptions options : {tree, banded, buffered}) {
    options.sums = {{{"w", 200, 0.5}}, 2.0};
    options.steps = 4;
    ListRecorder recorder;
    const auto begin = [&] {
      return *CorrelatedPrivatizer::BeginNonPrivateRunForTesting(options, &recorder, /*seed=*/5);
    };
    const auto step = [&](CorrelatedPrivatizer& run) {
      EXPECT_TRUE(run.Accumulate(gradient).ok());
      return *run.FinishStep();
    };
    const auto reference = begin();
    step(*reference);
    const std::vector<float> expected = step(*reference);

    bool out = true;
    int64_t refused = 0, repeated = 0, ended = 0;
    for (; out; ++refused) {
      const auto run = begin();
      step(*run);
      ASSERT_TRUE(run->Accumulate(gradient).ok());
      out = RunsOut(refused, [&] { EXPECT_TRUE(run->FinishStep().ok()); });
      if (!out) break;
      if (run->steps_done() == 1) {
        EXPECT_THAT(*run->FinishStep(), ElementsAreArray(expected)) << refused;
        ++repeated;
      } else {
        EXPECT_EQ(run->FinishStep().status().code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_EQ(run->Accumulate(gradient).code(), absl::StatusCode::kFailedPrecondition);
        ++ended;
      }
    }
    EXPECT_GT(repeated, 0);
    EXPECT_GT(ended, 0);
  }
}

}  // namespace
}  // namespace dpledger::client
