#include "accountant/pair/shuffled.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Of local ε0: beyond, a copy among 2^53 people has a probability below 1e-26, so that shuffling
// hides nothing; below, losses have no digits left as quotients of masses.
constexpr double kGreatestLocal = 100, kLeastLocal = 1e-12;
// Probabilities of numbers of copies, and of the counts, below this share of the greatest are cut.
// They are at most kGreatestPeople on each side, for at most 10^4 slices, so that all of them weigh
// below kCutMass.
constexpr double kLeastWeight = 1e-120;
constexpr double kCutMass = 1e-106;
// Numbers of copies that differ by less than this share are taken as one: ε is off by a quarter of
// that.
constexpr double kSliceWidth = 1.0 / 512;
// Nodes a deviation of the loss, up to four of them; beyond, nodes a unit of log(loss).
constexpr double kNodesADeviation = 64, kNodesALogarithm = 256;
constexpr double kFewRoundings = 32 * kUnitRoundoff;

// Probabilities of first, first + 1, ... successes; all others are cut.
struct Binomial {
  uint64_t first = 0;
  std::vector<double> weights;
  double relative_error = 0;
};

// `trials` trials, each with `odds` for a success, known up to a relative error of so many units of
// rounding. From the mode outward by the ratio of neighbours: no factor cancels, so the error grows
// by a few roundings a step. Cut where weights are below `least` of the greatest.
Binomial BinomialOf(uint64_t trials, double odds, double odds_error, double least) {
  const double inverse = 1 / odds, n = static_cast<double>(trials);
  const auto mode = static_cast<uint64_t>(std::clamp(std::floor((n + 1) / (1 + inverse)), 0.0, n));
  std::vector<double> weights;
  double weight = 1;
  uint64_t j = mode;
  while (j > 0 && weight >= least) {
    weight *= static_cast<double>(j) * inverse / static_cast<double>(trials - j + 1);
    weights.push_back(weight);
    --j;
  }
  Binomial binomial;
  binomial.first = j;
  std::reverse(weights.begin(), weights.end());
  weights.push_back(weight = 1);
  for (j = mode; j < trials && weight >= least; ++j) {
    weight *= static_cast<double>(trials - j) / (static_cast<double>(j + 1) * inverse);
    weights.push_back(weight);
  }
  double sum = 0;
  for (const double each : weights) sum += each;
  for (double& each : weights) each /= sum;
  const auto size = static_cast<double>(weights.size());
  const double steps =
      std::fmax(static_cast<double>(mode - binomial.first), static_cast<double>(j - mode));
  // Sums are over all of them, and over parts.
  binomial.relative_error = kUnitRoundoff * ((3 + odds_error) * steps + 2 * size + 4);
  binomial.weights = std::move(weights);
  return binomial;
}

// The greater half of a fair binomial variable: at ⌈trials/2⌉, ⌈trials/2⌉ + 1, ...
Binomial UpperHalf(uint64_t trials, double least) {
  Binomial half{trials - trials / 2, {1}, 0};
  double weight = 1, sum = 1;
  for (uint64_t j = half.first; j < trials && weight >= least; ++j) {
    weight *= static_cast<double>(trials - j) / static_cast<double>(j + 1);
    half.weights.push_back(weight);
    sum += weight;
  }
  // Of an even number the middle is in both halves.
  const double whole = trials % 2 == 0 ? 2 * sum - 1 : 2 * sum;
  for (double& each : half.weights) each /= whole;
  half.relative_error = kUnitRoundoff * (4 * static_cast<double>(half.weights.size()) + 4);
  return half;
}

// Where `fair` of the reports are in the two counts: the probabilities that the person's is one of
// them, and that it is not. All others are in each count by a fair coin.
struct Slice {
  uint64_t fair;
  double inside, outside;
};

// Outcomes by p/q - 1 >= 0, each with its mirror image, on a grid of such values.
class Outcomes {
 public:
  Outcomes(std::vector<double> nodes, Bound bound)
      : bound_(bound),
        nodes_(std::move(nodes)),
        q_(nodes_.size()),
        gain_(nodes_.size()),
        terms_(nodes_.size()) {}

  // An outcome of masses q and q + gain, between nodes()[node] and the next one. Above it is split
  // between both so that both masses stay; below it joins those between the same two.
  void Add(double q, double gain, size_t node) {
    if (bound_ == Bound::kLower) {
      AddAt(node, q, gain);
      return;
    }
    const double width = nodes_[node + 1] - nodes_[node];
    const double far = std::clamp((gain / q - nodes_[node]) / width, 0.0, 1.0);
    AddAt(node, q * (1 - far), 0);
    AddAt(node + 1, q * far, 0);
  }
  // One whose p/q is the greatest.
  void AddLast(double q) { AddAt(nodes_.size() - 1, q, 0); }

  const std::vector<double>& nodes() const { return nodes_; }

  std::vector<Atom> Atoms() const {
    std::vector<Atom> atoms;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const double q = q_[i];
      if (q == 0) continue;
      const double p = q + (bound_ == Bound::kUpper ? q * nodes_[i] : gain_[i]);
      if (p == q) {
        atoms.push_back({2 * q, 2 * q});
      } else {
        atoms.insert(atoms.end(), {{p, q}, {q, p}});
      }
    }
    return atoms;
  }

  // Of the sums, relatively: their terms are positive.
  double RelativeError() const {
    return kUnitRoundoff * static_cast<double>(*std::max_element(terms_.begin(), terms_.end()));
  }

 private:
  void AddAt(size_t i, double q, double gain) {
    q_[i] += q;
    gain_[i] += gain;
    ++terms_[i];
  }

  Bound bound_;
  std::vector<double> nodes_, q_, gain_;
  std::vector<uint64_t> terms_;
};

