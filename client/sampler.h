// Draws the samples of a training's rounds, each by a scheme that the ledger can be told exactly.
//
//   BeginStep(sampler.scheme()); for each record of sampler.Draw(): Accumulate(gradient); Finish()
//
// 1. A sample is distributed exactly as its scheme says: what randomises it are infinite bit
//    strings, not numbers near real ones (docs/formats.md, sections 3.5 to 3.8).
// 2. It depends on the root key and the step alone. A root key is new in each process.
// 3. The population is a declared public constant, not the number of records at hand. Neither the
//    sample nor, where it is random, its size may be released.
//
// Thread safety: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

class Sampler {
 public:
  virtual ~Sampler() = default;

  // How the sample that the next Draw returns is drawn; the epoch in it may change with every Draw.
  virtual const v1::SamplingScheme& scheme() const = 0;

  // The next sample: indices in [0, population_size), ascending. FAILED_PRECONDITION after a fork,
  // whose two sides would draw the same, and under a rounding mode other than to nearest.
  virtual absl::StatusOr<std::vector<uint64_t>> Draw() = 0;
};

}  // namespace dpledger::client
