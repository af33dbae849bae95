#include <cmath>
#include <limits>

#include "accountant/numeric/normal.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/loss_grid.h"
#include "base/status.h"

namespace dpledger::accountant::pld {

absl::StatusOr<DiscretePair> BuildUpper(double q, double mu, double step, double tail,
                                        size_t max_atoms, const Limits& limits) {
  ASSIGN_OR_RETURN(const LossGrid grid, LossGrid::Cover(q, mu, step, tail, max_atoms));
  DiscretePair pair;
  pair.first_loss = grid.Loss(grid.first());
  pair.step = step;
  pair.mass.assign(1, 0);
  double t = grid.edge() ? -std::numeric_limits<double>::infinity() : grid.T(grid.first());
  if (!grid.edge()) {
    // What lies below moves up to the first atom (remove) and to infinity (add): both at least as
    // revealing.
    pair.add_infinity = NormalTail(-t) * (1 + 1e-12);
    pair.mass[0] = (1 - q) * NormalTail(-t) + q * NormalTail(mu - t);
  }
  const double up_share = -std::expm1(-step), down_share = std::expm1(step);
  double j = grid.first();
  for (size_t cells = 0; t < grid.last_t(); ++cells, ++j) {
    if (cells % 1024 == 0) RETURN_IF_ERROR(limits.Check());
    const double next = grid.T(j + 1);
    const CellIntegrals cell = Integrate(mu, t, next);
    // Lower end: E_P[e^{x_{j+1} - L} - 1; cell]/(e^h - 1); upper end: E_P[1 - e^{x_j - L}; cell]/(1
    // - e^{-h}), which is q Φ(next - μ)/(1 - e^{-h}) in the cell at the edge.
    pair.mass.back() += grid.Excess(j + 1) * cell.from_right / down_share;
    pair.mass.push_back(
        (std::isfinite(t) ? grid.Excess(j) * cell.from_left : q * NormalTail(mu - next)) /
        up_share);
    t = next;
  }
  pair.remove_infinity = ((1 - q) * NormalTail(t) + q * NormalTail(t - mu)) * (1 + 1e-12);
  // For add, the Q-mass above t moves up to the last atom.
  pair.mass.back() += NormalTail(t) * std::exp(grid.Loss(j));
  // Shares divide by the exact h; the cell's ends are off by PointError each.
  pair.mass_error = grid.MassError() + 3 * grid.PointError(j) / step;
  pair.loss_error = grid.LossError(j);
  return pair;
}

}  // namespace dpledger::accountant::pld
