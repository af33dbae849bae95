#include "accountant/pld/allocation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "accountant/mechanism/sampling.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/directed_loss.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// A sum of two ratios takes a product for every pair of points less than log(1/step)/step apart:
// some tens of milliseconds.
constexpr double kGreatestLength = 4096;

// Masses are multiplied by e^loss, and by e^-loss again, with losses below 100: their relative
// error.
constexpr double kConversions = 1e-13;

// The ratio of one round, on the grid of the allocation: a pair of which only the ratio's law under
// Q matters, Q-mass mass[j]·e^{-loss}.
Pair OneRound(double mu) {
  const double inf = std::numeric_limits<double>::infinity();
  return {{},
          {{-inf, inf, -0.91893853320467274178, 0, -0.5, {{-mu * mu / 2, mu}}, {{0, 0}}}},
          2 * kUnitRoundoff * mu * (2 * mu + 40),
          true};
}

// Q-masses of a ratio e^{step·(first + j)}.
struct Ratio {
  double first;
  std::vector<double> mass;
};

Ratio RatioOf(const DiscretePair& pair) {
  Ratio ratio{std::round(pair.first_loss / pair.step), pair.mass};
  for (size_t j = 0; j < ratio.mass.size(); ++j)
    ratio.mass[j] *= std::exp(-pair.step * (ratio.first + static_cast<double>(j)));
  return ratio;
}

// Where the sum of e^a and e^{a - k·step} falls: at the point `cell` above a, and a part of the way
// to the next.
struct Fall {
  size_t cell;
  double low, high;    // shares of the two points, the mean kept
  double left, right;  // what the lower bound asks of them, per e^{a}
};
Fall FallOf(size_t k, double step) {
  const double apart = std::exp(-step * static_cast<double>(k));
  const double above = std::log1p(apart);
  Fall fall;
  fall.cell = static_cast<size_t>(above / step);
  const double y0 = std::exp(step * static_cast<double>(fall.cell)), width = y0 * std::expm1(step);
  // (1 + e^{-k·step} - y0)/width, without cancellation where cell is 0
  const double over = fall.cell == 0 ? apart : std::fmax(0, (1 - y0) + apart);
  const double s = std::fmin(1, over / width), rest = 1 - s;
  fall.low = rest;
  fall.high = s;
  fall.left = over * rest * rest * (1 + 2 * s);
  fall.right = width * rest * s * s * (1 + 2 * rest);
  return fall;
}

}  // namespace

// The sum of two independent ratios, as shares of the points around it.
class RatioSum {
 public:
  RatioSum(const Ratio& a, const Ratio& b, double step);
  Shares AsShares() const;

 private:
  double step_, first_;
  std::vector<double> low_, high_, left_, right_;
  double error_;
};

RatioSum::RatioSum(const Ratio& a, const Ratio& b, double step) : step_(step) {
  // All on the lower ratio's points.
  first_ = std::fmin(a.first, b.first);
  const size_t shift_a = static_cast<size_t>(a.first - first_),
               shift_b = static_cast<size_t>(b.first - first_);
  const size_t n = std::max(shift_a + a.mass.size(), shift_b + b.mass.size());
  std::vector<double> x(n, 0), y(n, 0);
  std::copy(a.mass.begin(), a.mass.end(), x.begin() + static_cast<std::ptrdiff_t>(shift_a));
  std::copy(b.mass.begin(), b.mass.end(), y.begin() + static_cast<std::ptrdiff_t>(shift_b));
  const size_t most = static_cast<size_t>(std::log(2.0) / step) + 3;
  low_.assign(n + most, 0);
  high_.assign(n + most, 0);
  left_.assign(n + most, 0);
  right_.assign(n + most, 0);
  std::vector<double> scale(n);  // e^{step·j}
  for (size_t j = 0; j < n; ++j) scale[j] = std::exp(step * (first_ + static_cast<double>(j)));
  std::vector<double> product(n);
  for (size_t k = 0; k < n; ++k) {
    const Fall fall = FallOf(k, step);
    for (size_t i = k; i < n; ++i) product[i] = x[i] * y[i - k] + (k > 0 ? y[i] * x[i - k] : 0);
    double* const low = &low_[fall.cell];
    double* const high = &high_[fall.cell];
    double* const left = &left_[fall.cell];
    double* const right = &right_[fall.cell];
    for (size_t i = k; i < n; ++i) {
      const double mass = product[i];
      low[i] += mass * fall.low;
      high[i] += mass * fall.high;
      left[i] += mass * scale[i] * fall.left;
      right[i] += mass * scale[i] * fall.right;
    }
  }
  error_ = (static_cast<double>(2 * n) + 64) * kUnitRoundoff;
}

Shares RatioSum::AsShares() const {
  Shares shares;
  const size_t n = low_.size() + 1;
  shares.first_loss_ = step_ * first_;
  shares.step_ = step_;
  shares.exact_.assign(n, 0);
  shares.low_.assign(n, 0);
  shares.high_.assign(n, 0);
  shares.lower_left_.assign(n, 0);
  shares.lower_right_.assign(n, 0);
  shares.error_.assign(n, 0);
  for (size_t j = 0; j + 1 < n; ++j) {
    const double y = std::exp(step_ * (first_ + static_cast<double>(j)));
    shares.low_[j] = low_[j] * y;
    shares.high_[j] = high_[j] * (y * std::exp(step_));
    shares.lower_left_[j] = left_[j];
    shares.lower_right_[j] = right_[j];
    // Where the sum is near a point its distance from it has lost digits, but then the share is
    // small beside the other.
    shares.error_[j] = error_;
  }
  return shares;
}

