// One training run of the example trainer on canaries, as it is or sabotaged.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/event_recorder.h"
#include "examples/canary_audit/canaries.h"

namespace dpledger::canary_audit {

// Ways to break a trainer while its ledger stays as it was: the controls of the audit.
enum class Sabotage {
  kNone,
  kQuarterNoise,  // a quarter of the noise that the ledger is told of
  kNoClipping,    // no gradient is clipped; the noise is that of the clip norm
};

// The ledger is told of so many times the noise multiplier that the trainer is given.
double Exaggeration(Sabotage sabotage);
// A canary's norm after clipping, in the clip norms that the ledger is told of.
double NormAfterClipping(Sabotage sabotage);

// Trains `steps` full batches with the noise multiplier, lets `recorder` know, and guesses which
// canaries are in. Errors of the trainer.
absl::StatusOr<Guesses> TrainAndGuess(const Canaries& canaries, uint64_t steps,
                                      double noise_multiplier, uint64_t guesses, Sabotage sabotage,
                                      client::EventRecorder& recorder);

}  // namespace dpledger::canary_audit
