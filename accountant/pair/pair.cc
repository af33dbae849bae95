#include "accountant/pair/pair.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpledger::accountant {
namespace {

// log Σ e^{log_coefficient + rate·t}; at an infinite t only the terms of rate 0 may be left.
double LogSum(const std::vector<ExponentialTerm>& terms, double t) {
  double greatest = -std::numeric_limits<double>::infinity();
  const auto exponent = [t](const ExponentialTerm& term) {
    return term.log_coefficient + (term.rate == 0 ? 0 : term.rate * t);
  };
  for (const ExponentialTerm& term : terms) greatest = std::fmax(greatest, exponent(term));
  if (std::isinf(greatest)) return greatest;
  double sum = 0;
  for (const ExponentialTerm& term : terms) sum += std::exp(exponent(term) - greatest);
  return greatest + std::log(sum);
}

}  // namespace

double DensityPiece::Loss(double t) const { return LogSum(p, t) - LogSum(q, t); }

}  // namespace dpledger::accountant
