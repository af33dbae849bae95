#include "accountant/pld/sketch.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/vector_math.h"
#include "accountant/pld/piece.h"

namespace dpledger::accountant::pld {
namespace {

// Points a piece is sampled at, and the mass left out at its ends.
constexpr int kPoints = 160;
constexpr double kEnds = 1e-40;
// The widest mesh, in units of 1/tilt.
constexpr double kFewTilts = 4;
constexpr double kLeastTilt = 1e-4, kGreatestTilt = 1e12;

double LogBase(const DensityPiece& piece, double t) {
  return piece.constant + t * (piece.linear + t * piece.quadratic);
}

}  // namespace

void Sketch::Add(const Pair& pair, double count, double excess) {
  Step step;
  step.count = count;
  step.excess = excess;
  for (const DensityPiece& stated : pair.pieces) {
    const Piece piece(stated);
    const Piece::Span span = piece.Cover(kEnds);
    const ExponentialSum n(stated.p), d(stated.q);
    if (&stated == &pair.pieces.front()) step.origin = piece.origin();
    const double width = (span.to - span.from) / kPoints;
    if (!(width > 0) || !std::isfinite(width)) continue;
    for (int i = 0; i < kPoints; ++i) {
      const double t = span.from + width * (i + 0.5);
      const double base = LogBase(stated, t) + std::log(width);
      step.loss.push_back(piece.Above(t) + piece.origin());
      step.log_p.push_back(base + n.log_constant + n.At(t).log);
      step.log_q.push_back(base + d.log_constant + d.At(t).log);
    }
  }
  step.smooth = step.loss.size();
  for (const Atom& atom : pair.atoms) {
    if (!(atom.p > 0 && atom.q > 0)) continue;
    step.loss.push_back(std::log(atom.p / atom.q));
    step.log_p.push_back(std::log(atom.p));
    step.log_q.push_back(std::log(atom.q));
  }
  if (step.smooth < step.loss.size()) step.origin = step.loss[step.smooth];
  if (LatticeSpacing(pair) == 0 && pair.atoms.size() > 1) step.smooth = step.loss.size();
  steps_.push_back(std::move(step));
}

void Sketch::Add(const DirectedLoss& loss, double step_size, Direction direction) {
  Step step;
  step.count = loss.count;
  step.remove = direction == Direction::kRemove;
  step.add = !step.remove;
  for (size_t j = 0; j < loss.mass.size(); ++j) {
    if (!(loss.mass[j] > 0)) continue;
    const double x = loss.first_loss + step_size * static_cast<double>(j);
    step.loss.push_back(step.remove ? x : -x);
    step.log_p.push_back(std::log(loss.mass[j]));
  }
  step.log_q = step.log_p;
  step.smooth = step.loss.size();
  steps_.push_back(std::move(step));
}

double Sketch::Tilted(const Step& step, Direction direction, double s,
                      std::vector<double>& weight) {
  const bool remove = direction == Direction::kRemove;
  const std::vector<double>& log_mass = remove ? step.log_p : step.log_q;
  const size_t n =
      remove ? (step.remove ? step.loss.size() : 0) : (step.add ? step.loss.size() : 0);
  weight.resize(n);
  double greatest = -kInfinity;
  for (size_t i = 0; i < n; ++i) {
    weight[i] = log_mass[i] + (remove ? s : -s) * step.loss[i];
    greatest = std::fmax(greatest, weight[i]);
  }
  for (double& w : weight) w -= greatest;
  Exp(weight, weight);
  return greatest;
}

Sketch::Cumulants Sketch::At(Direction direction, double s) const {
  Cumulants sum;
  std::vector<double> weight;
  const double sign = direction == Direction::kRemove ? 1 : -1;
  for (const Step& step : steps_) {
    const double log_factor = Tilted(step, direction, s, weight);
    double total = 0, first = 0, second = 0;
    for (size_t i = 0; i < weight.size(); ++i) {
      const double x = step.loss[i] - step.origin;
      total += weight[i];
      first += weight[i] * x;
      second += weight[i] * x * x;
    }
    if (!(total > 0)) continue;
    const double mean = first / total;
    sum.value += step.count * (log_factor + std::log(total));
    sum.mean += step.count * sign * (mean + step.origin);
    sum.variance += step.count * std::fmax(0, second / total - mean * mean);
  }
  return sum;
}

double Sketch::Span() const {
  double span = 0;
  bool smooth = false;
  for (const Step& step : steps_) {
    if (step.loss.empty()) continue;
    const auto [least, greatest] = std::minmax_element(step.loss.begin(), step.loss.end());
    span += *greatest - *least;
    smooth |= step.smooth > 0;
  }
  return smooth ? span : 0;
}

double Sketch::Mesh(Direction direction, double tilt, double variance) const {
  std::vector<double> distance, mass, weight;
  // Points of a lattice keep their place on a mesh that the lattice is made of; alone they are
  // asked for too, in case that is finer than what the question needs.
  const bool lattice_alone =
      std::all_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.smooth == 0; });
  for (const Step& step : steps_) {
    Tilted(step, direction, tilt, weight);
    double total = 0;
    for (double w : weight) total += w;
    if (!(total > 0)) continue;
    const size_t moved = lattice_alone ? weight.size() : std::min(step.smooth, weight.size());
    for (size_t i = 0; i < moved; ++i) {
      const double share = step.excess * step.count * weight[i] / total;
      if (share < 1e-9 * variance) continue;  // even at a mesh of one
      distance.push_back(std::fabs(step.loss[i] - step.origin));
      mass.push_back(share);
    }
  }
  // (No wider than the weights e^{tilt·loss} are alike over: the law is one of second order.)
  double lo = std::log(1e-14), hi = std::fmin(0, std::log(kFewTilts / tilt));
  for (int i = 0; i < 12; ++i) {
    const double middle = (lo + hi) / 2, h = std::exp(middle);
    double added = 0;
    for (size_t k = 0; k < mass.size(); ++k)
      added += mass[k] * h * std::fmin(distance[k], 0.15 * h);
    (added < variance ? lo : hi) = middle;
  }
  return std::exp(lo);
}

