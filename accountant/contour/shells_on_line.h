// The transform of a Measure on the nodes of a line, as sums over nodes in t with proved errors.
// Private to contour/; CLAIM.md, "By the largest jump".
#pragma once

#include <complex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/measure.h"
#include "accountant/limits.h"

namespace dpledger::accountant::contour {

class ShellsOnLine {
 public:
  // At y = k·spacing, k <= nodes, of the line at c; the error of the quadrature in t is wanted
  // below e^{-digits} of the transform at y = 0. `near`: measure.Sums(c). Lays new nodes on the
  // measure's shells. nullopt if that takes too much work, or the sums have no digits.
  static absl::StatusOr<std::optional<ShellsOnLine>> Put(Measure& measure, const SumsAt& near,
                                                         double c, double spacing, size_t nodes,
                                                         double digits, const Limits& limits);

  // The transform at node k (k = 0: y = 0), in units of e^{level()}, where it is about 1 -
  // e^{-ratio} at y = 0; |error of it| <= error.
  std::complex<double> At(size_t k, double& error) const;
  // log Π H^T at y = 0, by these nodes, to within level_error().
  double level() const { return log_scale_ + ratio_; }
  double level_error() const { return level_error_; }
  // The distance of Σ T log H from that of `near`, step by step.
  double mismatch() const { return mismatch_; }

 private:
  // ψ - 1 = Σ w (e^{iyL} - 1) of one kind of sum; its error at y is slope·y + flat.
  struct Ratios {
    std::vector<double> re, im;
    double slope = 0, flat = 0;
    std::complex<double> At(size_t k) const {
      return k == 0 ? 0 : std::complex<double>(re[k - 1], im[k - 1]);
    }
    double Error(size_t k, double spacing) const {
      return k == 0 ? 0 : static_cast<double>(k) * spacing * slope + flat;
    }
  };
  struct OneStep {
    double count = 0;
    Ratios shell, below;
    double g = 0, g_error = 0;  // W/B at y = 0; the error is relative
  };
  // Π ψ^T as a logarithm and the sum s with H^T = B^T e^s, with absolute errors.
  struct Logs {
    std::complex<double> power = 0, s = 0;
    double power_error = 0, s_error = 0;
  };
  double AddPower(const Ratios& ratios, double count, size_t k, Logs& logs) const;
  bool AddWithBelow(const OneStep& step, size_t k, Logs& logs) const;
  std::complex<double> Unresolved(size_t k, double& error) const;

  bool has_below_ = false;
  double spacing_ = 0;
  double log_scale_ = 0, ratio_ = 0, level_error_ = 0, mismatch_ = 0;
  std::vector<OneStep> steps_;
};

}  // namespace dpledger::accountant::contour
