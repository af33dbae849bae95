// Parameters for the checker, in doubles. Nothing here is trusted: a bad parameter makes a proof
// fail, never hold.
#pragma once

#include <memory>
#include <optional>

#include "certify/composition.h"
#include "certify/proof.h"

namespace dpledger::certify {

class Finder {
 public:
  Finder(const Composition& of, Direction direction, double epsilon);
  ~Finder();
  Finder(const Finder&) = delete;

  // The order with the least bound on δ(ε).
  Order BestOrder() const;
  // The saddle of the integrand.
  double tilt() const { return tilt_; }
  // A line whose errors are about `tolerance` times δ each, smoothed about as much as costs
  // `smoothing` of δ; none where it takes too many nodes.
  std::optional<Line> FindLine(double tolerance, double smoothing) const;

 private:
  struct Model;
  std::unique_ptr<const Model> model_;
  double epsilon_;
  double tilt_ = 0;
};

}  // namespace dpledger::certify
