// The overlaps of records of different bins, in the messages of a matrix mechanism whose records
// take part by balls in bins; and the compositions between which its cost lies. Proofs:
// mechanism/CLAIM.md, section 9.
#pragma once

#include <cstdint>
#include <vector>

#include "accountant/event/event.h"
#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// Scalar products of m_0 to m_{b-1}: what a record of bin i, whose contributions are all the same
// vector of norm one, adds to all messages. In units of the encoder's first coefficient squared.
struct BinOverlaps {
  Interval own;               // around every m_i·m_i; each end is reached but for rounding
  std::vector<double> apart;  // apart[d] >= m_i·m_{i+d} for every i, where 0 < d < b
  double least_apart = 0;     // <= m_i·m_j for all i != j; 0 where b = 1

  uint64_t bins() const { return apart.size(); }
};

// Takes about WorkOfOverlaps() additions.
BinOverlaps OverlapsOf(const ToeplitzEncoder& toeplitz, const BallsInBins& bins);
BinOverlaps OverlapsOf(const TreeEncoder& tree, const BallsInBins& bins);
double WorkOfOverlaps(const ToeplitzEncoder& toeplitz, const BallsInBins& bins);
double WorkOfOverlaps(const TreeEncoder& tree, const BallsInBins& bins);

// The compositions of one Gaussian and one epoch of random allocation that dominate the mechanism,
// each by itself, and one that it dominates. z: noise over a contribution of norm one, in units of
// the first coefficient.
Bracket BracketOfBins(const BinOverlaps& overlaps, Interval z);

}  // namespace dpledger::accountant
