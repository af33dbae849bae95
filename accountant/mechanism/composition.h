// The input of the accounting methods: a history, resolved under one adjacency into steps that have
// an analysis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/history.h"
#include "accountant/mechanism/renyi_bound.h"
#include "accountant/pair/pair.h"
#include "accountant/pair/two_candidates.h"

namespace dpledger::accountant {

class OutcomeParts;  // outcome_parts.h

// `count` runs of the Poisson-sampled Gaussian mechanism: each record joins the sample
// independently with probability q; a Gaussian mechanism of noise multiplier z runs on it. q = 1:
// unsampled.
//
// z is an interval because it comes from the events' parameters by floating-point arithmetic
// (McMahan et al. 2018, eq. 1). A mechanism with more noise is a post-processing of one with less,
// so upper bounds use z.lower and lower bounds z.upper.
struct SampledGaussian {
  double sampling_probability;  // q in (0, 1]
  Interval noise_multiplier;    // z > 0
  uint64_t count;
};

// The same step, where events give its sampling probability as a quotient. More of it is more
// revealing, too.
struct SampledBracket {
  Interval sampling_probability;  // in (0, 1]
  Interval noise_multiplier;
};

// A Gaussian mechanism on a Poisson sample, of which one of the records that neighbours differ in
// is part with this probability, strictly between 0 and 1. It then moves the mean by at least
// 1/noise_multiplier (rounded up); where none is, nothing is shown.
struct OnSample {
  Interval probability;
  double noise_multiplier;
  // The other data set has a record in its place, which moves the mean the other way.
  bool replaced;
};

// A round of a Gaussian mechanism on a sample of fixed size, drawn without replacement: a record
// joins with probability `share` in (0, 1), and the mean moves by up to `distance` > 0 standard
// deviations between any two records. Rounded up.
struct FixedSizeRound {
  double share;
  double distance;
  bool operator==(const FixedSizeRound&) const = default;
};

// `count` runs of a mechanism described by two pairs of distributions: `upper` dominates it, and it
// dominates `lower` (Pair::Nothing() where no lower bound is proved; `upper` is that where other
// steps stand for the mechanism from above).
struct PairStep {
  Pair upper;
  Pair lower;
  // Set if a tighter Rényi curve than that of `upper` is known.
  std::optional<RenyiBound> renyi;
  uint64_t count;
  // Set if many such steps show less than as many `upper` pairs (fixed_size.h).
  std::optional<FixedSizeRound> fixed_size = std::nullopt;
  // Set if the mechanism may be any such choice, of which `lower` is one.
  std::optional<TwoCandidates> choice = std::nullopt;
  // Set if it is such a step: `upper` and `lower` are its pairs.
  std::optional<SampledBracket> sampled = std::nullopt;
  std::optional<OnSample> on_sample = std::nullopt;  // set if it is one
  // Set if parts of the outcomes may show more than `lower`.
  std::shared_ptr<const OutcomeParts> parts = nullptr;
  // Set if the mechanism has this curve too. `upper` says more, but its loss may be infinite, which
  // no filter counts.
  std::optional<RenyiBound> never_fails = std::nullopt;
  // Set if only this guarantee is known of the mechanism: the pairs are those of the worst such
  // one.
  std::optional<EpsilonDelta> stated = std::nullopt;
};

// `count` epochs of random allocation: each record joins one of `rounds` rounds, drawn uniformly; a
// Gaussian mechanism of noise multiplier z runs in every round but `missing` ones, which release
// nothing. If a neighbour has another record in place of one (`replaced`), z is that of the
// distance between the two, which point in opposite directions.
struct AllocatedGaussian {
  uint64_t rounds;            // >= 1
  Interval noise_multiplier;  // infinite at the upper end: lower bounds leave the epochs out
  uint64_t count;
  uint64_t missing = 0;  // < rounds
  // It stands for a whole run, whose further epochs would make it another one of less noise.
  bool grows = false;
  bool replaced = false;
};

// `count` runs of a mechanism of which only a Rényi curve is known. It may be a Gaussian mechanism
// whose curve is rho·α (0: of no Gaussian is it known that it may be that), on a Poisson sample of
// that share of the records.
struct CurveStep {
  RenyiBound renyi;
  uint64_t count;
  double rho = 0;
  double share = 1;  // in (0, 1]
};

// Steps, in one list for each kind of description. A method answers only if it can account for
// every list that is not empty.
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
      warnings;  // e.g. a scheme accounted as another, or a bound looser than the best known

  // Only Poisson-sampled and unsampled Gaussians.
  bool OnlyGaussians() const { return pairs.empty() && allocations.empty() && curves.empty(); }
  // Whether nothing was released.
  bool Empty() const { return steps.empty() && OnlyGaussians() && !non_private; }
  // Total number of steps of all lists, as a double (counts can exceed 2^53 together).
  double TotalCount() const;
};

// Which data sets are neighbouring.
struct Neighbours {
  Neighbours(Adjacency asked)
      : adjacency(asked), declared(asked) {}  // NOLINT: an adjacency says it all
  Adjacency adjacency;
  // The adjacency under which stated guarantees hold that are not derived from a mechanism's noise:
  // (ε, δ) statements, Rényi curves, randomized response.
  Adjacency declared;
  // Neighbouring data sets differ in up to this many records (user-level privacy).
  uint64_t group_size = 1;
};
inline constexpr uint64_t kGreatestGroup = 1024;

// FAILED_PRECONDITION (reason NO_ANALYSIS), naming the scheme or mechanism and the adjacency, if
// something in the history has no analysis: an unknown event never costs zero. The pair of each
// mechanism, with proofs: mechanism/CLAIM.md.
//
// Noise multipliers are relative to the sensitivity to adding, removing or zeroing one record.
// Replacing a record doubles that distance; a group of k records multiplies it by k.
absl::StatusOr<Composition> Resolve(const History& history, const Neighbours& neighbours);

}  // namespace dpledger::accountant
