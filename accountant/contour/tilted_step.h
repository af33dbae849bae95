// One Poisson-sampled Gaussian step on a vertical line Re z = c of the complex plane: its log-MGF
// there, as one trapezoid sum over t with a proved error. Private to contour/; derivations in
// contour/CLAIM.md.
//
// K(z) = log E[e^{zL}] is log A(z+1) for remove and log A(-z) for add, A(w) = E_{t~N(0,1)}[(1 - q +
// q e^{μt - μ²/2})^w].
#pragma once

#include <complex>
#include <vector>

namespace dpledger::accountant::contour {

struct Step {
  double q;
  double mu;
  double count;
  bool add;  // the direction
};

// K(c) and the law of the loss tilted by e^{cL}.
struct Tilted {
  double log_mgf;           // K(c)
  double log_mgf_error;     // |computed - exact|
  double mean;              // K'(c)
  double variance;          // K''(c)
  double weight_error = 0;  // relative, of each weight that counts; and of losses, where they count
  std::vector<double> loss;    // empty for q = 1, where everything is closed form
  std::vector<double> weight;  // tilted probabilities, summing to one
};

// `greatest_y`: the quadrature holds for every z = c + iy with |y| <= greatest_y, with relative
// error e^{-digits} of A(c). log_mgf is infinite where that would take more than 2^16 nodes.
Tilted Tilt(const Step& step, double c, double greatest_y, double digits);

// log of E[e^{(c+iy)L}]/E[e^{cL}], with a bound on its error.
struct LogRatio {
  std::complex<double> value;
  double error;
};
LogRatio LogRatioAt(const Step& step, const Tilted& tilted, double c, double y, double digits);

// An upper bound on log(|E[e^{(c+iy')L}]|/E[e^{cL}]) for every y' >= y: at most 0.
double LogEnvelope(const Step& step, const Tilted& tilted, double c, double y);

}  // namespace dpledger::accountant::contour