// Values of e^loss - 1 from 0 to the greatest, finest where the losses of a slice of `fair` are.
std::vector<double> NodesOf(double local_epsilon, double fair) {
  const double greatest = std::expm1(local_epsilon);
  const double deviation = 2 * std::tanh(local_epsilon / 2) / std::sqrt(fair);
  std::vector<double> nodes{0};
  for (double loss = 0;;) {
    loss += std::fmax(deviation / kNodesADeviation, loss / kNodesALogarithm);
    const double node = std::expm1(loss);
    if (!(node < greatest)) break;
    if (node > nodes.back()) nodes.push_back(node);
  }
  nodes.push_back(greatest);
  return nodes;
}

// Returns the relative error of the masses that it adds.
double AddSlice(const Slice& slice, double greatest, Outcomes& outcomes) {
  const Binomial counts = UpperHalf(slice.fair, kLeastWeight / (slice.inside + slice.outside));
  const auto fair = static_cast<double>(slice.fair);
  // The person's report is one of `fair`, and its odds are 1 + greatest to one.
  const double share = slice.fair == 0 ? 0 : 2 * slice.inside / (fair * (2 + greatest));
  const std::vector<double>& nodes = outcomes.nodes();
  size_t node = 0;
  for (size_t i = 0; i < counts.weights.size(); ++i) {
    const uint64_t a = counts.first + i;
    const auto others = static_cast<double>(slice.fair - a);
    const double lead = static_cast<double>(a) - others;
    // Even counts are their own mirror image.
    const double mass = counts.weights[i] / (lead == 0 ? 2 : 1);
    const double q = mass * (slice.outside + share * (fair + greatest * others));
    const double gain = mass * share * greatest * lead;
    while (node + 2 < nodes.size() && nodes[node + 1] * q <= gain) ++node;
    outcomes.Add(q, gain, node);
  }
  return counts.relative_error;
}

// So many of the others send a copy, and the person's report is beside them. Numbers that are
// nearly the same are taken as the least.
std::vector<Slice> UpperSlices(const Binomial& copies) {
  std::vector<Slice> slices;
  for (size_t i = 0; i < copies.weights.size();) {
    const uint64_t least = copies.first + i;
    const uint64_t last = least + static_cast<uint64_t>(static_cast<double>(least) * kSliceWidth);
    Slice slice{least + 1, 0, 0};
    for (; i < copies.weights.size() && copies.first + i <= last; ++i)
      slice.inside += copies.weights[i];
    slices.push_back(slice);
  }
  return slices;
}

// So many of the others answer one of the two values, and the person does with odds of
// `inside` : `outside`, which sum to one. Numbers that are nearly the same are taken as the
// greatest.
std::vector<Slice> LowerSlices(const Binomial& copies, double inside, double outside) {
  std::vector<Slice> slices;
  const size_t size = copies.weights.size();
  for (size_t i = 0; i <= size;) {
    const uint64_t least = copies.first + i;
    const uint64_t last = least + static_cast<uint64_t>(static_cast<double>(least) * kSliceWidth);
    Slice slice{least, 0, 0};
    for (; i <= size && copies.first + i <= last; ++i) {
      slice.fair = copies.first + i;
      if (i > 0) slice.inside += inside * copies.weights[i - 1];
      if (i < size) slice.outside += outside * copies.weights[i];
    }
    slices.push_back(slice);
  }
  return slices;
}

}  // namespace

Pair ShuffledPair(double local_epsilon, uint64_t people, Bound bound) {
  const bool upper = bound == Bound::kUpper;
  if (local_epsilon == 0) return Pair::Nothing();
  if (people == 1 || (upper && local_epsilon > kGreatestLocal))
    return EpsilonDeltaPair(local_epsilon, 0, bound);
  if (!upper && (people > kGreatestPeople || local_epsilon < kLeastLocal)) return Pair::Nothing();
  local_epsilon = std::clamp(local_epsilon, kLeastLocal, kGreatestLocal);
  const uint64_t others = std::min(people, kGreatestPeople) - 1;
  const double greatest = std::expm1(local_epsilon);
  // For a copy: 2 to e^ε0 - 1; for one of the two values by someone of the third one: 2 to e^ε0.
  const double odds = upper ? 2 / greatest : 2 / (1 + greatest);
  const double fair = static_cast<double>(others) / (1 + 1 / odds) + 1;
  const Binomial copies = BinomialOf(others, odds, 6, kLeastWeight);
  Outcomes outcomes(NodesOf(local_epsilon, fair), bound);
  // Of e^ε0 + 2.
  const double own = 1 + greatest, one = 1 / (own + 2);
  double error = 0;
  for (const Slice& slice :
       upper ? UpperSlices(copies) : LowerSlices(copies, (own + 1) * one, one)) {
    error = std::fmax(error, AddSlice(slice, greatest, outcomes));
  }
  if (upper) outcomes.AddLast(kCutMass);
  return {outcomes.Atoms(),
          {},
          kFewRoundings + copies.relative_error + error + outcomes.RelativeError(),
          true};
}

double ShuffledWork(double local_epsilon, uint64_t people) {
  const double others = static_cast<double>(std::min(people, kGreatestPeople));
  const double copies = others * std::fmin(1, 2 / std::expm1(local_epsilon));
  // 24 deviations to each side are kept.
  const double range = 48 * std::sqrt(copies) + 48;
  const double slices = std::fmin(range, range / (copies * kSliceWidth) + 1);
  return 2 * range * (1 + slices);
}

}  // namespace dpledger::accountant
