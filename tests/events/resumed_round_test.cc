// What a run that was started again may record first.
#include "events/resumed_round.h"

#include <gmock/gmock.h>

#include "base/status.h"

namespace dpledger::events {
namespace {

using ::testing::HasSubstr;

v1::SamplingScheme Batches(uint64_t epoch) {
  v1::SamplingScheme scheme;
  scheme.mutable_disjoint_batches()->set_batches_per_epoch(4);
  scheme.mutable_disjoint_batches()->set_epoch(epoch);
  return scheme;
}

v1::SumQuery Query(double grid, double noise_stddev) {
  v1::SumQuery query;
  query.set_group("weights");
  query.set_l2_norm_bound(100);
  query.set_noise_stddev(noise_stddev);
  query.set_grid(grid);
  return query;
}

v1::AppendBatchRequest Round(const v1::SamplingScheme& scheme,
                             const std::vector<v1::SumQuery>& queries) {
  v1::AppendBatchRequest batch;
  *batch.add_entries()->mutable_event()->mutable_sampling()->mutable_scheme() = scheme;
  for (const v1::SumQuery& query : queries) {
    *batch.add_entries()->mutable_event()->mutable_sum_query()->mutable_query() = query;
  }
  return batch;
}

TEST(ResumedRound, MayHaveAnotherEpochAndGrid) {
  v1::SamplingScheme allocation;
  for (const uint64_t epoch : {0, 1}) {
    allocation.mutable_random_allocation()->set_epoch(1 - epoch);
    v1::SamplingScheme other = allocation;
    other.mutable_random_allocation()->set_epoch(epoch);
    EXPECT_EQ(
        CheckResumedRound(Round(Batches(0), {Query(0.5, 3)}), Batches(epoch), {Query(0.25, 3)}),
        absl::OkStatus());
    EXPECT_EQ(CheckResumedRound(Round(other, {Query(1, 3)}), allocation, {Query(1, 3)}),
              absl::OkStatus());
  }
}

TEST(ResumedRound, MayBeAnyBehindABatchWithoutOne) {
  EXPECT_EQ(CheckResumedRound({}, Batches(0), {Query(1, 3)}), absl::OkStatus());
}

TEST(ResumedRound, NamesEveryFieldThatDiffers) {
  v1::SamplingScheme scheme = Batches(0);
  scheme.mutable_disjoint_batches()->set_batches_per_epoch(5);
  const absl::Status status =
      CheckResumedRound(Round(Batches(0), {Query(1, 3)}), scheme, {Query(1, 2), Query(1, 3)});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status).reason, "OTHER_CONFIGURATION");
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("(its value -> yours): modified: scheme.disjoint_batches.batches_per_epoch: "
                "4 -> 5; modified: queries[0].noise_stddev: 3 -> 2; added: queries[1]: "));
}

}  // namespace
}  // namespace dpledger::events
