// The privacy loss of one density piece of a pair: the loss as a function of t, its inverse, and
// integrals over the cells of a grid of losses. Private to pld/. Derivation: pld/CLAIM.md, section
// 2.
#pragma once

#include <cstddef>
#include <vector>

#include "accountant/pair/pair.h"

namespace dpledger::accountant::pld {

// Σ_k e^{log_coefficient + rate·t} with distinct rates, the constant term (rate 0) apart.
struct ExponentialSum {
  bool has_constant = false;
  double log_constant = 0;                      // 0 if there is none
  std::vector<double> log_coefficients, rates;  // of the other terms

  explicit ExponentialSum(const std::vector<ExponentialTerm>& terms);

  // At one t; at an infinite one the limit. Terms below e^{-45} of the greatest are left out: less
  // than a rounding.
  struct Value {
    double log;       // of the sum over the constant term, where there is one
    double relative;  // Σ of the other terms over the constant one; 0 if there is none
    double slope;     // d log/dt
  };
  Value At(double t) const;

  // Of the terms beside the constant one: the greatest at t, 0 if there is none; and whether from
  // one t to another the changes of a term are below e^{-60} of those of another, wherever between.
  size_t Greatest(double t) const;
  bool IsFaint(size_t term, size_t beside, double from, double to) const;
};

// An interval [from, to] of t on which the loss lies in [origin + lower, origin + upper]. These are
// the losses at its ends, unless the piece begins or ends inside the cell. from may be -infinity,
// to +infinity.
struct Cell {
  double from, to;
  double lower, upper;
  bool begins_inside, ends_inside;
};

// N and D are the exponential sums of the densities p and q, base is their common factor, y0 and y1
// are the exponentials of the cell's two losses. All integrands are positive.
struct CellIntegrals {
  double over_lower = 0;   // ∫ base (N - y0 D) dt
  double under_upper = 0;  // ∫ base (y1 D - N) dt
  // With s = (N/D - y0)/(y1 - y0) and θ = (1 - s)² (1 + 2 s), parts of these two:
  double near_lower = 0;  // ∫ base θ (N - y0 D) dt
  double near_upper = 0;  // ∫ base (1 - θ)(y1 D - N) dt
  double error = 0;       // bounds the relative error of each
};

class Piece {
 public:
  explicit Piece(const DensityPiece& piece);

  // The loss that others are measured from: the log ratio of the constant terms, near which Above
  // has no cancellation; 0 if a sum has none.
  double origin() const { return origin_; }
  bool relative() const { return relative_; }  // both densities have a constant term
  // Whether the loss does not depend on t.
  bool OneLoss() const { return n_.rates.empty() && d_.rates.empty(); }
  double Above(double t) const;  // loss - origin; at an infinite t its limit
  // The t in [from, to] at which the loss is origin + above. Precondition: the loss takes that
  // value there.
  double At(double above, double from, double to) const;
  // At(first + step·i) for i = 0 ... count - 1, and bounds on the distance of the losses there from
  // origin + first + step·i.
  struct Points {
    std::vector<double> t, error;
  };
  Points AtPoints(double first, double step, size_t count, double from, double to) const;

  // The part of the piece that a grid covers: all of it, or all but `tail` of its Q-mass below and
  // of its P-mass above, where losses and densities are normal doubles.
  struct Span {
    double from, to;
    bool whole_below, whole_above;  // no mass is cut on that side
  };
  Span Cover(double tail) const;
  // About how many quadrature panels the integrals over `span` take.
  double Panels(const Span& span) const;
  // Upper bounds on the masses of the piece beyond t.
  double PAbove(double t) const { return TailMass(n_, t, +1); }
  double PBelow(double t) const { return TailMass(n_, t, -1); }
  double QAbove(double t) const { return TailMass(d_, t, +1); }
  double QBelow(double t) const { return TailMass(d_, t, -1); }

  std::vector<CellIntegrals> Integrate(const std::vector<Cell>& cells) const;

 private:
  double LogBase(double t) const { return constant_ + t * (linear_ + t * quadratic_); }
  // The loss above the origin and all that is wanted with it.
  struct Point {
    double above, slope;
    double share;  // of the loss, that the terms beside the constant ones have: at most 2
  };
  Point PointAt(double t) const;
  // Bounds the error of PointAt(t).above, `at` being that.
  double PointError(const Point& at, double t) const;
  // At, from a first guess in [from, to].
  double Newton(double above, double from, double to, double guess) const;
  double TailMass(const ExponentialSum& sum, double t, int side) const;
  // Bounds the logarithmic derivatives of the integrands at t (divided by their order).
  double Roughness(double t) const;
  double RoundingError(double t) const;

  double from_, to_;
  double constant_, linear_, quadratic_;
  ExponentialSum n_, d_;
  bool relative_;  // both sums have a constant term
  double origin_ = 0;
  double greatest_rate_ = 0;
};

}  // namespace dpledger::accountant::pld
