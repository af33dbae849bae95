#include "accountant/allocation/ratio_law.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/allocation/cells.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::allocation {
namespace {

// e^±kGreatestLoss, and products of a few of them with masses, are doubles.
constexpr double kGreatestLoss = 650;
// Relative errors of masses add up to about 1e-13 a round.
constexpr uint64_t kMostRounds = uint64_t{1} << 36;
// Less shows less; a law narrower than this is lost in the rounding of its places.
constexpr double kLeastDistance = 1e-9;
// A round's ends take a quarter of the tail; each of at most 2·54 sums two parts in kTailParts.
constexpr double kTailParts = 512;
constexpr double kLostToRounding = 10;
// What rounding adds to sums of cut masses.
constexpr double kCutRounding = 1e-10;

enum class Bound { kUpper, kLower };

class Doubling {
 public:
  Doubling(Bound bound, uint64_t rounds, double mu, double mesh, double tail)
      : bound_(bound), rounds_(rounds), mu_(mu), mesh_(mesh), tail_(tail) {}

  // The law of the mean of the rounds.
  absl::StatusOr<RatioLaw> Mean(const Limits& limits);

 private:
  absl::StatusOr<Atoms> One();
  Atoms Sum(const Atoms& a, const Atoms& b, uint64_t size, double copies);
  // The atoms of a cell's two shares, for a block of rounds of which the result has `copies`.
  Atoms AtomsOf(Cells cells, double copies);
  void Trim(Atoms& atoms, double size, double copies);
  double Spread(double size) const;

  const Bound bound_;
  const uint64_t rounds_;
  const double mu_, mesh_, tail_;
  double log_error_ = 0;   // of the result's masses
  double loss_error_ = 0;  // of the result's ratios
  double q_cut_ = 0, p_cut_ = 0;
};

// The width in which most of a sum of `size` ratios lies.
double Doubling::Spread(double size) const {
  return std::fmin(std::sqrt(size * std::expm1(mu_ * mu_)), 3 * size);
}

absl::StatusOr<Atoms> Doubling::One() {
  const double t = static_cast<double>(rounds_);
  const double end = std::fmax(1e-299, tail_ / (8 * t));
  const double low = -NormalTailInverse(end);
  const double high = std::fmax(-low, mu_ + NormalTailInverse(std::fmax(1e-299, tail_ / 16)));
  if (!(mu_ * (high - low) < kGreatestLoss)) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat(
            "random allocation: a round's privacy loss may be above ", kGreatestLoss,
            " (noise multiplier ", 1 / mu_, "); raise the noise multiplier or ask for method rdp")),
        {"QUERY_TOO_LARGE", {}});
  }
  const double below = NormalTail(-low), above = NormalTail(high), own = NormalTail(high - mu_);
  q_cut_ += t * (below + above);
  p_cut_ += own + t * (below + above);
  Cells cells = OneRound(mu_, low, high, mesh_, Spread(1));
  return AtomsOf(std::move(cells), t);
}

Atoms Doubling::AtomsOf(Cells cells, double copies) {
  log_error_ += copies * cells.relative_error;
  loss_error_ += cells.place_error;
  if (bound_ == Bound::kUpper) return Split(cells);
  loss_error_ += MergeError(cells);
  return Merge(cells);
}

void Doubling::Trim(Atoms& atoms, double size, double copies) {
  const double budget = tail_ / kTailParts;
  const auto reach = [&](auto begin, auto end, auto place) {
    double q = 0, p = 0;
    size_t count = 0;
    for (; begin != end; ++begin, ++place, ++count) {
      const double more_q = q + *begin, more_p = p + *begin * (*place / size);
      if (copies * more_q + more_p > budget) break;
      q = more_q;
      p = more_p;
    }
    q_cut_ += copies * q;
    p_cut_ += p + copies * q;
    return static_cast<std::ptrdiff_t>(count);
  };
  const auto top = reach(atoms.q.rbegin(), atoms.q.rend(), atoms.place.rbegin());
  atoms.q.resize(atoms.q.size() - static_cast<size_t>(top));
  atoms.place.resize(atoms.q.size());
  const auto bottom = reach(atoms.q.begin(), atoms.q.end(), atoms.place.begin());
  atoms.q.erase(atoms.q.begin(), atoms.q.begin() + bottom);
  atoms.place.erase(atoms.place.begin(), atoms.place.begin() + bottom);
}

