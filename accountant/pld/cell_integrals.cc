// The integrals of a piece's densities over cells of its loss.
#include <algorithm>
#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"
#include "accountant/pld/piece.h"

namespace dpledger::accountant::pld {
namespace {

// A cell that reaches to infinity leaves out the part where the integrand is below e^-kNegligible
// of its greatest: below 1e-20 of the cell.
constexpr double kNegligible = 55;
// The same for a cell with two ends, where a mass that vanishes at an end is compared with one that
// does not: a cell beside a finite edge of the loss may reach thousands of standard deviations into
// nothing.
constexpr double kNegligibleInside = 75;

// Gauss-Legendre on [-1, 1] (Abramowitz and Stegun, table 25.4). A panel of width w with
// w·Roughness <= kNarrow is integrated by three points, up to kPanel by five: then the remainders
// (3!)^4 w^7 f^(6)/(7·(6!)^3) and (5!)^4 w^11 f^(10)/(11·(10!)^3) are below 1e-15 of the panel,
// also for integrands that vanish at a cell's end.
constexpr double kNarrow = 0.01, kPanel = 0.3;
constexpr double kNodes3[] = {-0.77459666924148337704, 0, 0.77459666924148337704};
constexpr double kWeights3[] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
constexpr double kNodes5[] = {-0.90617984593866399280, -0.53846931010568309104, 0,
                              0.53846931010568309104, 0.90617984593866399280};
constexpr double kWeights5[] = {0.23692688505618908751, 0.47862867049936646804,
                                0.56888888888888888889, 0.47862867049936646804,
                                0.23692688505618908751};

// Points of quadrature, gathered so that the elementary functions run over whole arrays.
struct Quadrature {
  std::vector<double> t, weight;      // weight without the base
  std::vector<double> after, before;  // distances from the cell's ends, without cancellation
  std::vector<size_t> cell;
  size_t size = 0;

