// Bounds on the δ of the best of several runs, as good as it takes to tell it from a claimed one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "certify/composition.h"
#include "certify/selection.h"

namespace dpledger::certify {

class BestOfRuns {
 public:
  // Both must outlive this.
  BestOfRuns(const Composition& run, const Trials& trials);
  ~BestOfRuns();

  // For a claim of an upper end or of a lower one; the other bound may be rougher.
  Bounds Against(double delta, Direction direction, double epsilon, bool for_upper);

 private:
  class Profile;
  const Lattice& Points(long count, double least);

  const Trials& trials_;
  std::vector<std::unique_ptr<Profile>> profiles_;  // of both directions
  double end_ = 0;                                  // of the lattice
  std::map<long, Lattice> lattices_;
};

// All of `times` runs; none where they are too many.
std::optional<Composition> AllOf(const Composition& run, double times);

}  // namespace dpledger::certify
