#include "accountant/rdp/renyi_bound.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::rdp {

double Divergence(const ZeroConcentrated& bound, double order) {
  return AddUp(bound.xi, MulUp(bound.rho, order));
}

double Divergence(const OrdersCurve& curve, double order) {
  const auto next = std::lower_bound(curve.orders.begin(), curve.orders.end(), order);
  if (next == curve.orders.end()) return kInfinity;
  const size_t i = static_cast<size_t>(next - curve.orders.begin());
  // R does not fall with the order: any later one is a bound.
  const double later =
      *std::min_element(curve.epsilons.begin() + static_cast<ptrdiff_t>(i), curve.epsilons.end());
  if (i == 0 || *next == order) return later;
  const double a = curve.orders[i - 1], b = curve.orders[i];
  const double left = MulUp(NextUp(a - 1), curve.epsilons[i - 1]),
               right = MulUp(NextUp(b - 1), curve.epsilons[i]);
  const double share = DivUp(NextUp(order - a), NextDown(b - a));
  const double moment = AddUp(MulUp(left, NextUp(1 - share)), MulUp(right, std::fmin(1, share)));
  const double chord = DivUp(moment, NextDown(order - 1));
  // The shares carry four roundings each.
  return std::fmin(later, chord * (1 + 16 * kUnitRoundoff));
}

double Divergence(const BoundedRange& range, double order) {
  const double epsilon = range.epsilon;
  if (!(epsilon > 0)) return 0;
  const double hoeffding = MulUp(order / 8, MulUp(epsilon, epsilon));
  if (epsilon < 1e-6) return hoeffding;  // the exact value is within ε² of it, relatively
  // log E of E = y^{α-1} (A - B y)/(e^ε - 1), A = e^ε - e^{-(α-1)ε}, B = 1 - e^{-(α-1)ε}, scaled by
  // e^{-ε}: with y = e^{s}, E = e^{(α-1)s} (a - b e^{s-ε})/(1 - e^{-ε}), a = 1 - e^{-αε}, b = B.
  const double a = -std::expm1(-order * epsilon), b = -std::expm1(-(order - 1) * epsilon);
  const double greatest = epsilon + std::log((order - 1) / order) + std::log(a) - std::log(b);
  const double s = std::clamp(greatest, 0.0, epsilon);
  const double rest = a - b * std::exp(s - epsilon), range_mass = -std::expm1(-epsilon);
  const double log_moment = (order - 1) * s + std::log(rest) - std::log(range_mass);
  // s maximises, so that its error counts twice over only; `rest` cancels down to a share of a.
  const double error = kUnitRoundoff * (16 * (order - 1) * (s + epsilon) + 32 * a / rest +
                                        16 * (1 + epsilon) + 8 * std::fabs(std::log(range_mass)));
  return std::fmin(hoeffding, DivUp(NextUp(log_moment + error), NextDown(order - 1)));
}

}  // namespace dpledger::accountant::rdp
