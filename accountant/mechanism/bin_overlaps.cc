#include "accountant/mechanism/bin_overlaps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Shares of m_i·m_i below which a Gaussian of its own would be of no account, but of a multiplier
// that nothing is derived for: bounds from above take so much instead, those from below nothing.
constexpr double kFaint = 1e-20;

// Classes whose sizes differ by less than a fortieth are tried once: a choice among bounds. All
// 2586 of 6553 bins took 25 s to compare; the 213 that are left take 5 s, for an ε 7e-5 greater
// (for 800 bins 5e-4).
constexpr uint64_t kClassesApart = 40;

// What a step adds for every bin pair (i, j), i <= j, at i·b + j: the tree's Gram matrix, of whole
// numbers.
std::vector<double> GramOf(const TreeEncoder& tree, uint64_t bins) {
  std::vector<double> gram(bins * bins, 0), counts(bins);
  for (uint64_t size = 1; size <= tree.steps; size *= 2) {
    for (uint64_t begin = 0; begin + size <= tree.steps; begin += size) {
      std::fill(counts.begin(), counts.end(), 0);
      const uint64_t different = std::min(size, bins);
      for (uint64_t at = 0; at < different; ++at) {
        // Steps begin + at, begin + at + bins, ... of the interval.
        counts[(begin + at) % bins] = static_cast<double>((size - at - 1) / bins + 1);
      }
      std::vector<uint64_t> present;
      for (uint64_t i = 0; i < bins; ++i) {
        if (counts[i] > 0) present.push_back(i);
      }
      for (size_t a = 0; a < present.size(); ++a) {
        for (size_t b = a; b < present.size(); ++b)
          gram[present[a] * bins + present[b]] += counts[present[a]] * counts[present[b]];
      }
    }
  }
  return gram;
}

// The noise multiplier of a Gaussian whose means are so far apart.
double NoiseDown(double z, double squared) { return DivDown(z, NextUp(std::sqrt(squared))); }
double NoiseUp(double z, double squared) { return DivUp(z, NextDown(std::sqrt(squared))); }

// One Gaussian that all bins share, and an allocation to `rounds` of what each has for itself. The
// noise is as it is, up to rounding.
Composition Shared(double gaussian_noise, uint64_t rounds, double allocated_noise) {
  Composition both;
  if (std::isfinite(gaussian_noise)) both.steps.push_back({1, {gaussian_noise, gaussian_noise}, 1});
  if (std::isfinite(allocated_noise))
    both.allocations.push_back({rounds, {allocated_noise, allocated_noise}, 1});
  return both;
}

}  // namespace

double WorkOfOverlaps(const ToeplitzEncoder& toeplitz, const BallsInBins& bins) {
  return static_cast<double>(toeplitz.steps) * static_cast<double>(bins.bins) +
         static_cast<double>(toeplitz.steps) / static_cast<double>(bins.bins) *
             static_cast<double>(toeplitz.coefficients.size());
}

double WorkOfOverlaps(const TreeEncoder& tree, const BallsInBins& bins) {
  return 4 * static_cast<double>(tree.steps) * static_cast<double>(bins.bins);
}

BinOverlaps OverlapsOf(const ToeplitzEncoder& toeplitz, const BallsInBins& bins) {
  const uint64_t n = toeplitz.steps, b = bins.bins;
  const uint64_t participations = (n - 1) / b + 1;
  // m_0; m_i is the same i rows further down, cut at the end.
  std::vector<double> first(n, 0);
  for (uint64_t start = 0; start < n; start += b) {
    const size_t length = std::min<uint64_t>(toeplitz.coefficients.size(), n - start);
    for (size_t j = 0; j < length; ++j)
      first[start + j] += toeplitz.coefficients[j] / toeplitz.coefficients[0];
  }
  // All terms are positive, as in SquaredSensitivity().
  const double error = kUnitRoundoff * static_cast<double>(2 * participations + n + 8);
  const auto up = [error](double sum) { return sum * (1 + error) + 1e-290; };
  const auto down = [error](double sum) { return sum * (1 - error); };
  BinOverlaps overlaps;
  overlaps.apart.assign(b, 0);
  overlaps.least_apart = b == 1 ? 0 : std::numeric_limits<double>::infinity();
  for (uint64_t d = 0; d < b; ++d) {
    // Of the last two bins that are d apart, which lack the most rows, and of the first two.
    double last = 0;
    uint64_t row = 0;
    for (; row < n - (b - 1); ++row) last += first[row] * first[row + d];
    double all = last;
    for (; row < n - d; ++row) all += first[row] * first[row + d];
    if (d == 0) {
      overlaps.own = {down(last), up(all)};
    } else {
      overlaps.apart[d] = up(all);
      overlaps.least_apart = std::fmin(overlaps.least_apart, down(last));
    }
  }
  return overlaps;
}

BinOverlaps OverlapsOf(const TreeEncoder& tree, const BallsInBins& bins) {
  const uint64_t b = bins.bins;
  const std::vector<double> gram = GramOf(tree, b);
  BinOverlaps overlaps;
  overlaps.own = {gram[0], gram[0]};
  overlaps.apart.assign(b, 0);
  overlaps.least_apart = b == 1 ? 0 : std::numeric_limits<double>::infinity();
  for (uint64_t i = 0; i < b; ++i) {
    const double own = gram[i * b + i];
    overlaps.own = {std::fmin(overlaps.own.lower(), own), std::fmax(overlaps.own.upper(), own)};
    for (uint64_t j = i + 1; j < b; ++j) {
      const double both = gram[i * b + j];
      overlaps.apart[j - i] = std::fmax(overlaps.apart[j - i], both);
      overlaps.least_apart = std::fmin(overlaps.least_apart, both);
    }
  }
  return overlaps;
}

Bracket BracketOfBins(const BinOverlaps& overlaps, Interval z) {
  const uint64_t b = overlaps.bins();
  const double own = overlaps.own.upper(), faint = kFaint * own;
  const double infinite = std::numeric_limits<double>::infinity();
  std::vector<Composition> above;
  // Classes of bins that are `apart` or more from each other, each of b / apart bins or one more.
  // Of classes no larger than others only those are tried that have less in common, and of those
  // about as large the last.
  double least = infinite;
  uint64_t about_as_large = 0;
  for (uint64_t apart = 1; b / apart > 1; ++apart) {
    double shared = 0;
    for (uint64_t d = apart; d < b; d += apart) shared = std::fmax(shared, overlaps.apart[d]);
    if (shared >= least) continue;
    least = shared;
    if (apart < about_as_large) {
      above.pop_back();
    } else {
      about_as_large = apart + apart / kClassesApart;
    }
    if (shared > 0) shared = std::fmax(shared, faint);
    const double rest = std::fmax(AddUp(own, -shared), faint);
    above.push_back(Shared(shared > 0 ? NoiseDown(z.lower(), shared) : infinite, b / apart,
                           NoiseDown(z.lower(), rest)));
  }
  above.push_back(Shared(NoiseDown(z.lower(), own), 1, infinite));
  const double common = overlaps.least_apart < faint ? 0 : overlaps.least_apart;
  const double alone = b == 1 ? 0 : AddDown(overlaps.own.lower(), -common);
  const double one = b == 1 ? overlaps.own.lower() : common;
  Composition below = Shared(one > 0 ? NoiseUp(z.upper(), one) : infinite, b,
                             alone > faint ? NoiseUp(z.upper(), alone) : infinite);
  return {std::make_shared<const std::vector<Composition>>(std::move(above)),
          std::make_shared<const Composition>(std::move(below))};
}

}  // namespace dpledger::accountant
