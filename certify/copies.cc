#include "certify/copies.h"

#include <cmath>
#include <vector>

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

// A place of Q's, and what lies past it.
struct Place {
  Ball x, ratio, p, q;
};
using Places = std::vector<Place>;

// Each cell's masses on its ends, so that both stay what they are. What is left is told apart.
Pair Spread(const Places& places) {
  std::vector<Ball> at(places.size(), 0.0);
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const Place &from = places[i], &to = places[i + 1];
    const Ball q = from.q - to.q;
    const Ball upper = (from.p - to.p - from.ratio * q) / (to.ratio - from.ratio);
    at[i] = at[i] + q - upper;
    at[i + 1] = at[i + 1] + upper;
  }
  Pair pair;
  Ball p_left = 1.0, q_left = 1.0;
  for (size_t i = 0; i < places.size(); ++i) {
    const Ball p = at[i] * places[i].ratio, loss = Log(places[i].ratio);
    pair.remove.atoms.push_back({p, loss});
    pair.add.atoms.push_back({at[i], -loss});
    p_left = p_left - p, q_left = q_left - at[i];
  }
  pair.remove.infinite = p_left, pair.add.infinite = q_left;
  return pair;
}

// Each cell is one outcome. What is left counts for nothing; of `rest`, wherever it lies, the loss
// of Q is the less.
Pair Merge(const Places& places, const Ball& rest) {
  Pair pair;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const Ball q = places[i].q - places[i + 1].q, p = places[i].p - places[i + 1].p;
    pair.remove.atoms.push_back({p, Log(p / q)});
    pair.add.atoms.push_back({q, -Log((p + rest) / q)});
  }
  return pair;
}

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
  Places places;
  for (long i = 0; i <= cells; ++i) {
    const Ball x =
        Ball(first) + Ball(last - first) * static_cast<double>(i) / static_cast<double>(cells);
    const Ball ratio = copies.Ratio(x);
    // Where the ratio hardly grows a cell is wider.
    if (!places.empty() && !CertainlyLess(places.back().ratio * kGrowth, ratio)) continue;
    places.push_back({x, ratio, copies.Tail(x), NormalTail(x)});
  }
  return Enclosed{Spread(places), Merge(places, copies.Rest())};
}

}  // namespace dpledger::certify
