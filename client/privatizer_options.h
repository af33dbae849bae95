// What a training run clips, how, and how much noise each sum gets: the strategies of
// docs/strategies, all of them one integer vector with one norm check a group.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "client/integer_clip.h"

namespace dpledger::client {

// A run of consecutive coordinates that is clipped on its own, and has a sum query of its own.
struct ClipGroup {
  std::string name;      // 1 to 200 bytes, for people; all names differ
  size_t size = 0;       // coordinates
  double clip_norm = 0;  // C, in [1e-30, 1e30]; 0 with `normalise`
  // Joint clipping with scales (McMahan et al. 2018, section 2): the group's coordinates in parts,
  // whose sizes add up to `size`. Empty: one part of scale 1. Scales must not depend on the data.
  std::vector<ClipPart> parts;
  // Automatic clipping (Bu et al. 2022): x / (norm + gamma) in place of the clip to C.
  std::optional<Normalise> normalise;
};

// How the round's noise multiplier is shared among the groups. Either way it holds for the round.
enum class NoiseAllocation {
  kProportional,  // the same multiplier for each: a group's noise is proportional to its C
  // The least total variance of the noise: sigma_g proportional to sqrt(C_g) / size_g^(1/4).
  kLeastVariance,
};

// The next C is alpha times the noised mean of the examples' norms, which are cut at beta C (van
// der Veen et al. 2018).
struct MeanNorm {
  double alpha = 1;  // in [1e-3, 1e3]
  double beta = 2;   // in [1e-3, 1e3]
};
// The next C is C exp(-learning_rate (b - quantile)) for b the noised share of the examples whose
// norm is at most C (Andrew et al. 2021). A row of norm 0 is not counted: under zero-out adjacency
// a record that is left out would else turn its share round, by twice what is charged.
struct NormQuantile {
  double quantile = 0.5;       // in [0, 1]
  double learning_rate = 0.2;  // in [1e-6, 10]
};
struct AdaptiveClipNorm {
  std::variant<MeanNorm, NormQuantile> rule;
  // Of the sum query for the norms, or for the share; above that of the round, whose rest the
  // gradients get. For the share it is twice its noise's standard deviation (in examples).
  double noise_multiplier = 0;
  // What the noised sum over the sample is divided by, in [1e-9, 1e15]; the sample's real size is a
  // secret.
  double expected_batch_size = 0;
};

struct PrivatizerOptions {
  std::vector<ClipGroup> groups;  // one: flat clipping. 1 to 4096
  // z of the whole round, statistics for `adaptive` included; the noise is never less
  // (client/noise_plan.h).
  double noise_multiplier = 0;
  NoiseAllocation allocation = NoiseAllocation::kProportional;
  // Each row is the mean over a microbatch of records: one record can then turn the clipped vector
  // round, a change of 2 C, and the ledger is told so. Which microbatch a record falls into must
  // not depend on the other records.
  bool microbatches = false;
  // Adapts the clip norm of the one group that there must be then.
  std::optional<AdaptiveClipNorm> adaptive;
  // That clip, and draw noise, where that pays; in [1, 256]. What is released does not depend on
  // it.
  size_t threads = 1;
};

// INVALID_ARGUMENT names the first option out of its domain, save those that NoisePlan,
// IntegerClip and Workers check.
absl::Status CheckOptions(const PrivatizerOptions& options);

// The clip norm of the next step, from the step's noised sum of the statistic (in its own units).
// It changes by a factor of 10 at most, and stays in [1e-24, 1e24]: noise must not end a training.
double NextClipNorm(const AdaptiveClipNorm& adaptive, double clip_norm, double noised_sum);

}  // namespace dpledger::client
