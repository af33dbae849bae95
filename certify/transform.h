// The transform M(z) = E[e^{zL}; L finite] of one step's loss in balls. Every number of a Strip may
// be anything: a bad one makes a ball wide, never wrong. CLAIM.md, sections 2 to 4.
#pragma once

#include <vector>

#include "certify/ball.h"
#include "certify/composition.h"

namespace dpledger::certify {

// Integrals over t, moved off the real line by i·height, done from `from` to `to`; of a trapezoidal
// rule also the distance of its nodes.
struct Strip {
  double height = 0;
  double from = 0, to = 0;
  double step = 0;
};

// M(c + iy) = Σ weight e^{iy loss} + a part within `error`, for all y >= 0.
struct Nodes {
  std::vector<Complex> loss, weight;
  Ball error = 0.0;
  Ball Total() const;  // M(c)
};
Nodes NodesOf(const SampledGaussian& step, Direction direction, const Ball& c, const Strip& strip);
// Point masses alone, without error.
Nodes NodesOf(const LossLaw& law, const Ball& c);
// The share of the densities in M(z).
Complex DensityMoment(const LossLaw& law, const Complex& z);

// M(c + i h j) of nodes alone, for j = 0 to `last`.
std::vector<Complex> AlongLine(const Nodes& nodes, const Ball& h, long last);

// log of a bound on |M(c + iy)| at every y >= least_y >= 0. The less `digits` (of 2), the less
// tight.
Ball LogModulus(const SampledGaussian& step, Direction direction, const Ball& c,
                const Ball& least_y, const Strip& strip, slong digits);

}  // namespace dpledger::certify
