// What the accountants compose: a history resolved, under one adjacency, into steps that have an
// analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/history.h"
#include "accountant/mechanism/pair.h"
#include "accountant/mechanism/renyi_bound.h"

namespace dpledger::accountant {

// `count` runs of: each record joins independently with probability q; a Gaussian mechanism of
// noise multiplier z runs on the sample. q = 1 is the unsampled Gaussian.
//
// z is an interval because it comes from the events' parameters by floating-point arithmetic
// (McMahan et al. 2018, eq. 1). More noise is a post-processing of less, so upper bounds use
// z.lower and lower bounds z.upper.
struct SampledGaussian {
  double sampling_probability;  // q in (0, 1]
  Interval noise_multiplier;    // z > 0
  uint64_t count;
};

// `count` runs of a mechanism that is known by pairs of distributions. Bounds compose the pairs:
// `upper` is at least as revealing as the mechanism, `lower` at most (Pair::Nothing() where nothing
// is proved).
struct PairStep {
  Pair upper;
  Pair lower;
  // Where a tighter Rényi curve is known than that of `upper`.
  std::optional<RenyiBound> renyi;
  uint64_t count;
};

// `count` epochs of random allocation: each record joins one of `rounds` rounds, drawn uniformly; a
// Gaussian mechanism of noise multiplier z runs in every round but `missing` ones, which release
// nothing.
struct AllocatedGaussian {
  uint64_t rounds;            // >= 1
  Interval noise_multiplier;  // infinite at the upper end: lower bounds leave the epochs out
  uint64_t count;
  uint64_t missing = 0;  // < rounds
};

// `count` runs of a mechanism of which only a Rényi curve is known.
struct CurveStep {
  RenyiBound renyi;
  uint64_t count;
};

// Steps by what is known of them. Every method says which of the lists it can answer for; an answer
// that leaves one out would be wrong.
struct Composition {
  std::vector<SampledGaussian> steps;  // distinct (q, z)
  std::vector<PairStep> pairs;
  std::vector<AllocatedGaussian> allocations;
  std::vector<CurveStep> curves;
  bool non_private = false;  // ε is infinite
  Adjacency adjacency = Adjacency::kAddOrRemoveOne;
  std::set<std::string> schemes;
  std::set<std::string> assumptions;
  std::set<std::string>
      warnings;  // a scheme accounted as another, a looser bound than the best known

  // Only Poisson-sampled and unsampled Gaussians.
  bool OnlyGaussians() const { return pairs.empty() && allocations.empty() && curves.empty(); }
  // Nothing was released.
  bool Empty() const { return steps.empty() && OnlyGaussians() && !non_private; }
  // Total number of steps of all lists, as a double (counts can exceed 2^53 together).
  double TotalCount() const;
};

// Which data sets are neighbours.
struct Neighbours {
  Neighbours(Adjacency asked)
      : adjacency(asked), declared(asked) {}  // NOLINT: an adjacency says it all
  Adjacency adjacency;
  // The adjacency that what was measured, not derived, holds under: (ε, δ) statements, curves,
  // randomized response.
  Adjacency declared;
  // They differ in up to this many records (user-level privacy).
  uint64_t group_size = 1;
};
inline constexpr uint64_t kGreatestGroup = 1024;

// FAILED_PRECONDITION, naming the scheme or mechanism and the adjacency, for what has no analysis
// (reason NO_ANALYSIS): an unknown event never costs zero. Which pair stands for what, and why:
// mechanism/CLAIM.md.
//
// Noise multipliers speak of what adding, removing or zeroing one record changes; replacing one
// doubles the distance, a group of k records makes it k times as long.
absl::StatusOr<Composition> Resolve(const History& history, const Neighbours& neighbours);

}  // namespace dpledger::accountant
