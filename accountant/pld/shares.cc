#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/piece.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// A few roundings of positive terms.
constexpr double kFewRoundings = 16 * kUnitRoundoff;
// Exponents beyond have no digits of their exponentials left.
constexpr double kGreatestExponent = 1e12;
// Panels of quadrature of one piece: a second's work.
constexpr double kGreatestPanels = 4e6;
// Far above what tails and rounding take from a law's mass.
constexpr double kLostMass = 1e-6;
// Smaller masses may have lost digits.
constexpr double kFaintMass = 1e-290;
// e^{loss} and e^{-loss} stay normal doubles.
constexpr double kGreatestLoss = 660;

absl::Status TooLarge(absl::string_view what) {
  return WithReason(absl::ResourceExhaustedError(what), {"QUERY_TOO_LARGE", {}});
}

double LossOf(const Atom& atom) {
  const double ratio = atom.p / atom.q;
  // log1p of the exact difference where the two are close.
  return ratio > 0.5 && ratio < 2 ? std::log1p((atom.p - atom.q) / atom.q) : std::log(ratio);
}

double LossError(double loss) { return 4 * kUnitRoundoff * (1 + std::fabs(loss)); }
// An atom this near a grid point is taken to be at it, and what it is off counts as loss error.
double OnPoint(double loss, double relative_error) {
  return 8 * LossError(loss) + 4 * relative_error;
}

struct PieceOnGrid {
  Piece piece;
  Piece::Span span;
};

// A loss to lay the grid on. A mesh may be far wider than the losses of most outcomes, which then
// have to be near a grid point: that of all outcomes around the piece's origin, merged.
double BulkLoss(const PieceOnGrid& on, double step) {
  const Piece& piece = on.piece;
  const double lowest = piece.Above(on.span.from), highest = piece.Above(on.span.to);
  const double lower = lowest == 0 ? 0 : -2 * step, upper = highest == 0 ? 0 : 2 * step;
  if (piece.OneLoss()) return lowest + piece.origin();
  if (!piece.relative() || !(lowest < upper && highest > lower)) return piece.origin();
  const bool begins_inside = lowest >= lower, ends_inside = highest <= upper;
  const double from = begins_inside ? on.span.from : piece.At(lower, on.span.from, on.span.to);
  const double to = ends_inside ? on.span.to : piece.At(upper, from, on.span.to);
  if (!(from < to)) return piece.origin();
  const CellIntegrals sum =
      piece.Integrate({{from, to, lower, upper, begins_inside, ends_inside}})[0];
  // ∫ base D = (over_lower + under_upper)/(y1 - y0)
  const double mean = lower + std::log1p(std::expm1(upper - lower) * sum.over_lower /
                                         (sum.over_lower + sum.under_upper));
  return piece.origin() + (std::isfinite(mean) ? mean : 0);
}

}  // namespace

double LatticeSpacing(const Pair& pair) {
  std::vector<double> losses;
  for (const Atom& atom : pair.atoms)
    if (atom.p > 0 && atom.q > 0) losses.push_back(LossOf(atom));
  std::sort(losses.begin(), losses.end());
  double spacing = 0;
  for (size_t i = 1; i < losses.size(); ++i) {
    const double gap = losses[i] - losses[i - 1];
    if (gap > 1e-9 && (spacing == 0 || gap < spacing)) spacing = gap;
  }
  if (spacing == 0) return 0;
  // Of all the range, not of two neighbours, each with its rounding.
  const double range = losses.back() - losses.front();
  spacing = range / std::round(range / spacing);
  for (const double loss : losses) {
    const double steps = (loss - losses[0]) / spacing;
    if (std::fabs(steps - std::round(steps)) * spacing >
        OnPoint(losses[0], pair.relative_error) + OnPoint(loss, pair.relative_error)) {
      return 0;
    }
  }
  return spacing;
}

