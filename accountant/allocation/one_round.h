// One round's contribution to a sum over the rounds of an epoch. Private to allocation/; proofs and
// error budget: CLAIM.md.
#pragma once

namespace dpledger::accountant::allocation {

// Of an outcome x + s in a cell [x, x + width]:
// above : below : the cell's `whole` = At(x + s) - At(x) : At(x + width) - At(x + s) :
// At(x + width) - At(x), sums of positive terms.
struct Shares {
  double below, above;
  double other;  // the other record's likelihood ratio, e^{-μ(x+s) - μ²/2}; 0 where there is none
};

// The record's likelihood ratio to no record, e^{μx - μ²/2} at the outcome x ~ N(0,1).
struct Ratio {
  static constexpr bool kSigned = false;
  double mu;
  double rounds;  // of the whole sum: grids are laid by it

  double Mean() const { return 1; }
  // The width in which most of a sum of `size` rounds lies.
  double Spread(double size) const;
  // A sum of `size` rounds need not tell places apart that differ by a mesh's part of this.
  double Part(double size) const;
  // What a sum's place is at most, beside the P-mass one.
  double Plus(double place) const { return place; }
  // The greatest exponent met at outcomes in [low, high].
  double Exponent(double low, double high) const { return mu * (high - low); }

  double Start() const { return mu / 2; }  // an outcome amid the places
  double At(double x) const;
  double Slope(double x) const;
  struct Cell {
    Cell(const Ratio& round, double x, double width);
    Shares At(double s) const;
    double mu, width, whole;
  };
  // Bounds the relative error of a share by that of its exponents at outcomes up to `farthest`.
  double ShareError(double farthest, double width) const;
};

// The scale of a sum of rounds whose places have both signs. No bound rests on it.
struct SignedScale {
  double mean;
  double spread;  // the width in which most of it lies
  // Next to 0 a grid need not tell places apart that differ by a mesh's part of this.
  double finest;
  // Nowhere need it tell places apart that differ by a mesh's part of this.
  double part;
  // If a part of the sum is farther from 0 than this, the rest seldom changes the sign.
  double decided;
};

// sinh(μx - ε/2): Scale() times that is the record's ratio less e^ε times that of another record,
// which moves the mean as far the other way. No difference of exponentials is taken.
struct Opposed {
  static constexpr bool kSigned = true;
  double mu, epsilon;  // ε >= 0
  // Of the whole sum: those that are run, and those that are not. Grids are laid by them.
  double rounds, missing;

  double Scale() const;
  SignedScale Scales(double size) const;  // of a part of so many rounds
  double Mean() const;
  double Plus(double place) const;
  double Exponent(double low, double high) const;

  double Start() const { return epsilon / (2 * mu); }  // the place 0
  double At(double x) const;
  double AtError(double x) const;  // bounds the absolute error of At
  double Slope(double x) const;
  struct Cell {
    Cell(const Opposed& round, double x, double width);
    Shares At(double s) const;
    double mu, width, whole;
    double up, down, end;  // e^{at} and e^{-at} of the exponent at x, e^{-at} of the one at the end
    double other;
  };
  double ShareError(double farthest, double width) const;
};

}  // namespace dpledger::accountant::allocation
