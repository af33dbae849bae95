// The choice between two candidates by noised scores. The exponential mechanism, permute-and-flip
// and report-noisy-max may each be such a choice, so that they show at least as much. Derivation:
// mechanism/CLAIM.md, section 1.
#pragma once

#include "accountant/pair/pair.h"

namespace dpledger::accountant {

// The first candidate's score rises against the second one's by `epsilon` > 0 from a data set to
// its neighbour; each score has noise of scale one. On a Poisson sample the data set has the record
// with probability `sampled` in (0, 1], else it is as the neighbour.
struct TwoCandidates {
  enum class Noise {
    kGumbel,       // the exponential mechanism; also what Laplace noise on many candidates comes to
    kExponential,  // permute-and-flip
  };
  Noise noise;
  double epsilon;
  double sampled = 1;
};

// The choice where the first candidate is `behind` by that much on the neighbour (Q), and by
// `epsilon` less on the data set (P). Nothing() for an epsilon of 0 or above 600, and where
// `behind` is beyond ±690.
Pair PairOf(const TwoCandidates& choice, double behind);

// The `behind` at which the moment of `order` > 1 of P against Q is greatest, about. For any other
// order epsilon/2, at which both candidates are alike.
double MostTelling(const TwoCandidates& choice, double order);

}  // namespace dpledger::accountant
