#include "accountant/mechanism/matrix_sensitivity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
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

// ---- Exactly, while that is little work ----

constexpr uint64_t kLongestSeparation = 1 << 16;
constexpr double kToBegin = 32;  // what a join costs besides its places
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

// Ways to take part in an interval, some number of times, that add `sum`. next[e]: if no step
// before the interval's e-th is allowed, then none before the next[e]-th of what follows the
// interval is, at the least; kNever: there is no such way.
struct Packing {
  uint64_t sum;
  std::vector<uint32_t> next;
};
// By how many times. Of one number none is as good as another in every place.
using Packings = std::vector<std::vector<Packing>>;

// Two neighbouring intervals: as one, which counts for itself, or one after the other. nullopt: it
// takes more than `additions`.
std::optional<Packings> Join(const Packings& left, const Packings& right, uint64_t most,
                             bool as_one, double& additions) {
  Packings joined(std::min<uint64_t>(most, left.size() + right.size() - 2) + 1);
  for (uint64_t count = 0; count < joined.size(); ++count) {
    const uint64_t own = as_one ? count * count : 0;
    std::map<uint64_t, std::vector<uint32_t>, std::greater<>> by_sum;
    const uint64_t first = count < right.size() ? 0 : count - (right.size() - 1);
    for (uint64_t a = first; a <= std::min<uint64_t>(count, left.size() - 1); ++a) {
      for (const Packing& l : left[a]) {
        for (const Packing& r : right[count - a]) {
          if ((additions -= kToBegin + static_cast<double>(l.next.size())) < 0) return std::nullopt;
          std::vector<uint32_t>& next = by_sum[l.sum + r.sum + own];
          next.resize(l.next.size(), kNever);
          for (size_t e = 0; e < next.size(); ++e) {
            if (l.next[e] != kNever) next[e] = std::min(next[e], r.next[l.next[e]]);
          }
        }
      }
    }
    std::vector<uint32_t> least;  // of those that add as much or more
    for (auto& [sum, next] : by_sum) {
      least.resize(next.size(), kNever);
      bool is_better = false;
      for (size_t e = 0; e < next.size(); ++e) {
        is_better = is_better || next[e] < least[e];
        least[e] = std::min(least[e], next[e]);
      }
      if (is_better) joined[count].push_back({sum, std::move(next)});
    }
  }
  return joined;
}

// nullopt: it is too much work.
std::optional<double> MostOverPatterns(const TreeEncoder& tree, const Participation& participation,
                                       double& additions) {
  const auto& [most, separation] = participation;
  if (separation > kLongestSeparation) return std::nullopt;
  const auto places = static_cast<uint32_t>(separation);
  Packing none{0, {}}, one{1, std::vector<uint32_t>(places, kNever)}, nothing{0, {}};
  for (uint32_t e = 0; e < places; ++e) {
    none.next.push_back(e == 0 ? 0 : e - 1);
    nothing.next.push_back(e);
  }
  one.next[0] = places - 1;
  // From the last steps on: a complete interval read backwards is the same.
  std::optional<Packings> complete = Packings{{none}, {one}}, all = Packings{{nothing}};
  for (uint64_t size = 1; size <= tree.steps; size *= 2) {
    if (size > 1 && !(complete = Join(*complete, *complete, most, true, additions)))
      return std::nullopt;
    if ((tree.steps & size) != 0 && !(all = Join(*all, *complete, most, false, additions)))
      return std::nullopt;
  }
  uint64_t greatest = 0;
  for (const auto& packings : *all) {
    for (const Packing& packing : packings) {
      if (packing.next[0] != kNever) greatest = std::max(greatest, packing.sum);
    }
  }
  return static_cast<double>(greatest);
}

}  // namespace

Interval SquaredSensitivity(const TreeEncoder& tree, const Participation& participation,
                            double& additions) {
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
  const Interval bounds = {OnePattern(tree, participation),
                           *std::max_element(all.begin(), all.end())};
  if (bounds.lower() == bounds.upper()) return bounds;
  const std::optional<double> exact = MostOverPatterns(tree, participation, additions);
  return exact.has_value() ? Interval(*exact, *exact) : bounds;
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
