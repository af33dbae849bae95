// The Rényi moments of the Poisson-sampled Gaussian at any real order, by quadrature instead of
// alternating series.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace dpledger::accountant::rdp {

// Upper bounds on log A(α), A(α) = E_{t~N(0,1)}[(1 - q + q e^{μt - μ²/2})^α], the α-th moment of
// the likelihood ratio in the worst direction, remove (Mironov, Talwar, Zhang 2019, arXiv
// 1908.10530, thm. 4 and eq. 5): the Rényi divergence is log A(α)/(α - 1).
//
// All orders share one set of nodes and the terms that do not depend on the order. The set grows
// with the greatest order asked for, up to 2^14 nodes. Not thread safe.
class SampledGaussianMoments {
 public:
  // q in (0, 1], μ = 1/z > 0. Nodes reach `reach` standard deviations beyond the integrand's peaks.
  // The tails beyond are bounded, so any reach >= 2 is valid; at 11 they are below roundoff.
  SampledGaussianMoments(double q, double mu, double reach = 11);

  // order > 1. Exceeds the true value by at most 1e-12, relatively, plus what rdp/CLAIM.md lists;
  // by more for orders whose peaks lie beyond 2^14 nodes.
  double LogMomentUp(double order);

 private:
  void Extend(size_t count);
  double FarFromOne(double order, size_t count);
  double NearOne(double order, size_t count);
  double Convex(double order, size_t count, double& error);
  double Tails(double left, double right) const;

  const double q_, mu_, reach_, digits_, h_, first_;  // nodes t_i = (first_ + i) h_
  const double quadrature_error_;                     // relative: e^{-digits}
  double first_square_ = 0;                           // e^{-t²/2} u² at the first node
  std::vector<double> loss_;                          // log(1 - q + q e^{μt - μ²/2}), increasing
  std::vector<double> exponent_;                      // -t²/2
  std::vector<double> weight_;                        // φ(t)
  std::vector<double> size_;                          // the scale of a term's rounding error
  std::vector<double> concave_;                       // Σ over nodes so far of φ (log(1+u) - u)
  std::vector<double> concave_size_;  // the same sum of the terms' absolute values and sizes
  std::vector<double> scratch_;
  // Orders up to this one have a moment near one.
  double near_below_ = -std::numeric_limits<double>::infinity();
};

}  // namespace dpledger::accountant::rdp
