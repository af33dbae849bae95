// What the accountants compose: a history resolved, under one adjacency, into steps that have an
// analysis.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/history.h"

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

struct Composition {
  std::vector<SampledGaussian> steps;  // distinct (q, z)
  bool non_private = false;            // ε is infinite
  Adjacency adjacency = Adjacency::kAddOrRemoveOne;
  std::set<std::string> schemes;
  std::set<std::string> assumptions;

  // Total number of steps, as a double (counts can exceed 2^53 together).
  double TotalCount() const;
};

// FAILED_PRECONDITION, naming the scheme or mechanism and the adjacency, for what has no analysis
// (reason NO_ANALYSIS): an unknown event never costs zero.
//
// Adjacency: noise multipliers speak of what adding, removing or zeroing one record changes; under
// replace-one the distance doubles (z/2), which is analysed here for unsampled Gaussians only.
absl::StatusOr<Composition> Resolve(const History& history, Adjacency adjacency);

}  // namespace dpledger::accountant
