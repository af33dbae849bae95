// A bound over several Rényi orders at once. With Q the law of all outputs on one of two
// neighbouring data sets, x the likelihood ratio of all outputs so far and R(α) the sum of the
// steps' Rényi divergences so far, the mixture Σ_α w_α x^α e^{-(α-1)R(α)} has a mean of at most one
// under Q, whatever chose the steps. The weights are equal: w_α = 1/orders. Claim: filter/CLAIM.md.
//
// Pure functions; thread safe. `orders` are > 1; `divergences` has one R(α) >= 0 for each, from
// above and in both directions; infinite where none is known: that order then counts for nothing.
// delta is in (0, 1). Errors in size of about 1e-14 of the exponents (α-1)(R + ε) are inside,
// upwards.
#pragma once

#include <vector>

namespace dpledger::accountant::filter {

// The least ε >= 0 with (x - e^ε)_+ <= δ Σ_α w_α x^α e^{-(α-1)R(α)} for all x > 0, rounded up;
// infinite if every divergence is. For one order it is the conversion of Canonne, Kamath and
// Steinke 2020, prop. 12.
double MixtureEpsilon(const std::vector<double>& orders, const std::vector<double>& divergences,
                      double delta);

// The u with δ Σ_α w_α e^{(α-1)(u - R(α))} = 1, rounded up: with a probability of at least 1 - δ
// over the run's own outputs, log x stays at most this at all times (Ville's inequality). It bounds
// the loss of one run; it gives no (ε, δ)-DP.
double MixtureOdometer(const std::vector<double>& orders, const std::vector<double>& divergences,
                       double delta);

// The least delta, at most 1, whose MixtureOdometer is at most epsilon >= 0; rounded up.
double MixtureOdometerDelta(const std::vector<double>& orders,
                            const std::vector<double>& divergences, double epsilon);

}  // namespace dpledger::accountant::filter
