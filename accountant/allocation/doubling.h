// The law of a sum of independent rounds, by doubling: each sum of two laws on a grid of its own.
// Private to allocation/; proofs and error budget: CLAIM.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "accountant/allocation/cells.h"
#include "accountant/limits.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::allocation {

enum class Bound { kUpper, kLower };

// e^±kGreatestLoss, and products of a few of them with masses, are doubles.
inline constexpr double kGreatestLoss = 650;
// Relative errors of masses add up to about 1e-13 a round: an upper law takes no more rounds.
inline constexpr uint64_t kMostRounds = uint64_t{1} << 36;
// Less shows less; a law narrower than this is lost in the rounding of its places.
inline constexpr double kLeastDistance = 1e-9;

// Of `Round`s (one_round.h).
template <typename Round>
class Doubling {
 public:
  Doubling(Bound bound, uint64_t rounds, const Round& round, double mesh, double tail)
      : bound_(bound), rounds_(rounds), round_(round), mesh_(mesh), tail_(tail) {}

  // Empty if rounding took all of a lower law, or it has none. RESOURCE_EXHAUSTED (reason
  // QUERY_TOO_LARGE), DEADLINE_EXCEEDED, CANCELLED.
  absl::StatusOr<Atoms> Sum(const Limits& limits);

  // Of the result of Sum: its masses' relative error as a logarithm, and that of its places.
  double log_error() const { return log_error_; }
  double loss_error() const { return loss_error_; }
  // Of the second sum's means, relative.
  double second_error() const { return second_error_; }
  // The Q-mass and the P-mass that an upper law leaves out.
  double q_cut() const { return q_cut_; }
  double p_cut() const { return p_cut_; }
  // The work done: products of two masses, and everything else in products that take as long.
  double products() const { return products_; }

 private:
  // A round's ends take a quarter of the tail; each of at most 2·54 sums two parts in kTailParts.
  static constexpr double kTailParts = 512;
  static constexpr double kLostToRounding = 10;
  // The work of a law, a panel of a round's integrals and a point of a grid, in products.
  static constexpr double kProductsOfLaw = 1e5, kProductsOfPanel = 180, kProductsOfPoint = 45;

  Places places() const {
    if (!Round::kSigned) return Places::kNearest;
    return bound_ == Bound::kUpper ? Places::kUp : Places::kDown;
  }
  absl::StatusOr<Atoms> One();
  Atoms SumOfTwo(const Atoms& a, const Atoms& b, uint64_t size, double copies);
  // The atoms of a cell's two shares, for a block of rounds of which the result has `copies`.
  Atoms AtomsOf(Cells cells, double copies);
  void Trim(Atoms& atoms, double size, double copies);
  void NotePlus(const Atoms& atoms, double size);

  const Bound bound_;
  const uint64_t rounds_;
  const Round round_;
  const double mesh_, tail_;
  double log_error_ = 0, loss_error_ = 0, second_error_ = 0;
  double q_cut_ = 0, p_cut_ = 0;
  double products_ = 0;
  // The greatest mean of Plus a round, of all laws so far.
  double plus_ = 1;
};

template <typename Round>
absl::StatusOr<Atoms> Doubling<Round>::One() {
  const double t = static_cast<double>(rounds_), mu = round_.mu;
  const double end = std::fmax(1e-299, tail_ / (8 * t));
  const double low = -NormalTailInverse(end);
  const double high = std::fmax(-low, mu + NormalTailInverse(std::fmax(1e-299, tail_ / 16)));
  if (!(round_.Exponent(low, high) < kGreatestLoss)) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat(
            "random allocation: a round's privacy loss may be above ", kGreatestLoss,
            " (noise multiplier ", 1 / mu, "); raise the noise multiplier or ask for method rdp")),
        {"QUERY_TOO_LARGE", {}});
  }
  const double below = NormalTail(-low), above = NormalTail(high), own = NormalTail(high - mu);
  q_cut_ += t * (below + above);
  p_cut_ += own + t * (below + above);
  products_ += kProductsOfLaw;
  if constexpr (Round::kSigned) {
    Atoms atoms = AtomsOf(OneRound(round_, low, high, mesh_, places()), t);
    NotePlus(atoms, 1);
    return atoms;
  } else {
    return AtomsOf(OneRound(round_, low, high, mesh_), t);
  }
}

