#include "accountant/allocation/cells.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::allocation {
namespace {

// A sum takes about half of its square products: some eight milliseconds, and a law of 10^6 rounds
// with little noise a fifth of a second.
constexpr size_t kMostPoints = 2560;
// Below, a mass may have lost digits to underflow.
constexpr double kFaintMass = 1e-290;

// Gauss-Legendre's rule of eight points on [-1, 1].
constexpr double kNodes[4] = {0.18343464249564980494, 0.52553240991632898582,
                              0.79666647741362673959, 0.96028985649753623168};
constexpr double kWeights[4] = {0.36268378337836198297, 0.31370664587788728734,
                                0.22238103445337447054, 0.10122853629037625915};
// |x| + 1 + μ times the width of a panel: the rule's error is then below 1e-17 of it (CLAIM.md).
constexpr double kPanel = 0.248;
// Spreads below the mean within which most of the law lies, whatever its shape.
constexpr double kUsualBelow = 4;
// The grid's step at a place is at least kBeyond·√mesh times the place's distance beyond
// SignedScale::decided. For as many digits 4 takes a tenth less time than 2, and a quarter less
// than 1.
constexpr double kBeyond = 4;
// In the exponent, relative to the mesh.
constexpr double kMostInOneStep = 4;

// A grid's step at `place`, relative to the mesh.
double StepAt(double place, double mean, double spread, double part) {
  return std::fmax(part, std::fmin(place, std::hypot(spread, place - mean)));
}

// The step at `place` of a grid over places of both signs. It is wider far below the mean, where
// the law adds next to nothing to the positive part, and far from 0, where the rest of the sum
// cannot change the sign: there the positive part is linear, and any step will do.
double SignedStep(double place, const SignedScale& scale, double mesh) {
  const double off = place - scale.mean;
  const double coarser = off < 0 ? 1 - off / (kUsualBelow * scale.spread) : 1;
  const double step = std::fmax(scale.part, std::fmin(std::hypot(scale.spread, coarser * off),
                                                      std::fmax(std::fabs(place), scale.finest)));
  const double beyond = std::fmax(0, std::fabs(place) - scale.decided);
  return std::hypot(mesh * step, kBeyond * std::sqrt(mesh) * beyond);
}

// The steps' ends beyond `start` up to `end`, by `next`; empty if there are more than kMostPoints.
std::vector<double> Outwards(double start, double end, const std::function<double(double)>& next) {
  std::vector<double> points;
  const double sign = end > start ? 1 : -1;
  for (double at = start; sign * at < sign * end;) {
    // At least to the next double: a step may be lost in the place's rounding.
    at = sign > 0 ? std::fmax(next(at), NextUp(at)) : std::fmin(next(at), NextDown(at));
    if (!(sign * at < sign * end)) at = end;
    points.push_back(at);
    if (points.size() > kMostPoints) return {};
  }
  return points;
}

// Points outwards from `start`, clipped to [from, to]; next(at, mesh, sign) is the step's other
// end.
std::vector<double> Points(double start, double from, double to, double mesh,
                           const std::function<double(double, double, double)>& next) {
  start = std::clamp(start, from, to);
  for (;; mesh *= 1.2) {
    const auto way = [&](double sign) {
      return [&next, mesh, sign](double at) { return next(at, mesh, sign); };
    };
    std::vector<double> down = Outwards(start, from, way(-1)), up = Outwards(start, to, way(1));
    if ((down.empty() && start > from) || (up.empty() && start < to) ||
        down.size() + up.size() >= kMostPoints) {
      continue;
    }
    std::reverse(down.begin(), down.end());
    down.push_back(start);
    down.insert(down.end(), up.begin(), up.end());
    return down;
  }
}

}  // namespace

Atoms Split(const Cells& cells) {
  const size_t n = cells.points.size();
  Atoms atoms{cells.points, std::vector<double>(n, 0), {}};
  for (size_t k = 0; k + 1 < n; ++k) {
    atoms.q[k] += cells.low[k] + cells.lost;
    atoms.q[k + 1] += cells.high[k] + cells.lost;
  }
  return atoms;
}

Atoms Merge(const Cells& cells) {
  Atoms atoms;
  for (size_t k = 0; k + 1 < cells.points.size(); ++k) {
    const double q = cells.low[k] + cells.high[k];
    if (q < kFaintMass) continue;
    const double from = cells.points[k], to = cells.points[k + 1];
    atoms.q.push_back(q);
    atoms.place.push_back(from + (to - from) * (cells.high[k] / q));
  }
  return atoms;
}

