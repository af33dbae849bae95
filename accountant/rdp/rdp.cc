#include "accountant/rdp/rdp.h"

#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <vector>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/conversion.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

// log(α - 1) of the least and greatest order tried.
constexpr double kFirst = -7, kLast = 14;
constexpr int kGrid = 22;  // one unit apart
// The best order is wanted to a part in 2^20: its ε is then right to a part in 2^40 or so.
constexpr int kRefinedBits = 20, kRefinements = 40;
constexpr double kGreatest = 1e300;

double Evaluate(const std::function<double(double)>& f, double log_excess) {
  const double value = f(1 + std::exp(log_excess));
  return std::isnan(value) ? kInfinity : value;
}

// f(R(α), α) at the best of the search's order and those that the curve names.
using Conversion = std::function<double(double divergence, double order)>;
absl::StatusOr<Converted> Least(const Curve& curve, const std::vector<double>& orders,
                                const Conversion& convert, const Limits& limits) {
  const auto f = [&](double order) { return convert(curve(order), order); };
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

// The greater of both directions, each at its own order. If add is no greater at remove's best
// order, it is no greater at its own, and need not be searched.
absl::StatusOr<Converted> LeastOfBoth(const ApproximateCurve& curve, const Conversion& convert,
                                      const Limits& limits) {
  if (curve.remove == nullptr) return Least(curve.curve, curve.orders, convert, limits);
  ASSIGN_OR_RETURN(const Converted remove, Least(curve.remove, curve.orders, convert, limits));
  if (convert(curve.add(remove.order), remove.order) <= remove.value) return remove;
  ASSIGN_OR_RETURN(const Converted add, Least(curve.add, curve.orders, convert, limits));
  return remove.value >= add.value || std::isnan(remove.value) ? remove : add;
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
  // Brent's method wants finite values; once out of time every point is as bad as any.
  absl::Status stopped;
  const auto in_cell = [&](double at) {
    if (stopped.ok()) stopped = limits.Check();
    if (!stopped.ok()) return kGreatest;
    const double value = std::fmin(kGreatest, Evaluate(f, at));
    if (value < best) {
      best = value;
      best_at = at;
    }
    return value;
  };
  boost::uintmax_t evaluations = kRefinements;
  boost::math::tools::brent_find_minima(in_cell, std::fmax(kFirst, best_at - cell),
                                        std::fmin(kLast, best_at + cell), kRefinedBits,
                                        evaluations);
  RETURN_IF_ERROR(stopped);
  return 1 + std::exp(best_at);
}

absl::StatusOr<Converted> EpsilonFromCurve(const ApproximateCurve& curve, double delta,
                                           const Limits& limits) {
  const double left = curve.failure == 0 ? delta : NextDown(delta - curve.failure);
  if (!(left > 0)) return Converted{kInfinity, 1};
  const double log_delta = LogDown(left);
  const auto convert = [&](double divergence, double order) {
    return EpsilonAt(divergence, order, log_delta, curve.failure);
  };
  ASSIGN_OR_RETURN(const Converted best, LeastOfBoth(curve, convert, limits));
  return Converted{std::isnan(best.value) ? kInfinity : std::fmax(0, best.value), best.order};
}

absl::StatusOr<Converted> DeltaFromCurve(const ApproximateCurve& curve, double epsilon,
                                         const Limits& limits) {
  if (!(curve.failure < 1)) return Converted{1, 1};
  const auto convert = [&](double divergence, double order) {
    return LogDeltaAt(divergence, order, epsilon, curve.failure);
  };
  ASSIGN_OR_RETURN(const Converted best, LeastOfBoth(curve, convert, limits));
  if (std::isnan(best.value)) return Converted{1, best.order};
  const double delta = ExpUp(best.value);
  return Converted{std::fmin(1, curve.failure == 0 ? delta : AddUp(curve.failure, delta)),
                   best.order};
}

}  // namespace dpledger::accountant::rdp
