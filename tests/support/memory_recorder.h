// A recorder for tests and benchmarks that keeps rounds in memory and lets all of them go.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "client/round_recorder.h"

namespace dpledger::testing {

class MemoryRecorder : public client::RoundRecorder {
 public:
  struct Round {
    v1::SamplingScheme scheme;
    std::vector<v1::SumQuery> queries;
  };

  absl::StatusOr<uint64_t> BeginRound(const v1::SamplingScheme& scheme) override {
    rounds.push_back({scheme, {}});
    return rounds.size() - 1;
  }
  absl::Status Record(uint64_t round, std::vector<v1::SumQuery> queries) override {
    rounds[round].queries = std::move(queries);
    return absl::OkStatus();
  }
  absl::Status AwaitReleasable(uint64_t) override { return absl::OkStatus(); }

  std::vector<Round> rounds;
};

}  // namespace dpledger::testing
