#include "accountant/mechanism/matrix_sensitivity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

// best[c]: the most that c participations in an interval can add.
using Best = std::vector<double>;

// Two neighbouring intervals together, with at most `most` participations.
Best Join(const Best& left, const Best& right, uint64_t most) {
  Best best(std::min<uint64_t>(most, left.size() + right.size() - 2) + 1, kImpossible);
  for (size_t c = 0; c < best.size(); ++c) {
    const size_t first = c < right.size() ? 0 : c - (right.size() - 1);
    for (size_t a = first; a <= std::min(c, left.size() - 1); ++a) {
      best[c] = std::fmax(best[c], left[a] + right[c - a]);
    }
  }
  return best;
}

// Σ over the complete dyadic intervals of c², for participations at 0, s, 2s, ...
double OnePattern(const TreeEncoder& tree, const Participation& participation) {
  const auto& [most, separation] = participation;
  const uint64_t count = std::min(most, CeilDivide(tree.steps, separation));
  double sum = 0;
  for (uint64_t size = 1; size <= tree.steps; size *= 2) {
    const uint64_t end = tree.steps / size * size;  // of the complete intervals
    uint64_t run = 0, at = 0;
    for (uint64_t i = 0; i < count && i * separation < end; ++i) {
      const uint64_t interval = i * separation / size;
      if (interval != at) {
        sum += static_cast<double>(run) * static_cast<double>(run);
        run = 0;
        at = interval;
      }
      ++run;
    }
    sum += static_cast<double>(run) * static_cast<double>(run);
  }
  return sum;
}

}  // namespace

Interval SquaredSensitivity(const TreeEncoder& tree, const Participation& participation) {
  const auto& [most, separation] = participation;
  // An interval of size s holds at most ⌈s / separation⌉ participations; that those of neighbours
  // keep apart is let go.
  const auto cap = [&, m = most, s = separation](uint64_t size) {
    return std::min(m, CeilDivide(size, s));
  };
  std::vector<Best> complete;  // by the logarithm of the size
  for (uint64_t size = 1; size <= tree.steps; size *= 2) {
    Best best = size == 1 ? Best{0, 0} : Join(complete.back(), complete.back(), cap(size));
    for (size_t c = 0; c < best.size(); ++c)
      best[c] += static_cast<double>(c) * static_cast<double>(c);
    complete.push_back(std::move(best));
  }
  Best all = {0};
  for (int bit = std::bit_width(tree.steps) - 1; bit >= 0; --bit) {
    if ((tree.steps >> bit & 1) == 0) continue;
    all = Join(all, complete[bit], cap(tree.steps));
  }
  // Sums of whole numbers, exact below 2^53.
  return {OnePattern(tree, participation), *std::max_element(all.begin(), all.end())};
}

Interval SquaredSensitivity(const ToeplitzEncoder& toeplitz, const Participation& participation) {
  const auto& [most, separation] = participation;
  const uint64_t count = std::min(most, CeilDivide(toeplitz.steps, separation));
  std::vector<double> column(toeplitz.steps, 0);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t start = i * separation;
    const size_t length = std::min<uint64_t>(toeplitz.coefficients.size(), toeplitz.steps - start);
    for (size_t j = 0; j < length; ++j)
      column[start + j] += toeplitz.coefficients[j] / toeplitz.coefficients[0];
  }
  double sum = 0;
  for (const double entry : column) sum += entry * entry;
  // All terms are positive: a division and `count` additions in an entry, then the square, then
  // `steps` additions. What underflows is below 1e-300 of the first, which is one.
  const double error = kUnitRoundoff * static_cast<double>(2 * count + toeplitz.steps + 8);
  return {sum * (1 - error), sum * (1 + error) + 1e-290};
}

Interval SquaredColumn(const ToeplitzEncoder& toeplitz, uint64_t step) {
  const size_t length = std::min<uint64_t>(toeplitz.coefficients.size(), toeplitz.steps - step);
  double sum = 0;
  for (size_t j = 0; j < length; ++j) {
    const double entry = toeplitz.coefficients[j] / toeplitz.coefficients[0];
    sum += entry * entry;
  }
  const double error = kUnitRoundoff * static_cast<double>(length + 8);
  return {sum * (1 - error), sum * (1 + error) + 1e-290};
}

}  // namespace dpledger::accountant
