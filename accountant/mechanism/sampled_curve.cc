#include "accountant/mechanism/sampled_curve.h"

#include <cmath>
#include <limits>
#include <variant>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Of the excess below, whose terms are all positive: that of lgamma, exp and 256 terms is below
// 1e-11.
constexpr double kRelativeError = 1e-9;

// e^a (e^b - 1), for b >= 0; at least that where b is great.
double ExpTimesExpm1(double a, double b) {
  return b > 40 ? std::exp(a + b) : std::exp(a) * std::expm1(b);
}

// By how much the mean of the likelihood ratio's power is above 1, at most, but for rounding; may
// be infinite or, where parts of it are, no number.
// `told_by` has, for each power, the logarithm of the same mean of the mechanism on all records.
double Excess(SampleOf kind, int order, double share, const std::vector<double>& told_by) {
  const bool poisson = kind == SampleOf::kPoisson;
  const double stays = poisson ? std::log1p(-share) : 0;
  double all = 0, later = 0;
  for (int k = order; k >= 2; --k) {
    const double chosen = std::lgamma(order + 1) - std::lgamma(k + 1) - std::lgamma(order - k + 1) +
                          (order - k) * stays + k * std::log(share);
    const double told = told_by[static_cast<size_t>(k)];
    if (k > 2) later += std::exp(chosen + told);
    if (poisson) {
      all += ExpTimesExpm1(chosen, told);
    } else if (k == 2) {
      all = 2 * later + std::fmin(4 * ExpTimesExpm1(chosen, told), 2 * std::exp(chosen + told));
    }
  }
  return poisson ? all + std::fmin(all, 2 * later) : all;
}

}  // namespace

OrdersCurve SampledCurve(SampleOf kind, double share, const ZeroConcentrated& whole) {
  return SampledCurve(kind, share,
                      [&](double order) { return AddUp(whole.xi, MulUp(whole.rho, order)); });
}

OrdersCurve SampledCurve(SampleOf kind, double share,
                         const std::function<double(double order)>& whole) {
  constexpr int kGreatest = 256;
  std::vector<double> divergences(kGreatest + 1), told(kGreatest + 1);
  for (int order = 2; order <= kGreatest; ++order) {
    const auto at = static_cast<size_t>(order);
    divergences[at] = std::fmax(0, whole(order));
    told[at] = MulUp(order - 1, divergences[at]);
  }
  OrdersCurve curve;
  for (int order = 2; order <= kGreatest; order += order < 64 ? 1 : order < 128 ? 16 : 64) {
    const double unsampled = divergences[static_cast<size_t>(order)];
    const double excess = Excess(kind, order, share, told) * (1 + kRelativeError);
    const double sampled = std::isfinite(excess) ? std::log1p(excess) / (order - 1) * (1 + 1e-15)
                                                 : std::numeric_limits<double>::infinity();
    curve.orders.push_back(order);
    curve.epsilons.push_back(std::fmin(sampled, unsampled));
  }
  return curve;
}

std::optional<Concentrated> AsConcentrated(const Composition& composition) {
  if (composition.non_private || !composition.steps.empty() || !composition.pairs.empty() ||
      !composition.allocations.empty()) {
    return std::nullopt;
  }
  Concentrated sum;
  for (const CurveStep& step : composition.curves) {
    const auto* bound = std::get_if<ZeroConcentrated>(&step.renyi);
    if (bound == nullptr) return std::nullopt;
    const auto count = static_cast<double>(step.count);
    sum.above.rho = AddUp(sum.above.rho, MulUp(count, bound->rho));
    sum.above.xi = AddUp(sum.above.xi, MulUp(count, bound->xi));
    sum.rho = std::fmax(0, AddDown(sum.rho, MulDown(count, step.rho)));
  }
  return sum;
}

}  // namespace dpledger::accountant