absl::StatusOr<Shares> Shares::OnGrid(double origin, double lowest, double highest, double step,
                                      size_t max_atoms) {
  Shares shares;
  shares.step_ = step;
  if (!(highest <= kGreatestLoss && lowest >= -kGreatestLoss))
    return TooLarge("one step's privacy loss is too large for the loss grid");
  const double points = (highest - lowest) / step;
  if (!(points < static_cast<double>(max_atoms))) {
    return TooLarge(absl::StrCat("the loss grid would need ", std::ceil(points),
                                 " points, more than ", max_atoms));
  }
  // One point to spare on both sides: what is at the ends may round either way.
  const double first = std::floor((lowest - origin) / step - 1e-9);
  const double last = std::ceil((highest - origin) / step + 1e-9);
  const size_t n = static_cast<size_t>(last - first) + 1;
  shares.first_loss_ = origin + first * step;
  shares.exact_.assign(n, 0);
  shares.low_.assign(n, 0);
  shares.high_.assign(n, 0);
  shares.lower_left_.assign(n, 0);
  shares.lower_right_.assign(n, 0);
  shares.error_.assign(n, 0);
  shares.loss_error_ = 2 * kUnitRoundoff * (std::fabs(origin) + std::fabs(shares.first_loss_));
  return shares;
}

