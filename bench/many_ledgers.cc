#include "bench/many_ledgers.h"

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/new_ledger.h"
#include "bench/program.h"

namespace dpledger::bench {
namespace {

constexpr int kMakers = 64;

void Make(LedgerStore& store, int number) {
  v1::CreateLedgerRequest request = NewLedger(LedgerCalled(number));
  request.mutable_declaration()->set_dataset(absl::StrCat("data-", number % 100));
  Check(store.Create(request).status());
  v1::AppendBatchRequest batch;
  batch.set_ledger(LedgerCalled(number));
  batch.set_writer("w");
  batch.set_request_id("rounds");
  for (const double noise : {1.0, 1.5}) {
    v1::RoundsEvent& rounds = *batch.add_entries()->mutable_event()->mutable_rounds();
    rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
    rounds.set_count(static_cast<uint64_t>(100 + number % 10));
    rounds.add_queries()->set_l2_norm_bound(1);
    rounds.mutable_queries(0)->set_noise_stddev(noise);
  }
  Check(store.Append(std::move(batch)).status());
}

}  // namespace

std::string LedgerCalled(int number) {
  return absl::StrFormat("projects/bench/ledgers/l%06d", number);
}

void MakeLedgers(LedgerStore& store, int count) {
  std::vector<std::thread> makers;
  for (int maker = 0; maker < kMakers; ++maker) {
    makers.emplace_back([&store, count, maker] {
      for (int number = maker; number < count; number += kMakers) Make(store, number);
    });
  }
  for (std::thread& maker : makers) maker.join();
}

}  // namespace dpledger::bench
