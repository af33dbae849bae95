#include "accountant/rdp/pair_moment.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::rdp {
namespace {

// log Σ e^{logs}, rounded up.
double LogSumUp(const std::vector<double>& logs) {
  const double greatest = *std::max_element(logs.begin(), logs.end());
  if (std::isinf(greatest)) return greatest;
  double sum = 0;
  for (const double value : logs) sum += ExpUp(value - greatest);
  sum *= 1 + 2 * kUnitRoundoff * static_cast<double>(logs.size());
  return AddUp(greatest, LogUp(NextUp(sum)));
}

}  // namespace

PairMoments::PairMoments(Pair pair) : pair_(std::move(pair)) {
  for (const Atom& atom : pair_.atoms) {
    if (!(atom.p > 0 && atom.q > 0)) continue;
    log_p_.push_back(std::log(atom.p));
    log_q_.push_back(std::log(atom.q));
  }
}

double PairMoments::LogAtomsUp(Direction direction, double order) {
  const size_t count = log_p_.size();
  if (count == 0) return -kInfinity;
  const std::vector<double>&up = direction == Direction::kRemove ? log_p_ : log_q_,
        &down = direction == Direction::kRemove ? log_q_ : log_p_;
  scratch_.resize(count);
  double greatest = -kInfinity;
  for (size_t i = 0; i < count; ++i) {
    const double loss = up[i] - down[i];
    // Both logarithms carry two roundings, the exponent two more.
    const double size = std::fabs(up[i]) + (order - 1) * (std::fabs(up[i]) + std::fabs(down[i]));
    scratch_[i] = up[i] + (order - 1) * loss + 8 * kUnitRoundoff * size;
    greatest = std::max(greatest, scratch_[i]);
  }
  for (double& value : scratch_) value -= greatest;
  Exp(scratch_, scratch_);
  double sum = 0;
  for (const double value : scratch_) sum += value;
  sum *= 1 + (8 + static_cast<double>(count)) * kUnitRoundoff;
  return AddUp(greatest + 4 * kUnitRoundoff * std::fabs(greatest),
               dpledger::accountant::LogUp(sum));
}

double PairMoments::LogMomentUp(Direction direction, double order) {
  std::vector<double> logs = {LogAtomsUp(direction, order)};
  double matters = logs.front();
  const auto add = [&](size_t piece) {
    logs.push_back(LogPieceMomentUp(pair_.pieces[piece], direction, order, matters));
    if (logs.back() > matters) {
      matters = logs.back();
      greatest_ = piece;
    }
  };
  // Orders are asked for one near the other: what mattered most goes first, the rest outwards from
  // it, as pieces made one after the other are much alike.
  const size_t first = greatest_, count = pair_.pieces.size();
  for (size_t piece = first; piece < count; ++piece) add(piece);
  for (size_t piece = std::min(first, count); piece-- > 0;) add(piece);
  double moment = LogSumUp(logs);
  if (pair_.relative_error > 0) {
    // Each p is at most p̂/(1 - r), each q at least q̂(1 - r), whichever of the two r is relative to.
    const double error = -LogDown(NextDown(1 - pair_.relative_error));
    moment = AddUp(moment, MulUp(NextUp(2 * order), error));
  }
  return moment;
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
