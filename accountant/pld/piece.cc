#include "accountant/pld/piece.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Losses beyond have exponentials that leave the range of doubles; densities below e^-kFaintest of
// their peak are not worth following.
constexpr double kGreatestLoss = 650, kFaintest = 690;
// What lies where the integrand is below e^-kNegligible of its greatest is left out of a cell that
// reaches to infinity: below 1e-20 of it.
constexpr double kNegligible = 55;

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
struct Points {
  std::vector<double> t, weight;      // weight without the base
  std::vector<double> after, before;  // distances from the cell's ends, without cancellation
  std::vector<size_t> cell;
  void Add(double from, double to, double start, double end, size_t index, bool narrow) {
    const double half = (to - from) / 2, middle = from + half;
    const int n = narrow ? 3 : 5;
    for (int k = 0; k < n; ++k) {
      const double node = narrow ? kNodes3[k] : kNodes5[k];
      t.push_back(middle + half * node);
      weight.push_back(half * (narrow ? kWeights3[k] : kWeights5[k]));
      after.push_back((from - start) + half * (1 + node));
      before.push_back((end - to) + half * (1 - node));
      cell.push_back(index);
    }
  }
  void Clear() {
    t.clear();
    weight.clear();
    after.clear();
    before.clear();
    cell.clear();
  }
};

}  // namespace

ExponentialSum::ExponentialSum(const std::vector<ExponentialTerm>& terms) {
  const auto sum = [](double a, double b) {
    return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  };
  for (const ExponentialTerm& term : terms) {
    if (term.log_coefficient == -kInfinity) continue;
    if (term.rate == 0) {
      log_constant = has_constant ? sum(log_constant, term.log_coefficient) : term.log_coefficient;
      has_constant = true;
      continue;
    }
    const auto same = std::find(rates.begin(), rates.end(), term.rate);
    if (same == rates.end()) {
      rates.push_back(term.rate);
      log_coefficients.push_back(term.log_coefficient);
    } else {
      double& at = log_coefficients[static_cast<size_t>(same - rates.begin())];
      at = sum(at, term.log_coefficient);
    }
  }
}

double ExponentialSum::Log(double t) const {
  double greatest = has_constant ? log_constant : -kInfinity;
  for (size_t k = 0; k < rates.size(); ++k)
    greatest = std::fmax(greatest, log_coefficients[k] + rates[k] * t);
  if (std::isinf(greatest)) return greatest;
  double sum = has_constant ? std::exp(log_constant - greatest) : 0;
  for (size_t k = 0; k < rates.size(); ++k)
    sum += std::exp(log_coefficients[k] + rates[k] * t - greatest);
  return greatest + std::log(sum);
}

double ExponentialSum::Relative(double t) const {
  double sum = 0;
  for (size_t k = 0; k < rates.size(); ++k)
    sum += std::exp(log_coefficients[k] - log_constant + rates[k] * t);
  return sum;
}

double ExponentialSum::Slope(double t) const {
  const double log = Log(t);
  double slope = 0;
  for (size_t k = 0; k < rates.size(); ++k)
    slope += rates[k] * std::exp(log_coefficients[k] + rates[k] * t - log);
  return slope;
}

Piece::Piece(const DensityPiece& piece)
    : from_(piece.from),
      to_(piece.to),
      constant_(piece.constant),
      linear_(piece.linear),
      quadratic_(piece.quadratic),
      n_(piece.p),
      d_(piece.q),
      relative_(n_.has_constant && d_.has_constant) {
  if (relative_) origin_ = n_.log_constant - d_.log_constant;
  for (double rate : n_.rates) greatest_rate_ = std::fmax(greatest_rate_, std::fabs(rate));
  for (double rate : d_.rates) greatest_rate_ = std::fmax(greatest_rate_, std::fabs(rate));
}

double Piece::Above(double t) const {
  if (!relative_) return n_.Log(t) - d_.Log(t);
  return std::log1p(n_.Relative(t)) - std::log1p(d_.Relative(t));
}

