// The losses of mechanisms with point masses and log-linear densities. CLAIM.md, section 5.
#pragma once

#include <vector>

#include "certify/composition.h"

namespace dpledger::certify {

// Laplace noise of scale 1, on values that differ by `distance`.
Pair LaplacePair(const Ball& distance);
// Noise P(k) ∝ e^{-ak} on whole numbers that differ by `distance`.
Pair DiscreteLaplacePair(double a, uint64_t distance);
// Noise P(k) ∝ e^{-k²/2σ²} on whole numbers that differ by `distance`.
Enclosed DiscreteGaussianPair(double sigma, uint64_t distance);
// Of `buckets` answers a uniform one with probability `noise`, else the record's own: two records.
Pair RandomizedResponsePair(double noise, uint64_t buckets);
// A record's answer against a uniform one.
Pair RandomizedResponseAgainstUniform(double noise, uint64_t buckets);
// The most revealing mechanism that is (ε, δ)-DP.
Pair EpsilonDeltaPair(const Ball& epsilon, const Ball& delta);
// The supremum of all mechanisms of ε-bounded range.
Pair BoundedRangePair(const Ball& epsilon);
// The data themselves.
Pair Everything();

// A pair cut into cells along the ratio of P to Q, which rises.
struct Cells {
  std::vector<Ball> ratios;  // at the cells' ends: one more than there are cells
  // Of each cell: its mass under Q, and by how much that under P is more than the mass under Q
  // times the ratio at the cell's beginning.
  std::vector<Ball> masses, excesses;
  Ball before = 0.0;  // under P, of what lies before all of them
};
// Each cell's masses on its ends, so that both stay what they are; what lies before the first one
// there too, and in a part that only Q has. What is left of either is told apart.
Pair Spread(const Cells& cells);
// Each cell is one outcome. What is left counts for nothing; of `rest` under P, wherever it lies,
// the loss of Q is the less.
Pair Merge(const Cells& cells, const Ball& rest);

}  // namespace dpledger::certify
