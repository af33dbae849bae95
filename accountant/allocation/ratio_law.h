// The likelihood ratio of random allocation: rounds of a Gaussian mechanism, a record in one of
// them, drawn uniformly. Under Q, the law without the record, the ratio is r = (r_1 + ... + r_t)/t
// with independent r_i = e^{μx_i - μ²/2}, x_i ~ N(0,1). Its law is bounded from both sides by laws
// of finitely many atoms. Proof and error budget: allocation/CLAIM.md.
//
// A law L stands for two sums: for every y >= 0,
//   above(y) = Σ q_j (r_j - y)_+   and   below(y) = Σ q_j (1 - y·r_j)_+.
// 1. UpperLaw: with λ = loss_error, E_Q[(r - y)_+] <= above(y e^{-λ}) e^{λ} + p_cut and
//    E_Q[(1 - y·r)_+] <= below(y e^{-λ}) + q_cut, for every y >= 0.
// 2. LowerLaw: E_Q[(r - y)_+] >= above(y e^{λ}) e^{-λ} and E_Q[(1 - y·r)_+] >= below(y e^{λ}).
// 3. Beside anything independent: if s >= 0 is independent of r under Q and has mean one, the same
//    holds of the product r·s and the law of the products r_j·s, and s may depend on outcomes
//    before it as composition of fixed plans allows. So an upper law is the pair of point masses
//    P-mass q_j·r_j, Q-mass q_j, and the cuts at infinite loss, in any composition; the δ(ε) of the
//    allocation composed with one Gaussian of distance √c is at most
//    Σ q_j r_j δ_√c(ε - log r_j) + p_cut (record in), and at least that over a lower law.
// 4. Without cuts and errors the upper (lower) law is greater (less) in the convex order.
// Pure functions, thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"

namespace dpledger::accountant::allocation {

struct RatioLaw {
  std::vector<double> ratio;  // r_j > 0, ascending
  std::vector<double> q;  // Q-mass of each, >= 0: rounded up in an upper law, down in a lower one
  // An upper law leaves out at most this Q-mass, and at most this P-mass. 0 in a lower law, which
  // may leave out anything.
  double q_cut = 0, p_cut = 0;
  // Every log r_j is within loss_error of the value for which the claim holds.
  double loss_error = 0;
  // The work it took, in products of masses of about three nanoseconds each.
  double products = 0;
};

struct Rounds {
  uint64_t rounds;  // t, in [1, 2^53]
  double distance;  // μ > 0 of one round, 1/z: rounded up for an upper law, down for a lower one
  uint64_t missing = 0;  // of the t rounds, so many were not run and show nothing; < rounds

  bool operator==(const Rounds&) const = default;
};

// mesh in (0, 1]: the steps of each sum's grid, as a share of the sum's distance from its mean. The
// laws' variances differ by about mesh²/3·log2 t relatively; time goes as mesh^-2 log2 t (0.02:
// some ten milliseconds). tail in [1e-290, 0.1]: p_cut and q_cut are at most about twice that.
// Beyond 2^36 rounds the upper law is that of 2^36, and the lower one loses mass to rounding.
// RESOURCE_EXHAUSTED (reason QUERY_TOO_LARGE) if a round's privacy loss exceeds 650 before the
// tail: more noise, or another method, is needed. DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<RatioLaw> UpperLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits);
absl::StatusOr<RatioLaw> LowerLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits);

}  // namespace dpledger::accountant::allocation