double Piece::At(double above, double from, double to) const {
  if (relative_ && n_.rates.size() == 1 && d_.rates.empty()) {
    const double t =
        (std::log(std::expm1(above)) - (n_.log_coefficients[0] - n_.log_constant)) / n_.rates[0];
    return std::clamp(t, from, to);
  }
  if (relative_ && n_.rates.empty() && d_.rates.size() == 1) {
    const double t =
        (std::log(std::expm1(-above)) - (d_.log_coefficients[0] - d_.log_constant)) / d_.rates[0];
    return std::clamp(t, from, to);
  }
  if (n_.rates.size() + n_.has_constant == 1 && d_.rates.size() + d_.has_constant == 1) {
    const double slope = n_.Slope(0) - d_.Slope(0);
    return std::clamp((above - Above(0)) / slope, from, to);
  }
  // Newton for an increasing function inside a bracket.
  double lo = from, hi = to, t = std::isfinite(lo) ? lo : std::isfinite(hi) ? hi : 0;
  double reach = 1;
  for (int i = 0; i < 200; ++i) {
    const double off = Above(t) - above;
    if (off == 0) return t;
    (off < 0 ? lo : hi) = t;
    const double slope = n_.Slope(t) - d_.Slope(t);
    double next = t - off / slope;
    if (!(next > lo && next < hi)) {
      if (std::isinf(lo)) {
        next = hi - reach;
      } else if (std::isinf(hi)) {
        next = lo + reach;
      } else {
        next = lo + (hi - lo) / 2;
      }
      reach *= 2;
    }
    if (next == t || !(next >= lo && next <= hi)) break;
    const bool settled = std::fabs(off) <= PointError(above, t) / 4;
    t = next;
    if (settled) break;
  }
  return t;
}

// The exponents at t are rounded to a few u of their sizes; the loss moves by the share that the
// terms with those exponents have in the sums.
double Piece::PointError(double above, double t) const {
  double size = 4;
  const auto grow = [&](const ExponentialSum& sum) {
    for (size_t k = 0; k < sum.rates.size(); ++k) {
      size = std::fmax(size, 4 + std::fabs(sum.rates[k] * t) +
                                 std::fabs(sum.log_coefficients[k] - sum.log_constant) +
                                 (relative_ ? 0 : std::fabs(sum.log_coefficients[k])));
    }
  };
  grow(n_);
  grow(d_);
  double share = 2;
  if (relative_) share = std::fmin(1, n_.Relative(t)) + std::fmin(1, d_.Relative(t));
  return 8 * kUnitRoundoff * (share * size + std::fabs(above));
}

Piece::Span Piece::Cover(double tail) const {
  Span span{from_, to_, true, true};
  if (quadratic_ < 0) {
    const double peak = -linear_ / (2 * quadratic_), s = 1 / std::sqrt(-2 * quadratic_);
    const double log_peak = LogBase(peak);
    // Where all terms together have at most `tail` beyond.
    const auto cut = [&](const ExponentialSum& sum, int side) {
      double t = -kInfinity;
      const double parts = static_cast<double>(sum.rates.size() + 1);
      const auto term = [&](double log_coefficient, double rate) {
        const double log_mass = log_peak + log_coefficient + rate * peak +
                                0.5 * rate * rate * s * s + std::log(s * 2.5066282746310007);
        const double share = std::exp(std::log(tail / parts) - log_mass);
        if (share >= 0.5) return;
        const double middle = peak + rate * s * s;
        t = std::fmax(t, side * middle + s * (NormalTailInverse(std::fmax(share, 1e-299)) + 1e-6));
      };
      if (sum.has_constant) term(sum.log_constant, 0);
      for (size_t k = 0; k < sum.rates.size(); ++k) term(sum.log_coefficients[k], sum.rates[k]);
      return std::isinf(t) ? peak : side * t;
    };
    // e^-kFaintest of the peak, or of the least double.
    const double faint = std::sqrt(std::fmax(0, kFaintest + std::fmin(0, log_peak)) / -quadratic_);
    const double low = std::fmax(cut(d_, -1), peak - faint);
    const double high = std::fmin(cut(n_, +1), peak + faint);
    if (low > from_) {
      span.from = std::fmin(low, to_);
      span.whole_below = false;
    }
    if (high < to_) {
      span.to = std::fmax(high, span.from);
      span.whole_above = false;
    }
  }
  if (Above(span.to) + origin_ > kGreatestLoss) {
    span.to = At(kGreatestLoss - origin_, span.from, span.to);
    span.whole_above = false;
  }
  if (Above(span.from) + origin_ < -kGreatestLoss) {
    span.from = At(-kGreatestLoss - origin_, span.from, span.to);
    span.whole_below = false;
  }
  return span;
}

