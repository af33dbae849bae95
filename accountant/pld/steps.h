// A composition as the FFT takes it: steps described by pairs, and epochs of random allocation, all
// on one mesh.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/directed_loss.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/epoch_laws.h"
#include "accountant/pld/sketch.h"

namespace dpledger::accountant::pld {

// Both discretisations of a composition on one mesh.
struct Discretised {
  struct Counted {
    DiscretePair upper, lower;
    double count;
  };
  std::vector<Counted> pairs;
  double step;
  double work = 0;  // of laws and of sums with many terms, beyond that of the grids (pld/work.h)

  DirectedLosses In(Direction direction, Side side) const;
};

class Steps {
 public:
  // Ignores composition.curves: the caller refuses them. `laws` outlives it.
  Steps(const Composition& composition, EpochLaws& laws);

  bool empty() const { return pairs_.empty() && allocations_.empty(); }
  // The profile is the same in both directions.
  bool symmetric() const { return symmetric_; }
  // The mesh to use in place of `mesh`, aligned with the lattice on which a step's losses lie, if
  // there is one.
  double Aligned(double mesh) const;
  // The extra work of an atom if a pair's densities are sums of many terms.
  double WorkOfTerms() const;
  // Never a mesh so coarse that single steps have no shape left.
  double CoarsestMesh() const;
  // `tail`: mass that may be cut from each step on either side. `tilt`: of the saddle, where that
  // is known: values of a profile are asked for by it.
  absl::StatusOr<Discretised> Discretise(double mesh, double tail, std::optional<double> tilt,
                                         const Limits& limits) const;
  absl::StatusOr<Sketch> Draw(double tail, const Limits& limits) const;

 private:
  // `lower` is unset if it equals `upper`.
  struct Step {
    Pair upper;
    std::optional<Pair> lower;
    double count;
  };
  std::vector<Step> pairs_;
  std::vector<AllocatedGaussian> allocations_;
  EpochLaws& laws_;
  bool symmetric_ = true;
};

}  // namespace dpledger::accountant::pld