absl::StatusOr<Shares> Shares::Of(const Pair& pair, double step, double tail, size_t max_atoms,
                                  const Limits& limits) {
  for (const DensityPiece& piece : pair.pieces) {
    for (const ExponentialTerm& term : piece.p) {
      if (!(std::fabs(term.log_coefficient) < kGreatestExponent))
        return TooLarge("one step's masses are lost in rounding");
    }
  }
  // 1. The place and the reach of the grid.
  double remove_infinity = 0, add_infinity = 0, uncovered_p = 0, uncovered_q = 0;
  std::vector<Atom> atoms;
  for (const Atom& atom : pair.atoms) {
    if (atom.q == 0) remove_infinity += atom.p;
    if (atom.p == 0) add_infinity += atom.q;
    if (atom.p > 0 && atom.q > 0) atoms.push_back(atom);
  }
  std::vector<PieceOnGrid> pieces;
  for (const DensityPiece& stated : pair.pieces) {
    Piece piece(stated);
    Piece::Span span = piece.Cover(tail);
    // If the loss has a finite edge, the last few cells before it cost nothing.
    const double few = piece.OneLoss() ? std::numeric_limits<double>::infinity() : 64 * step;
    if (!span.whole_below && piece.Above(span.from) - piece.Above(stated.from) <= few) {
      span.from = stated.from;
      span.whole_below = true;
    }
    if (!span.whole_above && piece.Above(stated.to) - piece.Above(span.to) <= few) {
      span.to = stated.to;
      span.whole_above = true;
    }
    if (!(span.from < span.to)) {  // all of it beyond what a grid can hold
      // (Infinity has no square.)
      const double low = std::fmax(stated.from, -1e100), high = std::fmin(stated.to, 1e100);
      uncovered_p += std::fmin(piece.PAbove(low), piece.PBelow(high));
      uncovered_q += std::fmin(piece.QAbove(low), piece.QBelow(high));
      continue;
    }
    if (piece.Panels(span) > kGreatestPanels)
      return TooLarge("one step's privacy loss changes too fast for the loss grid");
    pieces.push_back({std::move(piece), span});
  }
  double origin = 0;
  if (!atoms.empty()) {
    const auto greatest =
        std::max_element(atoms.begin(), atoms.end(),
                         [](const Atom& a, const Atom& b) { return a.p + a.q < b.p + b.q; });
    origin = LossOf(*greatest);
  } else if (!pieces.empty()) {
    origin = BulkLoss(pieces.front(), step);
  }
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  const auto reach = [&](double loss) {
    lowest = std::fmin(lowest, loss);
    highest = std::fmax(highest, loss);
  };
  for (const Atom& atom : atoms) reach(LossOf(atom));
  for (const PieceOnGrid& on : pieces) {
    reach(on.piece.Above(on.span.from) + on.piece.origin());
    reach(on.piece.Above(on.span.to) + on.piece.origin());
  }
  if (!(lowest <= highest)) {  // nothing finite
    lowest = highest = origin = 0;
  }
  ASSIGN_OR_RETURN(Shares shares, OnGrid(origin, lowest, highest, step, max_atoms));
  shares.mass_error_ = pair.relative_error;
  shares.loss_error_ += 2 * pair.relative_error;
  shares.remove_infinity_ = remove_infinity;
  shares.add_infinity_ = add_infinity;
  shares.uncovered_p_ = uncovered_p;
  shares.uncovered_q_ = uncovered_q;
  const size_t n = shares.exact_.size();
  const double first = std::round((shares.first_loss_ - origin) / step);

  // 2. Atoms.
  for (const Atom& atom : atoms) shares.AddAtom(atom.p, LossOf(atom));

  // 3. Pieces.
  const double up_share = -std::expm1(-step), down_share = std::expm1(step);
  for (const PieceOnGrid& on : pieces) {
    RETURN_IF_ERROR(limits.Check());
    const Piece& piece = on.piece;
    const Piece::Span& span = on.span;
    // Losses above the piece's origin: points at start + j·step, start exactly 0 where the grid is
    // laid on it.
    const double start = (origin - piece.origin()) + first * step;
    const double above_from = piece.Above(span.from), above_to = piece.Above(span.to);
    if (piece.OneLoss()) {
      const double mass = piece.Integrate({{span.from, span.to, -1, 0, true, true}})[0].over_lower;
      // ∫ base (N - e^{-1} D) with N = D e^{origin}
      shares.AddAtom(mass / -std::expm1(-1.0), piece.origin());
      continue;
    }
    // An end within kSame of a step of a grid point is taken to be at it.
    constexpr double kSame = 1e-9;
    size_t from =
        static_cast<size_t>(std::fmax(0, std::floor((above_from - start) / step + kSame)));
    size_t to = static_cast<size_t>(std::fmax(0, std::ceil((above_to - start) / step - kSame)));
    for (const double end : {above_from, above_to}) {
      const double off = std::fabs(end - start - std::round((end - start) / step) * step);
      if (off <= kSame * step) shares.loss_error_ = std::fmax(shares.loss_error_, off);
    }
    to = std::min(std::max(to, from + 1), n - 1);
    if (from >= to) from = to - 1;
    const Piece::Points inner = piece.AtPoints(start + static_cast<double>(from + 1) * step, step,
                                               to - from - 1, span.from, span.to);
    std::vector<Cell> cells(to - from);
    for (size_t j = from; j < to; ++j) {
      Cell& cell = cells[j - from];
      cell.begins_inside = j == from;
      cell.ends_inside = j + 1 == to;
      cell.lower = start + static_cast<double>(j) * step;
      cell.upper = start + static_cast<double>(j + 1) * step;
      cell.from = cell.begins_inside ? span.from : inner.t[j - from - 1];
      cell.to = cell.ends_inside ? span.to : std::fmax(cell.from, inner.t[j - from]);
    }
    const std::vector<CellIntegrals> integrals = piece.Integrate(cells);
    for (size_t j = from; j < to; ++j) {
      const CellIntegrals& sum = integrals[j - from];
      shares.low_[j] += sum.under_upper / down_share;
      shares.high_[j] += sum.over_lower / up_share;
      shares.lower_left_[j] += sum.near_lower;
      shares.lower_right_[j] += sum.near_upper;
      // Errors of ends inside a cell count as losses: they move no grid point.
      double off = 0;
      if (j > from) off = inner.error[j - from - 1];
      if (j + 1 < to) off = std::fmax(off, inner.error[j - from]);
      shares.error_[j] = std::fmax(shares.error_[j], sum.error + 3 * off / step);
      shares.loss_error_ = std::fmax(shares.loss_error_, off);
    }
    if (!span.whole_below) {
      const double q_below = piece.QBelow(span.from), p_below = piece.PBelow(span.from);
      shares.cut_.push_back({from + 1, p_below});
      shares.add_cut_ += q_below;
    }
    if (!span.whole_above) {
      const double p_above = piece.PAbove(span.to);
      shares.cut_.push_back({to - 1, p_above});
      shares.remove_cut_ += p_above;
    }
  }
  if (!shares.CheckMass()) return TooLarge("one step's mass is not kept by the loss grid");
  return shares;
}