  void Add(double from, double to, double start, double end, size_t index, bool narrow) {
    const double half = (to - from) / 2, middle = from + half;
    const size_t n = narrow ? 3 : 5;
    if (size + n > t.size()) {
      const size_t room = 2 * (size + n);
      for (std::vector<double>* array : {&t, &weight, &after, &before}) array->resize(room);
      cell.resize(room);
    }
    for (size_t k = 0; k < n; ++k, ++size) {
      const double node = narrow ? kNodes3[k] : kNodes5[k];
      t[size] = middle + half * node;
      weight[size] = half * (narrow ? kWeights3[k] : kWeights5[k]);
      after[size] = (from - start) + half * (1 + node);
      before[size] = (end - to) + half * (1 - node);
      cell[size] = index;
    }
  }
};

}  // namespace

double Piece::Roughness(double t) const {
  return std::fabs(linear_ + 2 * quadratic_ * t) + 4 * std::sqrt(-2 * quadratic_) + greatest_rate_;
}

double Piece::RoundingError(double t) const {
  double size =
      64 + std::fabs(constant_) + 2 * std::fabs(linear_ * t) + 2 * std::fabs(quadratic_ * t * t);
  double greatest = 0;
  const auto grow = [&](const ExponentialSum& sum) {
    for (size_t k = 0; k < sum.rates.size(); ++k) {
      greatest =
          std::max(greatest, std::fabs(sum.log_coefficients[k]) + 2 * std::fabs(sum.rates[k] * t));
    }
  };
  grow(n_);
  grow(d_);
  return kUnitRoundoff * (size + 2 * greatest);
}

std::vector<CellIntegrals> Piece::Integrate(const std::vector<Cell>& cells) const {
  std::vector<CellIntegrals> result(cells.size());
  const size_t terms_n = n_.rates.size(), terms_d = d_.rates.size();
  const double peak = quadratic_ < 0 ? -linear_ / (2 * quadratic_) : 0;
  const double s = quadratic_ < 0 ? 1 / std::sqrt(-2 * quadratic_) : 0;

  // A cell's constants. N(t) - y0 D(t) at t, with a = cell.from and y_a = N(a)/D(a) >= y0:
  //   Σ n_k(a) expm1(b_k (t - a)) + y_a Σ d_k(a) (-expm1(c_k (t - a))) + (y_a - y0) D(t),
  // and mirrored for the other end.
  struct Ends {
    double start, end;  // where the terms are taken
    double y0, y1, y_from, y_to;
    double gap_from, gap_to;
    bool infinite_from, infinite_to;
  };
  constexpr size_t kBlock = 128;
  std::vector<Ends> ends(kBlock);
  Quadrature points;
  std::vector<double> base, term, work_from, work_to, d_at, over, under;
  for (size_t begin = 0; begin < cells.size(); begin += kBlock) {
    const size_t block = std::min(kBlock, cells.size() - begin);
    points.size = 0;
    bool infinite = false;
    for (size_t i = 0; i < block; ++i) {
      const Cell& cell = cells[begin + i];
      Ends& e = ends[i];
      e.infinite_from = std::isinf(cell.from);
      e.infinite_to = std::isinf(cell.to);
      e.start = cell.from;
      e.end = cell.to;
      if (e.infinite_from) {
        const double off = std::fmin(0, cell.to - peak);
        e.start = std::fmin(peak, cell.to) -
                  (std::sqrt(off * off + 2 * s * s * kNegligible) - std::fabs(off));
      }
      if (e.infinite_to) {
        const double off = std::fmax(0, cell.from - peak);
        e.end = std::fmax(peak, cell.from) + (std::sqrt(off * off + 2 * s * s * kNegligible) - off);
      }
      e.y0 = e.y1 = 0;  // only needed for terms of D and for ends inside the cell
      if (terms_d > 0 || cell.begins_inside) e.y0 = std::exp(origin_ + cell.lower);
      if (terms_d > 0 || cell.ends_inside) e.y1 = std::exp(origin_ + cell.upper);
      infinite |= e.infinite_from || e.infinite_to;
      e.gap_from = e.gap_to = 0;
      e.y_from = e.y0;
      e.y_to = e.y1;
      if (cell.begins_inside) {
        const double above = Above(cell.from);
        e.gap_from = std::fmax(0, e.y0 * std::expm1(above - cell.lower));
        e.y_from = std::exp(origin_ + above);
      }
      if (cell.ends_inside) {
        const double above = Above(cell.to);
        e.gap_to = std::fmax(0, -e.y1 * std::expm1(above - cell.upper));
        e.y_to = std::exp(origin_ + above);
      }
      double t = e.start, to = e.end;
      if (quadratic_ < 0) {
        // A term e^{rate·t} of the densities moves the peak by rate·s².
        const double nearest = std::fmin(std::fmax(peak, e.start), e.end);
        const double low = peak - greatest_rate_ * s * s, high = peak + greatest_rate_ * s * s;
        const double reach = s * std::sqrt(2 * kNegligibleInside);
        t = std::fmax(t, low - std::hypot(nearest - low, reach));
        to = std::fmin(to, high + std::hypot(nearest - high, reach));
      }
      size_t panels = 0;
      const double rough = std::fmax(Roughness(e.start), Roughness(e.end));
      if ((e.end - e.start) * rough <= kNarrow) {
        points.Add(e.start, e.end, e.start, e.end, i, true);
        panels = 1;
      } else {
        while (t < to) {
          const double guess = std::fmin(t + kPanel / Roughness(t), to);
          const double width = kPanel / std::fmax(Roughness(t), Roughness(guess));
          // So far from the peak that a panel is less than a rounding there is no density left.
          const double next = t + width >= to ? to : std::fmax(t + width, NextUp(t));
          points.Add(t, next, e.start, e.end, i, false);
          ++panels;
          t = next;
        }
      }
      result[begin + i].error = RoundingError(std::fmax(std::fabs(e.start), std::fabs(e.end))) +
                                16 * kUnitRoundoff * static_cast<double>(panels + 2);
    }
    const size_t n = points.size;
    base.resize(n);
    over.assign(n, 0);
    under.assign(n, 0);
    d_at.assign(n, d_.has_constant ? std::exp(d_.log_constant) : 0);
    work_from.resize(n);
    work_to.resize(n);
    for (size_t i = 0; i < n; ++i) base[i] = LogBase(points.t[i]);
    Exp(base, base);
    const double lowest = ends[0].start, highest = ends[block - 1].end;
    const size_t main_n = n_.Greatest((lowest + highest) / 2),
                 main_d = d_.Greatest((lowest + highest) / 2);
    for (size_t k = 0; k < terms_n + terms_d; ++k) {
      const bool of_n = k < terms_n;
      const ExponentialSum& sum = of_n ? n_ : d_;
      const size_t term_of_sum = of_n ? k : k - terms_n;
      if (sum.IsFaint(term_of_sum, of_n ? main_n : main_d, lowest, highest)) continue;
      const double log_coefficient = sum.log_coefficients[term_of_sum];
      const double rate = sum.rates[term_of_sum];
      const bool whole = !of_n || infinite;  // the term itself is needed
      for (size_t i = 0; i < n; ++i) {
        work_from[i] = rate * points.after[i];
        work_to[i] = -rate * points.before[i];
      }
      if (whole) {
        term.resize(n);
        for (size_t i = 0; i < n; ++i) term[i] = log_coefficient + rate * points.t[i];
        Exp(term, term);
      }
      ExpM1(work_from, work_from);
      ExpM1(work_to, work_to);
      double at_start = 0, at_end = 0, end = std::numeric_limits<double>::quiet_NaN();
      size_t last = kBlock;
      for (size_t i = 0; i < n; ++i) {
        const size_t cell = points.cell[i];
        const Ends& e = ends[cell];
        if (cell != last) {
          at_start = e.start == end ? at_end : std::exp(log_coefficient + rate * e.start);
          end = e.end;
          at_end = std::exp(log_coefficient + rate * end);
          last = cell;
        }
        if (of_n) {
          over[i] += e.infinite_from ? term[i] : at_start * work_from[i];
          under[i] += e.infinite_to ? 0 : -at_end * work_to[i];
        } else {
          over[i] += e.infinite_from ? 0 : -e.y_from * at_start * work_from[i];
          under[i] += e.infinite_to ? e.y_to * term[i] : e.y_to * at_end * work_to[i];
          d_at[i] += term[i];
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const Ends& e = ends[points.cell[i]];
      CellIntegrals& sum = result[begin + points.cell[i]];
      const double weight = points.weight[i] * base[i];
      const double gained = over[i] + e.gap_from * d_at[i], lacking = under[i] + e.gap_to * d_at[i];
      sum.over_lower += weight * gained;
      sum.under_upper += weight * lacking;
      const double at = gained / (gained + lacking), rest = lacking / (gained + lacking);
      sum.near_lower += weight * gained * (rest * rest * (1 + 2 * at));
      sum.near_upper += weight * lacking * (at * at * (1 + 2 * rest));
    }
  }
  return result;
}

}  // namespace dpledger::accountant::pld
