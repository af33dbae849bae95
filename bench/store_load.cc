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

void MakeLedger(LedgerStore& store, const std::string& name, bool held) {
  v1::CreateLedgerRequest create = NewLedger(name);
  if (held) {
    v1::Declaration& declaration = *create.mutable_declaration();
    declaration.set_parameters(v1::ADAPTIVE);
    v1::MixtureFilter& filter = *declaration.mutable_filter()->mutable_mixture();
    filter.set_epsilon(1e9);
    filter.set_delta(1e-6);
    for (const double order : {2, 3, 4, 5, 6, 8, 12, 24}) filter.add_orders(order);
  }
  Check(store.Create(create).status());
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
