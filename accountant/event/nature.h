// Properties of a kind of mechanism or scheme that the analysis needs beside its fields.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "accountant/event/fields.h"

namespace dpledger::accountant {

// Turns events into a composition (mechanism/resolver.h). Each kind has
//   absl::Status AddTo(Resolver&, ...) const;
// which adds its cost; its comment names the file that does.
class Resolver;
// Rounds of one scheme and noise.
struct GaussianRounds;

// How a mechanism behaves on a sample. Ordered: a composite has the greatest nature of its parts.
enum class Nature {
  kGaussian,         // Gaussian noise on sums over the sample, or nothing
  kSampledGaussian,  // the same on a Poisson sample of the sample
  kNoiseOnASum,      // other noise on a sum: a null record does not change it
  kOther,
  kOfAPopulation,  // its output's law depends on how many records the sample has
};

enum class NoiseKind { kGaussian, kRoundedGaussian, kDiscreteGaussian };

// The epoch that a round belongs to: its sample depends on those of the epoch's other rounds.
struct Epoch {
  uint64_t rounds;  // of the whole epoch
  uint64_t number;
};

}  // namespace dpledger::accountant
