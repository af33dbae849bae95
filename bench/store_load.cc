#include "bench/store_load.h"

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_format.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "bench/new_ledger.h"
#include "bench/program.h"

namespace dpledger::bench {

HeadKeys ServerKeys() {
  const auto key = Must(merkle::Ed25519PrivateKey::Generate());
  return {std::make_shared<const merkle::Authenticator>(key, kHeadPurpose), nullptr};
}

void MakeLedger(LedgerStore& store, const std::string& name) {
  Check(store.Create(NewLedger(name)).status());
}

namespace {

v1::CreateLedgerRequest Held(const std::string& name) {
  v1::CreateLedgerRequest create = NewLedger(name);
  v1::Declaration& declaration = *create.mutable_declaration();
  declaration.set_parameters(v1::ADAPTIVE);
  v1::MixtureFilter& filter = *declaration.mutable_filter()->mutable_mixture();
  filter.set_epsilon(1e15);
  filter.set_delta(1e-6);
  for (const double order : {2, 3, 4, 5, 6, 8, 12, 24}) filter.add_orders(order);
  return create;
}

}  // namespace

void MakeHeldLedger(LedgerStore& store, const std::string& name, const std::string& budget,
                    uint32_t blocks) {
  v1::CreateLedgerRequest create = Held(name);
  create.mutable_declaration()->set_budget(budget);
  if (blocks > 0) {
    v1::BlockRange& range = *create.mutable_declaration()->add_blocks();
    range.set_first(1);
    range.set_last(blocks);
  }
  Check(store.Create(create).status());
}

void MakeBudget(LedgerStore& store, const std::string& name, bool has_blocks) {
  v1::CreateLedgerRequest create = Held(name);
  create.mutable_declaration()->set_kind(v1::BUDGET);
  if (has_blocks) create.mutable_declaration()->set_block_assignment("by the month");
  Check(store.Create(create).status());
}

void Grant(LedgerStore& store, const std::string& budget, const std::string& run, uint64_t number) {
  v1::GrantBudgetRequest request;
  request.set_budget(budget);
  request.set_ledger(run);
  request.set_request_id(absl::StrFormat("%s-%d", run.substr(run.rfind('/') + 1), number));
  v1::MechanismEvent& plan = *request.add_plan()->mutable_mechanism();
  plan.mutable_gaussian()->set_noise_multiplier(1.1);
  plan.set_count(100'000'000 + number);
  absl::Status granted;
  // The gate may have to read the ledgers first.
  do {
    granted = store.Grant(request, "").status();
  } while (absl::IsAborted(granted));
  Check(granted);
}

v1::AppendBatchRequest SumQueries(const std::string& ledger, uint64_t number, int entries) {
  v1::AppendBatchRequest request;
  request.set_ledger(ledger);
  request.set_writer("trainer");
  request.set_request_id(absl::StrFormat("01234567-89ab-cdef-0123-%012x", number));
  for (int i = 0; i < entries; ++i) {
    v1::NewEntry& entry = *request.add_entries();
    entry.mutable_claimed_time()->set_seconds(1'700'000'040);
    v1::SumQueryEvent& sum = *entry.mutable_event()->mutable_sum_query();
    sum.set_round(number);
    sum.mutable_query()->set_group("weights");
    sum.mutable_query()->set_l2_norm_bound(1);
    sum.mutable_query()->set_noise_stddev(1.1);
  }
  return request;
}

double CallsPerSecond(double seconds, uint64_t most_calls, const std::function<void(int)>& make,
                      const std::function<void(int, uint64_t)>& append) {
  std::atomic<bool> over = false;
  std::atomic<uint64_t> calls = 0;
  absl::BlockingCounter ready(kWriters);
  absl::Notification go;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      make(w);
      ready.DecrementCount();
      go.WaitForNotification();
      uint64_t i = 0;
      while (!over && i < most_calls) append(w, i++);
      calls += i;
    });
  }
  ready.Wait();
  const absl::Time start = absl::Now();
  go.Notify();
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& writer : writers) writer.join();
  return static_cast<double>(calls) / absl::ToDoubleSeconds(absl::Now() - start);
}

}  // namespace dpledger::bench