Sketch::Estimate Sketch::AtTilt(Direction direction, double tilt) const {
  Estimate e;
  e.tilt = tilt;
  e.at = At(direction, tilt);
  e.epsilon = e.at.mean - 1 / tilt - 1 / (1 + tilt);
  const double curvature = e.at.variance + 1 / (tilt * tilt) + 1 / ((1 + tilt) * (1 + tilt));
  e.log_delta = e.at.value - tilt * e.epsilon - std::log(tilt) - std::log1p(tilt) -
                0.5 * std::log(6.283185307179586 * curvature);
  return e;
}

template <typename Off>
Sketch::Estimate Sketch::Search(Direction direction, const Off& off) const {
  double lo = std::log(kLeastTilt), hi = std::log(kGreatestTilt);
  Estimate e = AtTilt(direction, 10);
  for (int i = 0; i < 48 && hi - lo > 1e-3; ++i) {
    const double step = off(e), at = std::log(e.tilt);
    (step > 0 && std::isfinite(step) ? lo : hi) = at;
    double next = at + step;
    if (!(next > lo && next < hi)) next = (lo + hi) / 2;
    if (std::fabs(next - at) < 1e-3) break;
    e = AtTilt(direction, std::exp(next));
  }
  return e;
}

// log δ falls with the saddle, by about c² K'' for each unit of log c. (Where it does not, anything
// found is as good a guess.)
Sketch::Estimate Sketch::AtDelta(Direction direction, double log_delta) const {
  Estimate e = Search(direction, [&](const Estimate& at) {
    return (at.log_delta - log_delta) / (at.tilt * at.tilt * at.at.variance + 2);
  });
  e.epsilon = std::fmax(e.epsilon, 0);
  return e;
}

Sketch::Estimate Sketch::AtEpsilon(Direction direction, double epsilon) const {
  return Search(direction, [&](const Estimate& at) {
    const double c = at.tilt;
    return (epsilon - at.epsilon) / (c * at.at.variance + 1 / c + c / ((1 + c) * (1 + c)));
  });
}

}  // namespace dpledger::accountant::pld