Atoms Doubling::Sum(const Atoms& a, const Atoms& b, uint64_t size, double copies) {
  const double mean = static_cast<double>(size);
  const double from = a.place.front() + b.place.front(), to = a.place.back() + b.place.back();
  if (!(from < to)) {  // one place each, but for rounding
    const double mass =
        std::accumulate(a.q.begin(), a.q.end(), 0.0) * std::accumulate(b.q.begin(), b.q.end(), 0.0);
    log_error_ += copies * 1e-12;
    loss_error_ += 2 * kUnitRoundoff;
    return {{from}, {mass}};
  }
  Atoms sum = AtomsOf(SumOf(a, b, Grid(mean, Spread(mean), mesh_, from, to)), copies);
  Trim(sum, mean, copies);
  return sum;
}

absl::StatusOr<RatioLaw> Doubling::Mean(const Limits& limits) {
  RETURN_IF_ERROR(limits.Check());
  ASSIGN_OR_RETURN(Atoms power, One());
  Atoms sum;
  uint64_t summed = 0, size = 1;
  for (uint64_t left = rounds_;;) {
    if (power.q.empty()) return RatioLaw{};
    // Rounding takes all of a lower law of so many rounds.
    if (bound_ == Bound::kLower && log_error_ > kLostToRounding) return RatioLaw{};
    if (left & 1) {
      RETURN_IF_ERROR(limits.Check());
      sum = summed > 0 ? Sum(power, sum, summed + size, 1) : power;
      summed += size;
      if (sum.q.empty()) return RatioLaw{};
    }
    left >>= 1;
    if (left == 0) break;
    RETURN_IF_ERROR(limits.Check());
    size *= 2;
    power = Sum(power, power, size, static_cast<double>(left));
  }
  RatioLaw law;
  const double t = static_cast<double>(rounds_);
  // e^{log_error} outward, of products of at most t masses.
  const double factor =
      bound_ == Bound::kUpper ? ExpUp(1.01 * log_error_) : ExpDown(-1.01 * log_error_);
  law.ratio = std::move(sum.place);
  for (double& r : law.ratio) r /= t;
  law.q = std::move(sum.q);
  for (double& q : law.q) q *= factor;
  law.loss_error = 1.01 * (loss_error_ + 4 * kUnitRoundoff);
  if (bound_ == Bound::kUpper) {
    law.q_cut = q_cut_ * factor * (1 + kCutRounding);
    law.p_cut = p_cut_ * factor * (1 + kCutRounding);
  }
  return law;
}

absl::StatusOr<RatioLaw> Law(Bound bound, const Rounds& rounds, double mesh, double tail,
                             const Limits& limits) {
  const uint64_t run = rounds.rounds - rounds.missing;
  const uint64_t counted = bound == Bound::kUpper ? std::min(run, kMostRounds) : run;
  double mu = rounds.distance;
  if (mu < kLeastDistance) {
    if (bound == Bound::kLower) return RatioLaw{{1}, {1}, 0, 0, 0};
    mu = kLeastDistance;
  }
  ASSIGN_OR_RETURN(RatioLaw law, Doubling(bound, counted, mu, mesh, tail).Mean(limits));
  if (rounds.missing == 0) return law;
  const double part = static_cast<double>(run) / static_cast<double>(rounds.rounds);
  const double rest = static_cast<double>(rounds.missing) / static_cast<double>(rounds.rounds);
  for (double& r : law.ratio) r = rest + part * r;
  law.loss_error += 4 * kUnitRoundoff;
  // What was cut has the Q-mass with the record in a round that was not run: p_cut counts that too.
  return law;
}

}  // namespace

absl::StatusOr<RatioLaw> UpperLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits) {
  return Law(Bound::kUpper, rounds, mesh, tail, limits);
}

absl::StatusOr<RatioLaw> LowerLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits) {
  return Law(Bound::kLower, rounds, mesh, tail, limits);
}

}  // namespace dpledger::accountant::allocation