template <typename Round>
Atoms Doubling<Round>::AtomsOf(Cells cells, double copies) {
  products_ +=
      kProductsOfPoint * static_cast<double>(cells.points.size()) + kProductsOfPanel * cells.panels;
  log_error_ += copies * cells.relative_error;
  loss_error_ += cells.place_error;
  if (bound_ == Bound::kUpper) return Split(cells);
  if (Round::kSigned) {
    second_error_ += 2 * cells.relative_error + 8 * kUnitRoundoff;
    return MergeDown(cells);
  }
  loss_error_ += MergeError(cells);
  return Merge(cells);
}

template <typename Round>
void Doubling<Round>::NotePlus(const Atoms& atoms, double size) {
  double plus = 0;
  for (size_t j = 0; j < atoms.q.size(); ++j)
    plus += atoms.q[j] * (round_.Plus(atoms.place[j]) / size);
  plus_ = std::fmax(plus_, plus);
}

template <typename Round>
void Doubling<Round>::Trim(Atoms& atoms, double size, double copies) {
  const double budget = tail_ / kTailParts;
  const auto reach = [&](auto begin, auto end, auto place) {
    double q = 0, p = 0;
    size_t count = 0;
    for (; begin != end; ++begin, ++place, ++count) {
      const double more_q = q + *begin, more_p = p + *begin * (round_.Plus(*place) / size);
      if (copies * more_q + more_p > budget) break;
      q = more_q;
      p = more_p;
    }
    q_cut_ += copies * q;
    p_cut_ += p + copies * q * plus_;
    return static_cast<std::ptrdiff_t>(count);
  };
  const auto drop = [&](std::ptrdiff_t bottom, std::ptrdiff_t top) {
    for (std::vector<double>* of : {&atoms.q, &atoms.place, &atoms.second}) {
      if (of->empty()) continue;
      of->erase(of->end() - top, of->end());
      of->erase(of->begin(), of->begin() + bottom);
    }
  };
  drop(0, reach(atoms.q.rbegin(), atoms.q.rend(), atoms.place.rbegin()));
  drop(reach(atoms.q.begin(), atoms.q.end(), atoms.place.begin()), 0);
}

template <typename Round>
Atoms Doubling<Round>::SumOfTwo(const Atoms& a, const Atoms& b, uint64_t size, double copies) {
  const double rounds = static_cast<double>(size);
  double from = a.place.front() + b.place.front(), to = a.place.back() + b.place.back();
  products_ +=
      static_cast<double>(a.q.size()) * static_cast<double>(b.q.size()) * (&a == &b ? 0.5 : 1.0);
  if constexpr (Round::kSigned) {
    // Room for outward roundings, also where all is one place.
    const SignedScale scale = round_.Scales(rounds);
    from -= 8 * kUnitRoundoff * std::fabs(from) + 1e-12 * scale.spread;
    to += 8 * kUnitRoundoff * std::fabs(to) + 1e-12 * scale.spread;
    const std::vector<double> grid = SignedGrid(scale, mesh_, from, to);
    Atoms sum = AtomsOf(SumOf(a, b, grid, places()), copies);
    NotePlus(sum, rounds);
    Trim(sum, rounds, copies);
    return sum;
  } else {
    if (!(from < to)) {  // one place each, but for rounding
      const double mass = std::accumulate(a.q.begin(), a.q.end(), 0.0) *
                          std::accumulate(b.q.begin(), b.q.end(), 0.0);
      log_error_ += copies * 1e-12;
      loss_error_ += 2 * kUnitRoundoff;
      return {{from}, {mass}, {}};
    }
    Atoms sum = AtomsOf(
        SumOf(a, b, Grid(rounds, round_.Spread(rounds), round_.Part(rounds), mesh_, from, to),
              places()),
        copies);
    Trim(sum, rounds, copies);
    return sum;
  }
}

template <typename Round>
absl::StatusOr<Atoms> Doubling<Round>::Sum(const Limits& limits) {
  RETURN_IF_ERROR(limits.Check());
  ASSIGN_OR_RETURN(Atoms power, One());
  Atoms sum;
  uint64_t summed = 0, size = 1;
  for (uint64_t left = rounds_;;) {
    if (power.q.empty()) return Atoms{};
    // With this many rounds, rounding leaves nothing of a lower law.
    if (bound_ == Bound::kLower && log_error_ > kLostToRounding) return Atoms{};
    if (left & 1) {
      RETURN_IF_ERROR(limits.Check());
      sum = summed > 0 ? SumOfTwo(power, sum, summed + size, 1) : power;
      summed += size;
      if (sum.q.empty()) return Atoms{};
    }
    left >>= 1;
    if (left == 0) break;
    RETURN_IF_ERROR(limits.Check());
    size *= 2;
    power = SumOfTwo(power, power, size, static_cast<double>(left));
  }
  return sum;
}

}  // namespace dpledger::accountant::allocation
