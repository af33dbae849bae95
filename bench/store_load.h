// The load of the store's benchmarks: 64 writers with one call on its way each, each on a ledger of
// its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"

namespace dpledger::bench {

inline constexpr int kWriters = 64;

// Keys of heads, as a server's store is opened with.
HeadKeys ServerKeys();

// Makes a ledger of that name; ends the program if it cannot.
void MakeLedger(LedgerStore& store, const std::string& name);
// One that a filter holds which all of the load fits in. `budget`: that it is under, if any, on its
// first so many blocks (0: on all).
void MakeHeldLedger(LedgerStore& store, const std::string& name, const std::string& budget = "",
                    uint32_t blocks = 0);
// A budget with such a filter.
void MakeBudget(LedgerStore& store, const std::string& name, bool has_blocks);
// Grants a run under it more than the load uses. `number`: of its grants, from 1 on.
void Grant(LedgerStore& store, const std::string& budget, const std::string& run, uint64_t number);

// A batch of `entries` sum queries of round `number`, under a request id made of it.
v1::AppendBatchRequest SumQueries(const std::string& ledger, uint64_t number, int entries);

// Calls make(writer) in a thread for each writer, and then, once all are ready, append(writer, i)
// for i = 0, 1, ..., most_calls - 1 until the time is over; calls a second.
double CallsPerSecond(double seconds, uint64_t most_calls, const std::function<void(int)>& make,
                      const std::function<void(int, uint64_t)>& append);

// What a store is beside, that does nothing but write: takes what callers add, as a T, and writes
// all that waits at once, by a thread for each of `writes`, which leaves what it was given empty.
template <typename T>
class BareStore {
 public:
  explicit BareStore(const std::vector<std::function<void(T&)>>& writes) {
    for (const auto& write : writes) threads_.emplace_back([this, write] { Run(write); });
  }
  ~BareStore() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }
  // Returns once it is written.
  void Append(const std::function<void(T&)>& add) {
    absl::BlockingCounter durable(1);
    {
      absl::MutexLock lock(&mutex_);
      add(waiting_);
      callers_.push_back(&durable);
    }
    durable.Wait();
  }

 private:
  void Run(const std::function<void(T&)>& write) {
    // Both buffers keep their memory: the loop allocates nothing, whatever else the process does.
    T taken;
    std::vector<absl::BlockingCounter*> group;
    while (true) {
      group.clear();
      {
        const auto ready = [this] { return stopping_ || !callers_.empty(); };
        absl::MutexLock lock(&mutex_, absl::Condition(&ready));
        if (callers_.empty()) return;
        std::swap(taken, waiting_);
        group.swap(callers_);
      }
      write(taken);
      for (absl::BlockingCounter* durable : group) durable->DecrementCount();
    }
  }

  absl::Mutex mutex_;
  T waiting_;
  std::vector<absl::BlockingCounter*> callers_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dpledger::bench
