#include "certify/copies.h"

#include <cmath>
#include <vector>

#include "certify/laws.h"
#include "certify/steps.h"

namespace dpledger::certify {
namespace {

constexpr slong kBallBits = 224;
constexpr uint64_t kMostCopies = 256;
constexpr double kLeastWeight = 0x1p-130;
constexpr long kPlacesPerCell = 16;
constexpr double kGreatestMu = 1000;
constexpr double kGrowth = 1 + 0x1p-50;  // of the ratio over a cell, at least

// P = Σ Bin(draws, q)(j) N(j·mu), against Q = N(0).
class Copies {
 public:
  explicit Copies(const Ball& mu) : mu_(mu) {}
  // False: there are more than kMostCopies of some weight.
  bool Weigh(const Ball& q, uint64_t draws) {
    const double n = static_cast<double>(draws), mean = q.Middle() * n;
    Ball weight = Exp(Log1P(-q) * n);
    for (double j = 0; j <= n; ++j) {
      if (j > static_cast<double>(kMostCopies)) return false;
      if (j > mean && CertainlyLess(weight, kLeastWeight)) break;
      weights_.push_back(weight);
      rest_ = rest_ - weight;
      weight = weight * (n - j) / (j + 1) * q / (Ball(1.0) - q);
    }
    return true;
  }
  // The mass of P past x.
  Ball Tail(const Ball& x) const {
    Ball sum = 0.0;
    for (size_t j = 0; j < weights_.size(); ++j)
      sum = sum + weights_[j] * NormalTail(x - mu_ * static_cast<double>(j));
    return sum;
  }
  Ball Ratio(const Ball& x) const {
    Ball sum = 0.0;
    for (size_t j = 0; j < weights_.size(); ++j) {
      const Ball shift = mu_ * static_cast<double>(j);
      sum = sum + weights_[j] * Exp(shift * x - shift * shift / 2.0);
    }
    return sum;
  }
  // Of weights that are left out, at most.
  Ball Rest() const { return Max(rest_, 0.0).Greatest(); }

 private:
  Ball mu_;
  std::vector<Ball> weights_;
  Ball rest_ = 1.0;
};

}  // namespace

absl::StatusOr<Enclosed> EncloseCopies(const Ball& mu, const Ball& q, uint64_t draws,
                                       const Closeness& closeness) {
  const Bits wide(kBallBits);
  if (!CertainlyAtMost(mu, kGreatestMu))
    return Unknown("several copies of a record beside noise of less than a thousandth");
  Copies copies(mu);
  if (!copies.Weigh(q, draws)) return Unknown("a record that may be in a round over 256 times");
  double first = 0, last = 0;
  while (NormalTail(-Ball(first)).Middle() > closeness.ignored) first -= 0.25;
  while (copies.Tail(last).Middle() > closeness.ignored) last += 0.25;
  const long cells = closeness.places / kPlacesPerCell;
  Cells cut;
  Ball p_end, q_end;  // past the last end so far
  for (long i = 0; i <= cells; ++i) {
    const Ball x =
        Ball(first) + Ball(last - first) * static_cast<double>(i) / static_cast<double>(cells);
    const Ball ratio = copies.Ratio(x);
    // Where the ratio hardly grows a cell is wider.
    if (!cut.ratios.empty() && !CertainlyLess(cut.ratios.back() * kGrowth, ratio)) continue;
    const Ball p_past = copies.Tail(x), q_past = NormalTail(x);
    if (!cut.ratios.empty()) {
      cut.masses.push_back(q_end - q_past);
      cut.excesses.push_back(p_end - p_past - cut.ratios.back() * cut.masses.back());
    }
    cut.ratios.push_back(ratio);
    p_end = p_past, q_end = q_past;
  }
  return Enclosed{Spread(cut), Merge(cut, copies.Rest())};
}

}  // namespace dpledger::certify
