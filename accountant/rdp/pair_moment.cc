#include "accountant/rdp/pair_moment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log Σ e^{logs}, rounded up.
double LogSumUp(const std::vector<double>& logs) {
  if (logs.empty()) return -kInfinity;
  const double greatest = *std::max_element(logs.begin(), logs.end());
  if (std::isinf(greatest)) return greatest;
  double sum = 0;
  for (const double value : logs) sum += ExpUp(value - greatest);
  sum *= 1 + 2 * kUnitRoundoff * static_cast<double>(logs.size());
  return AddUp(greatest, LogUp(NextUp(sum)));
}

}  // namespace

double LogPairMomentUp(const Pair& pair, Direction direction, double order) {
  std::vector<double> logs;
  for (const Atom& atom : pair.atoms) {
    if (!(atom.p > 0 && atom.q > 0)) continue;
    const double up = std::log(direction == Direction::kRemove ? atom.p : atom.q),
                 down = std::log(direction == Direction::kRemove ? atom.q : atom.p);
    logs.push_back(up + (order - 1) * (up - down) +
                   8 * kUnitRoundoff *
                       (std::fabs(up) + (order - 1) * std::fabs(up - down) +
                        (order - 1) * (std::fabs(up) + std::fabs(down))));
  }
  for (const DensityPiece& piece : pair.pieces) {
    logs.push_back(LogPieceMomentUp(piece, direction, order));
  }
  const double stated = LogSumUp(logs);
  if (pair.relative_error == 0) return stated;
  // Each p is at most p̂/(1 - r), each q at least q̂(1 - r), whichever of the two r is relative to.
  const double error = -LogDown(NextDown(1 - pair.relative_error));
  return AddUp(stated, MulUp(NextUp(2 * order), error));
}

double InfiniteLoss(const Pair& pair, Direction direction) {
  double mass = 0;
  for (const Atom& atom : pair.atoms) {
    const double up = direction == Direction::kRemove ? atom.p : atom.q,
                 down = direction == Direction::kRemove ? atom.q : atom.p;
    if (down == 0 && up > 0) mass = AddUp(mass, up);
  }
  return std::fmin(1, mass == 0 ? 0 : DivUp(mass, NextDown(1 - pair.relative_error)));
}

}  // namespace dpledger::accountant::rdp
