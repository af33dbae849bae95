// Where a privatizer puts what it is about to release. The promise behind it: noise is released
// only after its event is durable, so a crash can make a ledger say too much, never too little.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

class RoundRecorder {
 public:
  virtual ~RoundRecorder() = default;

  // Opens the next round with the scheme that its sample was really drawn by; returns its number.
  virtual absl::StatusOr<uint64_t> BeginRound(const v1::SamplingScheme& scheme) = 0;

  // Hands over the sum queries of round `round`, once, and starts to deliver them. Does not wait
  // for the network.
  virtual absl::Status Record(uint64_t round, std::vector<v1::SumQuery> queries) = 0;

  // Returns OK once everything up to and including `round` may be released under the recorder's
  // policy (FAIL_CLOSED: acknowledged by the server; SPOOL: durable in the local spool). On an
  // error nothing may be released.
  virtual absl::Status AwaitReleasable(uint64_t round) = 0;
};

}  // namespace dpledger::client