double Piece::TailMass(const ExponentialSum& sum, double t, int side) const {
  if (side > 0 ? t >= to_ : t <= from_) return 0;
  double mass = 0;
  const double s = quadratic_ < 0 ? 1 / std::sqrt(-2 * quadratic_) : 0;
  const double peak = quadratic_ < 0 ? -linear_ / (2 * quadratic_) : 0;
  const double width = side > 0 ? to_ - t : t - from_;
  const auto term = [&](double log_coefficient, double rate) {
    if (quadratic_ < 0) {
      const double log_mass = LogBase(peak) + log_coefficient + rate * peak +
                              0.5 * rate * rate * s * s + std::log(s * 2.5066282746310007);
      const double middle = peak + rate * s * s;
      mass += std::exp(log_mass + LogNormalTail(side * (t - middle) / s));
    } else {
      const double rest = side > 0 ? to_ : from_;
      mass += width * std::exp(log_coefficient +
                               std::fmax(LogBase(t) + rate * t, LogBase(rest) + rate * rest));
    }
  };
  if (sum.has_constant) term(sum.log_constant, 0);
  for (size_t k = 0; k < sum.rates.size(); ++k) term(sum.log_coefficients[k], sum.rates[k]);
  return mass * (1 + 1e-11);
}

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
          std::fmax(greatest, std::fabs(sum.log_coefficients[k]) + 2 * std::fabs(sum.rates[k] * t));
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
  Points points;
  std::vector<double> base, term, work_from, work_to, d_at, over, under;
  for (size_t begin = 0; begin < cells.size(); begin += kBlock) {
    const size_t block = std::min(kBlock, cells.size() - begin);
    points.Clear();
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
      e.y0 = std::exp(origin_ + cell.lower);
      e.y1 = std::exp(origin_ + cell.upper);
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
      double t = e.start;
      size_t panels = 0;
      const double rough = std::fmax(Roughness(e.start), Roughness(e.end));
      if ((e.end - e.start) * rough <= kNarrow) {
        points.Add(e.start, e.end, e.start, e.end, i, true);
        panels = 1;
      } else {
        while (t < e.end) {
          const double guess = kPanel / Roughness(t);
          const double width =
              kPanel / std::fmax(Roughness(t), Roughness(std::fmin(t + guess, e.end)));
          const double next = t + width >= e.end ? e.end : t + width;
          points.Add(t, next, e.start, e.end, i, false);
          ++panels;
          t = next;
        }
      }
      result[begin + i].error = std::fmax(RoundingError(e.start), RoundingError(e.end)) +
                                16 * kUnitRoundoff * static_cast<double>(panels + 2);
    }
    const size_t n = points.t.size();
    base.resize(n);
    over.assign(n, 0);
    under.assign(n, 0);
    d_at.assign(n, d_.has_constant ? std::exp(d_.log_constant) : 0);
    work_from.resize(n);
    work_to.resize(n);
    for (size_t i = 0; i < n; ++i) base[i] = LogBase(points.t[i]);
    Exp(base, base);
    for (size_t k = 0; k < terms_n + terms_d; ++k) {
      const bool of_n = k < terms_n;
      const double log_coefficient =
          of_n ? n_.log_coefficients[k] : d_.log_coefficients[k - terms_n];
      const double rate = of_n ? n_.rates[k] : d_.rates[k - terms_n];
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
      double at_start = 0, at_end = 0;
      size_t last = kBlock;
      for (size_t i = 0; i < n; ++i) {
        const size_t cell = points.cell[i];
        const Ends& e = ends[cell];
        if (cell != last) {
          at_start = std::exp(log_coefficient + rate * e.start);
          at_end = std::exp(log_coefficient + rate * e.end);
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
