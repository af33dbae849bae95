// δ at many ε of one composition. Where the loss grid answers, one mesh serves all of them, while a
// question of its own makes a mesh anew: a tenth of the work for 200 ε.
#pragma once

#include <array>
#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/pld/grid_profile.h"

namespace dpledger::accountant::profile {

class ManyDeltas {
 public:
  // Both must outlive the object. An interval not wider than `enough` is narrow too.
  ManyDeltas(const Composition& composition, const Options& options, double enough = 0)
      : composition_(composition), options_(options), enough_(enough) {}

  // As ComputeDelta; the interval is another one that contains the same δ.
  absl::StatusOr<Answer> At(double epsilon);
  absl::StatusOr<Answer> In(Direction direction, double epsilon);

 private:
  // Bounds by the meshes, which are as wide as options allow or the question that they are made
  // after was; none if there is none or they are wider here.
  absl::StatusOr<std::optional<Interval>> ByMesh(Direction direction, double epsilon);
  // Notes what the next meshes are to be made after.
  void Learn(Direction direction, const Answer& answer);

  struct Mesh {
    std::optional<Interval> after;  // a δ that the grid answered, since the last mesh
    std::optional<pld::GridProfile> profile;
    double gap = 0;    // relative, of what it is good for
    double finer = 1;  // than one that is soon made
    int made = 0;
  };
  const Composition& composition_;
  const Options& options_;
  const double enough_;
  std::array<Mesh, 2> meshes_;  // by direction
};

}  // namespace dpledger::accountant::profile