namespace {

// Masses that may have lost digits on the way to zero.
constexpr double kFaintMass = 1e-290;

// The pair of a mechanism that is `pair` if the record takes part, which it does with probability
// q, and Q if not. Losses change by that, and are laid on the grid again.
absl::StatusOr<DiscretePair> TakenWith(double q, const DiscretePair& pair, Side side, double tail,
                                       size_t max_atoms, const Limits& limits) {
  Pair stated;
  double greatest = 0;
  for (size_t j = 0; j < pair.mass.size(); ++j) {
    const double p = pair.mass[j];
    if (p == 0) continue;
    const double loss = pair.first_loss + pair.step * static_cast<double>(j);
    const double other = p * std::exp(-loss);
    greatest = std::fmax(greatest, std::fabs(loss));
    if (p >= kFaintMass && other >= kFaintMass) {
      stated.atoms.push_back({p, other});
    } else if (side == Side::kUpper) {
      stated.atoms.push_back({p + kFaintMass, 0});
      stated.atoms.push_back({0, other + kFaintMass});
    }
  }
  if (pair.remove_infinity > 0) stated.atoms.push_back({pair.remove_infinity, 0});
  if (pair.add_infinity > 0) stated.atoms.push_back({0, pair.add_infinity});
  stated.relative_error = pair.loss_error + kUnitRoundoff * (8 + 4 * greatest);
  const absl::StatusOr<Shares> shares =
      Shares::Of(PoissonSampledPair(q, stated), pair.step, tail, max_atoms, limits);
  // A coarse mesh keeps too little of a pair: one that is sure to take part is no less revealing,
  // and one that shows nothing no more.
  if (absl::IsResourceExhausted(shares.status()))
    return side == Side::kUpper ? pair : DiscretePair{};
  RETURN_IF_ERROR(shares.status());
  return side == Side::kUpper ? shares->Upper() : shares->Lower();
}

}  // namespace

absl::StatusOr<Allocation> Allocate(const AllocatedGaussian& allocation, double step, double tail,
                                    size_t max_atoms, const Limits& limits) {
  // The rounds that release something: given that it is in one of them, a record is in each of
  // them with the same probability.
  const uint64_t released = allocation.rounds - allocation.missing;
  const double rounds = static_cast<double>(released);
  const double mu_up = DivUp(1, allocation.noise_multiplier.lower);
  const double mu_down = DivDown(1, allocation.noise_multiplier.upper);
  // Cut masses count once for every round.
  const double cut = std::fmax(1e-300, tail / rounds);
  const double range = 2 * mu_up * (mu_up + std::sqrt(-2 * std::log(cut))) + std::log(rounds);
  const double stride = std::fmax(1, std::ceil(range / (kGreatestLength * step)));
  const double mesh = stride * step;

  Allocation result;
  for (const Side side : {Side::kUpper, Side::kLower}) {
    const bool up = side == Side::kUpper;
    if (!up && std::isinf(allocation.noise_multiplier.upper)) break;  // nothing is known
    ASSIGN_OR_RETURN(const Shares one,
                     Shares::Of(OneRound(up ? mu_up : mu_down), mesh, cut, max_atoms, limits));
    const DiscretePair round = up ? one.Upper() : one.Lower();
    Ratio power = RatioOf(round), sum{0, {}};
    bool any = false;
    for (uint64_t left = released;;) {
      RETURN_IF_ERROR(limits.Check());
      const auto add = [&](const Ratio& a, const Ratio& b) {
        const Shares shares = RatioSum(a, b, mesh).AsShares();
        return RatioOf(up ? shares.Upper() : shares.Lower());
      };
      if (left & 1) {
        sum = any ? add(sum, power) : power;
        any = true;
      }
      left >>= 1;
      if (left == 0) break;
      power = add(power, power);
    }
    // The mean of the ratios, not their sum: the grid is moved to a multiple of the step, which is
    // exact, and by what is left, which the first loss takes.
    DiscretePair pair;
    pair.step = step;
    pair.first_loss = mesh * sum.first - std::log(rounds);
    const size_t every = static_cast<size_t>(stride);
    const double size = static_cast<double>(sum.mass.size()) * stride;
    if (size > static_cast<double>(max_atoms)) {
      return WithReason(absl::ResourceExhaustedError("an epoch of random allocation is too large "
                                                     "for the loss grid"),
                        {"QUERY_TOO_LARGE", {}});
    }
    pair.mass.assign((sum.mass.size() - 1) * every + 1, 0);
    // A relative error of every mass of a sum of 2^k rounds is one of rounds/2^k times that in the
    // end.
    const double rounding =
        std::fmax(0, 1 + (up ? kConversions : -kConversions) * (2 * rounds + 4));
    for (size_t j = 0; j < sum.mass.size(); ++j) {
      pair.mass[j * every] =
          sum.mass[j] * rounding *
          std::exp(mesh * (sum.first + static_cast<double>(j)) - std::log(rounds));
    }
    pair.loss_error = round.loss_error + 4 * kUnitRoundoff * (std::fabs(pair.first_loss) + 64);
    if (up) {
      // Any round cut at either end; its mass may be that of either distribution.
      pair.remove_infinity = pair.add_infinity =
          rounds * (round.remove_infinity + round.add_infinity) * (1 + 1e-14);
    }
    if (allocation.missing > 0) {
      const double all = static_cast<double>(allocation.rounds);
      ASSIGN_OR_RETURN(pair, TakenWith(up ? DivUp(rounds, all) : DivDown(rounds, all), pair, side,
                                       tail, max_atoms, limits));
    }
    (up ? result.upper : result.lower) = std::move(pair);
  }
  return result;
}

}  // namespace dpledger::accountant::pld
