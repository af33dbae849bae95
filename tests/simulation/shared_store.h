// A store that several notaries sign, as the server's PostgreSQL store is: one lease to sign, kept
// by a clock that jumps. And the places at which others get their turn in the middle of a round.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "tests/ledger_store/passing_store.h"

namespace dpledger::simulation {

class SimulatedClock : public Clock {
 public:
  absl::Time Now() override { return now_; }
  void Move(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'040);
};

// As a row of a database: it outlives the processes.
struct Lease {
  std::string holder;
  uint64_t epoch = 1;
  absl::Time expires = absl::InfinitePast();
};

class SharedStore : public PassingStore {
 public:
  struct Options {
    bool fenced = true;             // false: whoever signs is believed to be the only one
    std::function<void()> between;  // called before each call of a signer
  };
  // All arguments must outlive this.
  SharedStore(LedgerStore& store, Lease& lease, Clock& clock, Options options)
      : PassingStore(store), lease_(lease), clock_(clock), options_(std::move(options)) {}

  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    options_.between();
    return PassingStore::Read(name, first, max_entries, max_bytes);
  }
  absl::StatusOr<uint64_t> AcquireLease(const std::string& holder,
                                        absl::Duration duration) override;
  absl::StatusOr<UnsignedLedgers> Unsigned(const std::string& after, size_t limit) override {
    options_.between();
    return PassingStore::Unsigned(after, limit);
  }
  absl::Status Publish(const Publication& publication) override;

 private:
  Lease& lease_;
  Clock& clock_;
  const Options options_;
};

}  // namespace dpledger::simulation
