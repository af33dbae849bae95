// The Rényi moment of the Poisson-sampled Gaussian at any real order, by quadrature instead of
// alternating series.
#pragma once

namespace dpledger::accountant::rdp {

// An upper bound on log A(α), A(α) = E_{t~N(0,1)}[(1 - q + q e^{μt - μ²/2})^α], the α-th moment of
// the likelihood ratio in the worst direction, remove (Mironov, Talwar, Zhang 2019, arXiv
// 1908.10530, thm. 4 and eq. 5): the Rényi divergence is log A(α)/(α - 1).
//
// q in (0, 1], μ = 1/z > 0, α > 1. Excess over the true value at most 1e-12 relative plus what
// rdp/CLAIM.md lists; infinity where the moment or the number of nodes is out of reach (more than
// 2^20 nodes).
double LogMomentUp(double q, double mu, double alpha);

}  // namespace dpledger::accountant::rdp