absl::StatusOr<Shares> Shares::Of(const allocation::RatioLaw& law, double step, size_t max_atoms) {
  double lowest = 0, highest = 0, greatest = 0, origin = 0;
  std::vector<double> losses(law.q.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    losses[i] = std::log(law.ratio[i]);
    lowest = std::fmin(lowest, losses[i]);
    highest = std::fmax(highest, losses[i]);
    if (law.q[i] * (1 + law.ratio[i]) > greatest) {
      greatest = law.q[i] * (1 + law.ratio[i]);
      origin = losses[i];
    }
  }
  ASSIGN_OR_RETURN(Shares shares, OnGrid(origin, lowest, highest, step, max_atoms));
  shares.remove_cut_ = law.p_cut;
  shares.add_cut_ = law.q_cut;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double p = law.q[i] * law.ratio[i];
    if (p >= kFaintMass && law.q[i] >= kFaintMass) {
      shares.AddAtom(p, losses[i]);
    } else {
      shares.remove_cut_ += p + kFaintMass;
      shares.add_cut_ += law.q[i] + kFaintMass;
    }
  }
  shares.loss_error_ += law.loss_error;
  return shares;
}

// Both laws still have mass one: what a fault in a cell would break first.
bool Shares::CheckMass() const {
  double p = remove_infinity_ + uncovered_p_, q = add_infinity_ + add_cut_ + uncovered_q_;
  for (size_t j = 0; j < exact_.size(); ++j) {
    const double loss = first_loss_ + static_cast<double>(j) * step_;
    p += exact_[j] + low_[j] + high_[j];
    q += (exact_[j] + low_[j]) * std::exp(-loss) + high_[j] * std::exp(-loss - step_);
  }
  for (const Cut& cut : cut_) p += cut.mass;
  return std::fabs(p - 1) <= kLostMass && std::fabs(q - 1) <= kLostMass;
}

void Shares::AddAtom(double p, double loss) {
  const double at = (loss - first_loss_) / step_;
  const double nearest = std::round(at);
  const double off = std::fabs(loss - (first_loss_ + nearest * step_));
  if (off <= 1e-12 * step_ + 2 * OnPoint(loss, mass_error_) + 2 * LossError(first_loss_)) {
    exact_[static_cast<size_t>(nearest)] += p;
    loss_error_ = std::fmax(loss_error_, off + LossError(loss));
    return;
  }
  const size_t j = static_cast<size_t>(at);
  const double over = loss - (first_loss_ + static_cast<double>(j) * step_);
  const double under = step_ - over;
  // over_lower = p (1 - e^{-over}), under_upper = p (e^{under} - 1)
  const double gained = -p * std::expm1(-over), lacking = p * std::expm1(under);
  low_[j] += lacking / std::expm1(step_);
  high_[j] += gained / -std::expm1(-step_);
  const double near = lacking / (gained + lacking), far = gained / (gained + lacking);
  lower_left_[j] += gained * near * near * (1 + 2 * far);
  lower_right_[j] += lacking * far * far * (1 + 2 * near);
  error_[j] = std::fmax(error_[j], kFewRoundings);
  loss_error_ = std::fmax(loss_error_, LossError(loss) + 2 * LossError(first_loss_));
}

DiscretePair Shares::Upper() const {
  DiscretePair pair;
  pair.first_loss = first_loss_;
  pair.step = step_;
  pair.loss_error = loss_error_;
  const size_t n = exact_.size();
  pair.mass = exact_;
  for (size_t j = 0; j < n; ++j) {
    const double up = 1 + error_[j] + kFewRoundings;
    pair.mass[j] += low_[j] * up;
    if (j + 1 < n) pair.mass[j + 1] += high_[j] * up;
  }
  for (const Cut& cut : cut_) pair.mass[cut.node] += cut.mass;
  for (double& mass : pair.mass) mass *= 1 + mass_error_ + kFewRoundings;
  const double up = 1 + mass_error_;
  pair.remove_infinity =
      (remove_infinity_ * up + uncovered_p_ * up + remove_cut_) * (1 + kFewRoundings);
  pair.add_infinity = (add_infinity_ * up + uncovered_q_ * up + add_cut_) * (1 + kFewRoundings);
  return pair;
}

}  // namespace dpledger::accountant::pld
