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
  bool operator==(const Step&) const = default;
};

// K(c) and the law of the loss tilted by e^{cL}.
struct Tilted {
  double log_mgf = 0;        // K(c)
  double log_mgf_error = 0;  // |computed - exact|
  double mean = 0;           // K'(c)
  double variance = 0;       // K''(c)
  double weight_error = 0;  // relative, of each weight that counts; and of losses, where they count
  std::vector<double> loss;    // empty for q = 1, where everything is closed form
  std::vector<double> weight;  // tilted probabilities, summing to one
};

// `greatest_y`: the quadrature holds for every z = c + iy with |y| <= greatest_y, with relative
// error e^{-digits} of A(c). kRough leaves K(c) with the digits of A, kExact gives it those of A -
// 1 where A is near one; both bound its error. log_mgf is infinite where that would take more than
// 2^16 nodes.
enum class Precision { kRough, kExact };
Tilted Tilt(const Step& step, double c, double greatest_y, double digits, Precision precision);

// log of E[e^{(c+iy)L}]/E[e^{cL}], with a bound on its error.
struct LogRatio {
  std::complex<double> value;
  double error;
};
LogRatio LogRatioAt(const Step& step, const Tilted& tilted, double c, double y, double digits);

// Upper bounds on |E[e^{(c+iy')L}]|/E[e^{cL}] for all y' >= y, from the t-contour moved up by one
// of a few heights.
class Envelope {
 public:
  Envelope(const Step& step, const Tilted& tilted, double c);

  // The logarithm of the bound, at most 0; falls with y.
  double LogBound(double y);
  // Nodes kept so far, over all heights.
  size_t size() const;

 private:
  // The integrand at one height: at y it is Σ e^{log_weight - y·angle} + error, times e^{η²/2}.
  struct Height {
    double eta;
    std::vector<double> log_weight;
    std::vector<double> angle;
    double error;
    double rounding;  // relative, of the sum
  };
  const Height& At(size_t index);
  double LogBoundAt(size_t index, double y);

  Step step_;
  double order_;
  double log_mgf_;
  std::vector<Height> heights_;  // built as they are asked for, each half as high as the one before
  size_t best_ = 0;
};

}  // namespace dpledger::accountant::contour
