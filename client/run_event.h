// What the ledger is told of a run with correlated noise.
#pragma once

#include "absl/status/statusor.h"
#include "client/correlated_options.h"
#include "client/noise_plan.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

// What the ledger is told of the messages; `plan` is that of the sums. Without sampling an
// unsampled Gaussian mechanism costs as much, whose multiplier is noise_stddev over the sensitivity
// that the accountant works out for the encoder. noise_stddev is the noise multiplier, but for
// BufferedToeplitz, where it is less by what rounding can do: INVALID_ARGUMENT if that is more than
// a hundredth.
absl::StatusOr<v1::MatrixMechanism> MechanismOf(const CorrelatedOptions& options,
                                                const NoisePlan& plan);

// The event of the whole run: that mechanism, for BufferedToeplitz in bins with the Gaussian
// mechanism beside it that stands for what rounding does to pairs of bins.
absl::StatusOr<v1::MechanismEvent> EventOf(const CorrelatedOptions& options, const NoisePlan& plan);

}  // namespace dpledger::client