double MergeError(const Cells& cells) {
  double greatest = 0;
  for (size_t k = 0; k + 1 < cells.points.size(); ++k) {
    const double from = cells.points[k], to = cells.points[k + 1];
    greatest = std::fmax(greatest, (to - from) / to);
  }
  // (b - a)·s of a mean a + (b - a)s, s off by twice the shares' error and a few roundings, is at
  // most (b - a)/b of the mean: s/(a + (b - a)s) grows with s.
  return greatest * (2 * cells.relative_error + 8 * kUnitRoundoff) + 4 * kUnitRoundoff;
}

Atoms MergeDown(const Cells& cells) {
  Atoms atoms;
  for (size_t k = 0; k + 1 < cells.points.size(); ++k) {
    const double q = cells.low[k] + cells.high[k];
    if (q < kFaintMass) continue;
    const double from = cells.points[k], to = cells.points[k + 1];
    const double share = cells.high[k] / q - 2 * cells.relative_error - 8 * kUnitRoundoff;
    atoms.q.push_back(q);
    const double place = from + (to - from) * share;
    atoms.place.push_back(place - 2 * kUnitRoundoff * std::fabs(place));
    atoms.second.push_back(cells.second[k] / q);
  }
  return atoms;
}

std::vector<double> Grid(double mean, double spread, double part, double mesh, double from,
                         double to) {
  return Points(mean, from, to, mesh, [=](double at, double g, double sign) {
    return at + sign * g * StepAt(at, mean, spread, part);
  });
}

std::vector<double> SignedGrid(const SignedScale& scale, double mesh, double from, double to) {
  return Points(0, from, to, mesh, [&scale](double at, double g, double sign) {
    return at + sign * SignedStep(at, scale, g);
  });
}

namespace {

// The other ends of steps between outcomes.
auto StepsOf(const Ratio& round) {
  const double spread = round.Spread(1), part = round.Part(1);
  return [round, spread, part](double x, double mesh, double sign) {
    return x + sign * mesh * StepAt(round.At(x), 1, spread, part) / round.Slope(x);
  };
}
auto StepsOf(const Opposed& round) {
  const SignedScale scale = round.Scales(1);
  return [round, scale](double x, double mesh, double sign) {
    // (Next to 0 the places may be far closer together than a sum of rounds can tell apart.)
    return x + sign * std::fmin(SignedStep(round.At(x), scale, mesh) / round.Slope(x),
                                mesh * kMostInOneStep / round.mu);
  };
}

// A round's shares on the cells between outcomes, and the mean of the other record's ratio; its
// places are left to the caller.
template <typename Round>
Cells SharesOf(const Round& round, const std::vector<double>& x) {
  Cells cells;
  for (size_t k = 0; k + 1 < x.size(); ++k) {
    const double width = x[k + 1] - x[k];
    const double farthest = std::fmax(std::fabs(x[k]), std::fabs(x[k + 1]));
    const double panels = std::ceil(width * (farthest + 1 + round.mu) / kPanel);
    const double half = width / (2 * panels);
    const typename Round::Cell cell(round, x[k], width);
    double below = 0, above = 0, other = 0;
    for (double panel = 0; panel < panels; ++panel) {
      const double middle = (2 * panel + 1) * half;
      for (int node = 0; node < 8; ++node) {
        const double s = middle + half * (node < 4 ? -kNodes[node] : kNodes[node - 4]);
        const double mass = kWeights[node % 4] * half * NormalDensity(x[k] + s);
        const Shares shares = cell.At(s);
        above += mass * shares.above;
        below += mass * shares.below;
        other += mass * shares.other;
      }
    }
    cells.low.push_back(below / cell.whole);
    cells.high.push_back(above / cell.whole);
    cells.second.push_back(other);
    cells.panels += panels;
    // Of the densities 4x²u, of sums 8u a panel.
    const double distance = farthest + (Round::kSigned ? round.mu : 0);
    cells.relative_error = std::fmax(cells.relative_error,
                                     (4 * distance * distance + 8 * panels + 64) * kUnitRoundoff +
                                         round.ShareError(farthest, width));
    // The rule's nodes lose at most this to underflow, in least doubles (CLAIM.md).
    cells.lost = std::fmax(
        cells.lost, 8 * panels * (8 + 1 / cell.whole) * std::numeric_limits<double>::denorm_min());
  }
  return cells;
}

template <typename Round>
std::vector<double> Outcomes(const Round& round, double low, double high, double mesh) {
  return Points(round.Start(), low, high, mesh, StepsOf(round));
}

}  // namespace

