// Canaries for auditing the example trainer in one run (Steinke, Nasr, Jagielski 2023, arXiv
// 2305.08846): records made so that each pulls one coordinate of its own in the model, put in or
// left out by fair coins. Whoever sees the model guesses the coins; guessing too well refutes the
// privacy claim.
//
// 1. Canary i is the i-th unit vector, times kFeature. Under the linear model its gradient lies in
//    the weights of feature i alone, but for a share of 1/(kFeature^2 + 1) of its square that goes
//    into the biases; so canaries are as good as orthogonal, and one run makes many experiments.
// 2. A canary that is out is a record of the declared population that is not there: "in or out" is
//    adding or removing one record.
// 3. The learning rate is so small that the model stays where it began, where every canary's
//    gradient is larger than the clip norm, in every step.
//
// Thread safety: const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/steps.h"

namespace dpledger::canary_audit {

// Of a clip norm of 1; a canary's gradient has norm sqrt((kFeature^2 + 1)/2) = 5.7.
inline constexpr double kFeature = 8;
inline constexpr double kClipNorm = 1;

struct Guesses {
  uint64_t made = 0;
  uint64_t correct = 0;
};

class Canaries {
 public:
  // `count` >= 2 coins are tossed by a generator that starts at `seed`, which is to be kept from
  // the trainer.
  Canaries(uint64_t count, uint64_t seed);

  // The canaries that are in.
  const examples::Dataset& data() const { return data_; }
  // Full batch: every record of the population in every step.
  dp_sgd::TrainingPlan Plan(uint64_t steps, double noise_multiplier) const;
  examples::Network MakeNetwork() const;

  // Guesses "in" for the canaries whose own weights moved most their way, and "out" for as many
  // that moved least; abstains from the others. How many does not depend on the coins. `guesses` in
  // [2, count], even. `before` and `after` are the model's parameters.
  Guesses Guess(absl::Span<const float> before, absl::Span<const float> after,
                uint64_t guesses) const;

 private:
  std::vector<bool> included_;
  std::vector<size_t> rows_;  // of the data, or beyond it
  examples::Dataset data_;
};

// The share of guesses that will be right if `steps` full batches have noise multiplier
// `noise_multiplier` and a canary has norm `norm`, in clip norms, after clipping. For many
// canaries.
double ExpectedCorrectShare(uint64_t canaries, uint64_t guesses, uint64_t steps,
                            double noise_multiplier, double norm);

}  // namespace dpledger::canary_audit
