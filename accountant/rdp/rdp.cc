#include "accountant/rdp/rdp.h"

#include <cmath>
#include <limits>
#include <vector>

#include "accountant/numeric/rounding.h"
#include "accountant/rdp/conversion.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// log(α - 1) of the least and greatest order tried.
constexpr double kFirst = -7, kLast = 14;
constexpr int kGrid = 43;         // half a unit apart
constexpr int kGoldenSteps = 32;  // narrows one grid cell to 2e-7 of its width

double Evaluate(const std::function<double(double)>& f, double log_excess) {
  const double value = f(1 + std::exp(log_excess));
  return std::isnan(value) ? kInfinity : value;
}

// f at the best of the search's order and those that the curve names.
absl::StatusOr<Converted> Least(const std::function<double(double)>& f,
                                const std::vector<double>& orders, const Limits& limits) {
  ASSIGN_OR_RETURN(const double found, BestOrder(f, limits));
  Converted best{f(found), found};
  for (const double order : orders) {
    RETURN_IF_ERROR(limits.Check());
    const double value = f(order);
    // A NaN shows nothing.
    if (value < best.value || std::isnan(best.value)) best = {value, order};
  }
  return best;
}

}  // namespace

absl::StatusOr<double> BestOrder(const std::function<double(double)>& f, const Limits& limits) {
  double best_at = kFirst, best = kInfinity;
  const double cell = (kLast - kFirst) / (kGrid - 1);
  for (int i = 0; i < kGrid; ++i) {
    RETURN_IF_ERROR(limits.Check());
    const double at = kFirst + cell * i;
    const double value = Evaluate(f, at);
    if (value < best) {
      best = value;
      best_at = at;
    }
    // Past the best order the moments only grow; two units beyond it nothing better is left.
    if (std::isfinite(best) && at > best_at + 2 && value > best) break;
  }
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = std::fmax(kFirst, best_at - cell), b = std::fmin(kLast, best_at + cell);
  double x1 = b - golden * (b - a), x2 = a + golden * (b - a);
  double f1 = Evaluate(f, x1), f2 = Evaluate(f, x2);
  for (int i = 0; i < kGoldenSteps; ++i) {
    if (i % 8 == 0) RETURN_IF_ERROR(limits.Check());
    if (f1 < f2) {
      b = x2;
      x2 = x1;
      f2 = f1;
      x1 = b - golden * (b - a);
      f1 = Evaluate(f, x1);
    } else {
      a = x1;
      x1 = x2;
      f1 = f2;
      x2 = a + golden * (b - a);
      f2 = Evaluate(f, x2);
    }
    if (std::fmin(f1, f2) < best) {
      best = std::fmin(f1, f2);
      best_at = f1 < f2 ? x1 : x2;
    }
  }
  return 1 + std::exp(best_at);
}

absl::StatusOr<Converted> EpsilonFromCurve(const ApproximateCurve& curve, double delta,
                                           const Limits& limits) {
  const double left = curve.failure == 0 ? delta : NextDown(delta - curve.failure);
  if (!(left > 0)) return Converted{kInfinity, 1};
  const double log_delta = LogDown(left);
  const auto epsilon_at = [&](double order) {
    return EpsilonAt(curve.curve(order), order, log_delta, curve.failure);
  };
  ASSIGN_OR_RETURN(const Converted best, Least(epsilon_at, curve.orders, limits));
  return Converted{std::isnan(best.value) ? kInfinity : std::fmax(0, best.value), best.order};
}

absl::StatusOr<Converted> EpsilonFromCurve(const Curve& curve, double delta, const Limits& limits) {
  return EpsilonFromCurve(ApproximateCurve{curve, 0, {}}, delta, limits);
}

absl::StatusOr<Converted> DeltaFromCurve(const ApproximateCurve& curve, double epsilon,
                                         const Limits& limits) {
  if (!(curve.failure < 1)) return Converted{1, 1};
  const auto log_delta_at = [&](double order) {
    return LogDeltaAt(curve.curve(order), order, epsilon, curve.failure);
  };
  ASSIGN_OR_RETURN(const Converted best, Least(log_delta_at, curve.orders, limits));
  if (std::isnan(best.value)) return Converted{1, best.order};
  const double delta = ExpUp(best.value);
  return Converted{std::fmin(1, curve.failure == 0 ? delta : AddUp(curve.failure, delta)),
                   best.order};
}

absl::StatusOr<Converted> DeltaFromCurve(const Curve& curve, double epsilon, const Limits& limits) {
  return DeltaFromCurve(ApproximateCurve{curve, 0, {}}, epsilon, limits);
}

}  // namespace dpledger::accountant::rdp
