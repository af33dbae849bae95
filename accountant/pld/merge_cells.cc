// The lower bound's discretisation. Cells are the intervals between the midpoints of the grid. A
// cell's own ratio of P-mass to Q-mass misses its grid point by O(h²); it is brought there by
// taking over, at the toss of a coin, a share θ = O(h) of a neighbour's outcomes. Any such
// redistribution is a post-processing of the step, so it is valid whatever θ is; only the gap
// depends on it. (Cells chosen one after the other so that each merges exactly to its grid point
// need no coin, but their widths oscillate, and the oscillation grows where the density falls.)
#include <cmath>
#include <vector>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/loss_grid.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

struct Cell {
  double p_mass;
  double q_mass;
  double excess;     // P-mass minus e^{x_j} times Q-mass
  double kept = 1;   // the share of its outcomes that is not yet another atom's
  double taken = 0;  // Q-mass taken from neighbours
  bool dropped = false;

  // The same as `excess`, against another grid point.
  double ExcessOver(double loss) const { return p_mass - std::exp(loss) * q_mass; }
};

// The first cell at the edge is (-infinity, end] with its merged loss v half a step below the loss
// at its end; the grid is laid so that v is its first point. With E = e^{ℓ(end)} - (1-q) and V = q
// Φ(end - μ)/Φ(end) = E·R(μ - end)/R(-end) (R the Mills ratio), the two losses are log(1-q+E) and
// log(1-q+V).
struct FirstCell {
  double end;
  double loss_above_edge;  // v - log(1 - q)
};
FirstCell MergeFromEdge(const LossGrid& grid) {
  const auto merged_excess = [&](double end) {
    return grid.ExcessAt(end) * MillsRatio(grid.mu() - end) / MillsRatio(-end);
  };
  const auto too_low = [&](double end) {
    const double merged = merged_excess(end);
    return std::expm1(grid.h() / 2) - (grid.ExcessAt(end) - merged) / (grid.OneMinusQ() + merged);
  };
  const double end = BracketDecreasing(too_low, -35, 35, 1e-13).second;
  return {end, std::log1p(merged_excess(end) / grid.OneMinusQ())};
}

// Cell `j` lacks loss (excess < 0) and takes from the cells j + direction, ... up to `end`, or has
// too much (excess > 0) and takes from those below. Dropped if they do not suffice.
void Balance(std::vector<Cell>& cells, const std::vector<double>& losses, size_t j, int direction,
             size_t end) {
  Cell& cell = cells[j];
  double need = -cell.kept * cell.excess * direction;
  for (size_t k = j + static_cast<size_t>(direction); need > 0;
       k += static_cast<size_t>(direction)) {
    if (k == end) {
      cell.dropped = true;
      return;
    }
    const double offer = cells[k].ExcessOver(losses[j]) * direction;
    if (!(offer > 0)) continue;
    const bool enough = need <= cells[k].kept * offer;
    const double share = enough ? need / offer : cells[k].kept;
    cells[k].kept -= share;
    cell.taken += share * cells[k].q_mass;
    need = enough ? 0 : need - share * offer;
  }
}

// Between a run that takes from above and one that takes from below, the two cells exchange shares:
// share a of the upper goes to the lower and b of the lower to the upper, solving both balances at
// once.
void Exchange(Cell& lower, Cell& upper, double lower_loss, double upper_loss) {
  const double d11 = lower.kept * lower.excess, d12 = upper.kept * upper.ExcessOver(lower_loss);
  const double d21 = lower.kept * lower.ExcessOver(upper_loss), d22 = upper.kept * upper.excess;
  // (1 - b) d11 + a d12 = 0 and b d21 + (1 - a) d22 = 0.
  const double determinant = d11 * d22 - d12 * d21;
  const double a = d11 * (d21 + d22) / determinant, b = d22 * (d11 + d12) / determinant;
  if (!(a >= 0 && a <= 1 && b >= 0 && b <= 1)) {
    lower.dropped = upper.dropped = true;
    return;
  }
  lower.taken += a * upper.kept * upper.q_mass;
  upper.taken += b * lower.kept * lower.q_mass;
  lower.kept *= 1 - b;
  upper.kept *= 1 - a;
}

}  // namespace

absl::StatusOr<DiscretePair> BuildLower(double q, double mu, double step, double tail,
                                        size_t max_atoms, const Limits& limits) {
  ASSIGN_OR_RETURN(LossGrid grid, LossGrid::Cover(q, mu, step, tail, max_atoms));
  std::vector<Cell> cells;
  std::vector<double> losses;
  double j = grid.first(), t;
  if (grid.edge()) {
    const FirstCell first = MergeFromEdge(grid);
    grid.set_offset(first.loss_above_edge);
    const double q_mass = NormalTail(-first.end);
    cells.push_back({std::exp(grid.Loss(j)) * q_mass, q_mass, 0});
    losses.push_back(grid.Loss(j));
    ++j;
    t = first.end;
  } else {
    t = grid.T(j - 0.5);
  }
  for (; t < grid.last_t(); ++j) {
    if (cells.size() % 1024 == 0) RETURN_IF_ERROR(limits.Check());
    const double middle = grid.T(j), end = grid.T(j + 0.5);
    const CellIntegrals below = Integrate(mu, t, middle), above = Integrate(mu, middle, end);
    const double q_mass = below.q_mass + above.q_mass;
    const double excess = grid.Excess(j) * (above.from_left - below.from_right);
    cells.push_back({std::exp(grid.Loss(j)) * q_mass + excess, q_mass, excess});
    losses.push_back(grid.Loss(j));
    t = end;
  }

  // Runs of one sign: those that lack loss are served upwards, those with too much downwards, each
  // within itself; where a lacking run meets one with too much above it, the two cells at the
  // border exchange.
  const size_t n = cells.size();
  for (size_t begin = 0; begin < n;) {
    size_t end = begin + 1;
    const bool lacks = cells[begin].excess < 0;
    while (end < n && (cells[end].excess < 0) == lacks) ++end;
    if (lacks) {
      // The last of the run is left for the exchange with the next run (or dropped in the far
      // tail).
      for (size_t k = begin; k + 1 < end; ++k) Balance(cells, losses, k, +1, end);
      if (end == n) cells[n - 1].dropped = true;
    } else {
      for (size_t k = end; k-- > begin + 1;) Balance(cells, losses, k, -1, begin - 1);
      if (begin > 0) {
        Exchange(cells[begin - 1], cells[begin], losses[begin - 1], losses[begin]);
      } else if (cells[0].excess > 0) {
        cells[0].dropped = true;
      }
    }
    begin = end;
  }

  DiscretePair pair;
  pair.first_loss = losses.empty() ? 0 : losses[0];
  pair.step = step;
  for (size_t k = 0; k < n; ++k) {
    const Cell& cell = cells[k];
    pair.mass.push_back(
        cell.dropped ? 0 : std::exp(losses[k]) * (cell.kept * cell.q_mass + cell.taken));
  }
  if (pair.mass.empty()) pair.mass.assign(1, 0);
  // A balance is solved to a few u of the masses in it, each of which carries the integrals' own
  // error.
  pair.mass_error = 2 * grid.MassError();
  pair.loss_error = 2 * grid.LossError(j) + 16 * kNormalTailError;
  return pair;
}

}  // namespace dpledger::accountant::pld
