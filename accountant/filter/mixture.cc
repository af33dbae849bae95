#include "accountant/filter/mixture.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::filter {
namespace {

// e^{constant + slope·u}.
struct Exponential {
  double constant;
  double slope;  // > 0
  double size;   // of the terms that make up the constant: its error is a few u of this
};

enum class Round { kDown, kUp };

// log of the sum at u. Each exponent has its own error; adding up to 64 positive terms has less
// than 80 u, and so has its logarithm.
double LogSum(const std::vector<Exponential>& terms, double u, Round round) {
  const double direction = round == Round::kUp ? 1 : -1;
  std::vector<double> exponents;
  exponents.reserve(terms.size());
  for (const Exponential& term : terms) {
    const double error = 16 * kUnitRoundoff * (1 + term.size + term.slope * std::fabs(u));
    exponents.push_back(term.constant + term.slope * u + direction * error);
  }
  const double greatest = *std::max_element(exponents.begin(), exponents.end());
  double sum = 0;
  for (const double exponent : exponents) sum += std::exp(exponent - greatest);
  return greatest + std::log(sum) +
         direction * 8 * kUnitRoundoff * (20 + std::fabs(greatest) + std::log(sum));
}

// The least u that is seen to make the sum at least one; infinite where none is.
double FirstAtLeastOne(const std::vector<Exponential>& terms) {
  if (terms.empty()) return kInfinity;
  const auto missing = [&terms](double u) { return -LogSum(terms, u, Round::kDown); };
  // At `low` no term exceeds its share of one; at `high` one of them is one.
  const double log_count = std::log(static_cast<double>(terms.size()));
  double low = kInfinity, high = kInfinity;
  for (const Exponential& term : terms) {
    low = std::fmin(low, -(term.constant + log_count) / term.slope);
    high = std::fmin(high, -term.constant / term.slope);
  }
  for (double step = 1e-12 * (1 + std::fabs(high)); missing(high) > 0 && step < 1e300; step *= 2)
    high += step;
  const double found = BracketDecreasing(missing, low, high, 1e-15).second;
  return missing(found) <= 0 ? found : kInfinity;
}

// One for each order of finite divergence: the log of δ w_α e^{(α-1)(u - R(α))}.
std::vector<Exponential> LossTerms(const std::vector<double>& orders,
                                   const std::vector<double>& divergences, double delta) {
  const double log_weight = std::log(delta) - std::log(static_cast<double>(orders.size()));
  const double weight_size = std::fabs(std::log(delta)) + std::log(orders.size() + 1.0);
  std::vector<Exponential> terms;
  for (size_t i = 0; i < orders.size(); ++i) {
    const double slope = orders[i] - 1;
    const double charge = slope * divergences[i];
    if (charge < kInfinity) terms.push_back({log_weight - charge, slope, weight_size + charge});
  }
  return terms;
}

void Scale(Exponential& term, double log_factor) {
  term.constant += log_factor;
  term.size += std::fabs(log_factor);
}

}  // namespace

// e^ε is the maximum of x - g(x), g(x) = x Σ terms(log x). For x = e^u and S = g'(x) >= 1, every y
// > 0 has y - g(y) <= S y - g(y) <= S x - g(x), as g is convex: so each such u gives a bound, and
// the u with S = 1 the least.
double MixtureEpsilon(const std::vector<double>& orders, const std::vector<double>& divergences,
                      double delta) {
  std::vector<Exponential> derivative = LossTerms(orders, divergences, delta);
  for (Exponential& term : derivative) Scale(term, std::log1p(term.slope));
  const double u = FirstAtLeastOne(derivative);
  if (!(u < kInfinity)) return kInfinity;
  // S x - g(x) = x Σ α terms (1 - 1/α).
  std::vector<Exponential> rise = derivative;
  for (Exponential& term : rise) Scale(term, -std::log1p(1 / term.slope));
  const double log_rise = LogSum(rise, u, Round::kUp);
  return std::fmax(0, AddUp(u, log_rise));
}

double MixtureOdometer(const std::vector<double>& orders, const std::vector<double>& divergences,
                       double delta) {
  return FirstAtLeastOne(LossTerms(orders, divergences, delta));
}

double MixtureOdometerDelta(const std::vector<double>& orders,
                            const std::vector<double>& divergences, double epsilon) {
  const std::vector<Exponential> terms = LossTerms(orders, divergences, /*delta=*/1);
  if (terms.empty()) return 1;
  return std::fmin(1, ExpUp(-LogSum(terms, epsilon, Round::kDown)));
}

}  // namespace dpledger::accountant::filter
