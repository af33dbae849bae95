// An upper bound on a step's transform from a point of the line on, for the error of truncating the
// line there. Private to contour/; CLAIM.md, line "end of the line".
#pragma once

#include <cstddef>
#include <vector>

#include "accountant/contour/step.h"

namespace dpledger::accountant::contour {

// Upper bounds on |E[e^{(c+iy')L}]|/E[e^{cL}] for all y' >= y, from the t-contour moved up by one
// of a few heights.
class Envelope {
 public:
  // log_mgf: at most K(c). `digits`: the bound is needed down to e^{-digits}.
  Envelope(const Step& step, double c, double log_mgf, double digits);

  // The logarithm of the bound, at most 0; falls with y. `height` is where the search for the best
  // height begins; the call sets it to where the search ended.
  double LogBound(double y, size_t& height);
  // Nodes kept so far, over all heights.
  size_t kept() const { return kept_; }

 private:
  // At y the bound is e^{η²/2} (Σ e^{log_weight + shift - y·angle}·(1 + rounding) + error).
  struct Height {
    bool built = false;
    double eta = 0, shift = 0, error = 0, rounding = 0;
    size_t size = 0;
    std::vector<double> nodes;  // log_weight, then angle
  };
  void Build(size_t index);
  double LogBoundAt(size_t index, double y);
  void TakeMoments();
  double LogBoundByMoments(double y) const;
  double LogBoundByHeights(double y, size_t& height);
  // The mean of r^k turns, the rest of A counts whole; at a few k.
  double LogBoundBySampled(double y);
  Height SampledHeight(double k, double eta, double digits);

  Step step_;
  double power_, log_mgf_, digits_;
  size_t kept_ = 0;
  // Of the probability r that a record was sampled, under the weights (1+u)^power φ: its mean from
  // below, that of its square from above. A fine step's alone.
  double sampled_ = 0, sampled_square_ = 0;
  double cut_error_ = 0;
  std::vector<Height> heights_;  // built when first used, each half as high as the one before
  struct Sampled {
    double mean_down, mean_up;  // of r^k
    std::vector<Height> heights;
  };
  std::vector<Sampled> by_k_;
};

}  // namespace dpledger::accountant::contour