Cells OneRound(const Ratio& round, double low, double high, double mesh) {
  const std::vector<double> x = Outcomes(round, low, high, mesh);
  Cells cells = SharesOf(round, x);
  cells.second.clear();
  double greatest = 0;
  for (const double at : x) {
    cells.points.push_back(round.At(at));
    greatest = std::fmax(greatest, std::fabs(at));
  }
  cells.place_error = (8 + 4 * round.mu * (greatest + round.mu)) * kUnitRoundoff;
  return cells;
}

Cells OneRound(const Opposed& round, double low, double high, double mesh, Places places) {
  const std::vector<double> x = Outcomes(round, low, high, mesh);
  Cells cells = SharesOf(round, x);
  const double sign = places == Places::kUp ? 1 : -1;
  for (const double at : x) cells.points.push_back(round.At(at) + sign * round.AtError(at));
  return cells;
}

namespace {

// Three roundings outward: one of the sum, one of this, and one to spare.
template <Places places>
double SumPlace(double a, double b) {
  const double at = a + b;
  if constexpr (places == Places::kNearest) return at;
  constexpr double kOutward = (places == Places::kUp ? 3 : -3) * kUnitRoundoff;
  return at + kOutward * std::fabs(at);
}

template <Places places>
Cells SumTo(const Atoms& a, const Atoms& b, const std::vector<double>& grid) {
  constexpr bool kSecond = places == Places::kDown;
  const size_t cells = grid.size() - 1;
  const bool square = &a == &b;
  Cells sum{grid, std::vector<double>(cells, 0), std::vector<double>(cells, 0), {}};
  std::vector<double> weighted;  // the second sum's share of each of b's atoms
  if constexpr (kSecond) {
    sum.second.assign(cells, 0);
    for (size_t j = 0; j < b.q.size(); ++j) weighted.push_back(b.q[j] * b.second[j]);
  }
  double narrowest = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < cells; ++k) narrowest = std::fmin(narrowest, grid[k + 1] - grid[k]);
  size_t first = 0;
  for (size_t i = 0; i < a.q.size(); ++i) {
    const double place = a.place[i];
    const size_t begin = square ? i : 0;
    // The first cell whose upper end is not below the sum.
    while (first + 1 < cells && grid[first + 1] < SumPlace<places>(place, b.place[begin])) ++first;
    double below = 0, above = 0, products = 0, seconds = 0, mass = a.q[i];
    size_t cell = first;
    double from = grid[cell], to = grid[cell + 1];
    const auto store = [&] {
      sum.low[cell] += below;
      sum.high[cell] += above;
      if constexpr (kSecond) sum.second[cell] += products * a.second[i] + seconds;
    };
    for (size_t j = begin; j < b.q.size(); ++j) {
      const double at = SumPlace<places>(place, b.place[j]);
      if (at > to) {
        store();
        below = above = products = seconds = 0;
        while (cell + 1 < cells && grid[cell + 1] < at) ++cell;
        from = grid[cell];
        to = grid[cell + 1];
      }
      const double product = mass * b.q[j];
      above += product * (at - from);
      below += product * (to - at);
      if constexpr (kSecond) {
        products += product;
        seconds += mass * weighted[j];
      }
      if (square && j == i) mass *= 2;
    }
    store();
  }
  for (size_t k = 0; k < cells; ++k) {
    const double width = grid[k + 1] - grid[k];
    sum.low[k] /= width;
    sum.high[k] /= width;
  }
  // A cell adds up at most as many runs of products as a has atoms, each of at most b's.
  const double terms = static_cast<double>(a.q.size() + b.q.size());
  sum.relative_error = (terms + 16) * kUnitRoundoff;
  // Each of two products is off by half of the least double, one of them before it is divided by
  // the width.
  const double products = static_cast<double>(a.q.size()) * static_cast<double>(b.q.size());
  sum.lost = products * (2 + 2 / narrowest) * std::numeric_limits<double>::denorm_min();
  sum.place_error = 2 * kUnitRoundoff;
  return sum;
}

}  // namespace

Cells SumOf(const Atoms& a, const Atoms& b, const std::vector<double>& grid, Places places) {
  switch (places) {
    case Places::kNearest:
      return SumTo<Places::kNearest>(a, b, grid);
    case Places::kUp:
      return SumTo<Places::kUp>(a, b, grid);
    case Places::kDown:
      return SumTo<Places::kDown>(a, b, grid);
  }
  return {};
}

}  // namespace dpledger::accountant::allocation
