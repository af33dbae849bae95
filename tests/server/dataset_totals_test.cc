// Whom the totals of data sets keep waiting.
#include "server/summaries/dataset_totals.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/row_of.h"

namespace dpledger::server {
namespace {

// After a start a list of data sets stood still for two seconds, and had no totals all the same.
TEST(DatasetTotals, AreNotWaitedForBehindALongQueue) {
  absl::Notification go;
  DatasetTotals totals(1e-6, [&](const std::vector<std::string>&, double, const auto&) {
    go.WaitForNotification();
    return absl::StatusOr<v1::ComputeEpsilonResponse>(v1::ComputeEpsilonResponse());
  });
  std::vector<LedgerRows> sets(2);
  for (uint64_t number = 0; number < kMostAwaited; ++number) {
    const auto row = std::make_shared<LedgerRow>(RowOf({}, std::nullopt));
    row->number = number;
    sets[number % 2].push_back(row);
  }
  std::vector<v1::DatasetSummary> datasets(2);
  totals.Fill(sets, absl::InfiniteFuture(), datasets);
  EXPECT_EQ(datasets[1].refusal().reason(), kUnderWay);
  go.Notify();
  while (!datasets[1].has_epsilon()) {
    datasets.assign(2, {});
    totals.Fill(sets, absl::InfinitePast(), datasets);
  }
  sets = {{sets[0][0], sets[0][1]}};
  datasets.assign(1, {});
  totals.Fill(sets, absl::InfiniteFuture(), datasets);
  EXPECT_TRUE(datasets[0].has_epsilon());
}

}  // namespace
}  // namespace dpledger::server
