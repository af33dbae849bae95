#include "accountant/pair/two_candidates.h"

#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"

namespace dpledger::accountant {
namespace {

// So that all probabilities are normal doubles.
constexpr double kGreatestEpsilon = 600, kGreatestBehind = 690;
// Of exponentials and the operations on them, as of the pairs in pairs.cc.
constexpr double kFewRoundings = 32 * kUnitRoundoff;
// Of the search for a start: bits of it that are wanted, cells of the grid, and how far that
// reaches beyond both ends of what is worth looking at.
constexpr int kBits = 16, kCells = 64;
constexpr double kReach = 3;

using Noise = TwoCandidates::Noise;

// The probability that the difference of two noises is above x; 1 - Above(x) is Above(-x).
double Above(Noise noise, double x) {
  const double faint = std::exp(-std::fabs(x));
  const double least = noise == Noise::kGumbel ? faint / (1 + faint) : faint / 2;
  return x > 0 ? least : 1 - least;
}

}  // namespace

Pair PairOf(const TwoCandidates& choice, double behind) {
  const auto& [noise, epsilon, sampled] = choice;
  if (!(epsilon > 0 && epsilon <= kGreatestEpsilon && std::fabs(behind) <= kGreatestBehind))
    return Pair::Nothing();
  Pair pair;
  const double less = behind - epsilon;
  pair.atoms = {{Above(noise, less), Above(noise, behind)},
                {Above(noise, -less), Above(noise, -behind)}};
  // The difference above is rounded; a probability changes relatively by at most what its place
  // does.
  pair.relative_error = kFewRoundings + 2 * kUnitRoundoff * (epsilon + std::fabs(behind));
  pair.symmetric = less == -behind;
  return PoissonSampledPair(sampled, pair);
}

double MostTelling(const TwoCandidates& choice, double order) {
  // By name: clang 14 lets no lambda have a part of a structured binding.
  const TwoCandidates::Noise noise = choice.noise;
  const double epsilon = choice.epsilon, sampled = choice.sampled;
  if (!(order > 1 && std::isfinite(order))) return epsilon / 2;
  const auto log_moment = [&](double behind) {
    const auto term = [&](double p, double q) {
      return order * std::log(sampled * p + (1 - sampled) * q) - (order - 1) * std::log(q);
    };
    const double less = behind - epsilon;
    const double first = term(Above(noise, less), Above(noise, behind));
    const double second = term(Above(noise, -less), Above(noise, -behind));
    return std::fmax(first, second) + std::log1p(std::exp(-std::fabs(first - second)));
  };
  // Great orders are worth a chance of about 1/order that the ratio is the greatest.
  const double from = epsilon / 2 - kReach, to = epsilon + std::log(order) + kReach;
  // There may be several peaks: the best of a grid, then the peak beside it.
  const double cell = (to - from) / kCells;
  double best = from, greatest = -std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kCells; ++i) {
    const double behind = from + i * cell, moment = log_moment(behind);
    if (moment > greatest) {
      greatest = moment;
      best = behind;
    }
  }
  return boost::math::tools::brent_find_minima([&](double x) { return -log_moment(x); },
                                               best - cell, best + cell, kBits)
      .first;
}

}  // namespace dpledger::accountant
