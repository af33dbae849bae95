#include "accountant/profile/many_deltas.h"

#include <cmath>
#include <utility>

#include "base/status.h"

namespace dpledger::accountant::profile {
namespace {

// Meshes that are made, each finer or for a smaller δ than the one before, until every ε is a
// question of its own again; and how much finer the next one and the last one may be.
constexpr int kMostMeshes = 8;
constexpr double kNext = 4, kFinest = 32;

}  // namespace

absl::StatusOr<std::optional<Interval>> ManyDeltas::ByMesh(Direction direction, double epsilon) {
  Mesh& mesh = meshes_[static_cast<size_t>(direction)];
  if (mesh.after.has_value()) {
    const Interval after = *std::exchange(mesh.after, std::nullopt);
    mesh.gap = std::fmax(options_.relative_gap, after.RelativeGap());
    ++mesh.made;
    absl::StatusOr<pld::GridProfile> made = pld::GridProfile::Of(
        composition_, direction, after.upper(), mesh.gap, options_.limits, mesh.finer);
    mesh.profile.reset();
    if (made.ok()) {
      mesh.profile = *std::move(made);
    } else if (!absl::IsResourceExhausted(made.status())) {
      return made.status();
    }
  }
  if (!mesh.profile.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const Interval delta, mesh.profile->DeltaAt(epsilon));
  const double missed_by = delta.RelativeGap() / mesh.gap;
  if (!(missed_by <= 1) && !(delta.upper() - delta.lower() <= enough_)) {
    // Bounds are apart by the square of a mesh.
    mesh.finer = std::fmin(kFinest, mesh.finer * std::fmin(kNext, 2 * std::sqrt(missed_by)));
    return std::nullopt;
  }
  return delta;
}

void ManyDeltas::Learn(Direction direction, const Answer& answer) {
  Mesh& mesh = meshes_[static_cast<size_t>(direction)];
  const bool on_grid = answer.method == Method::kPld && composition_.curves.empty() &&
                       composition_.allocations.empty() && !composition_.non_private;
  if (on_grid && answer.value.lower() > 0 && answer.value.upper() < 1 && mesh.made < kMostMeshes)
    mesh.after = answer.value;
}

absl::StatusOr<Answer> ManyDeltas::In(Direction direction, double epsilon) {
  ASSIGN_OR_RETURN(const std::optional<Interval> by_mesh, ByMesh(direction, epsilon));
  if (by_mesh.has_value()) return Answer{*by_mesh, Method::kPld, {}};
  ASSIGN_OR_RETURN(Answer answer, ComputeDelta(composition_, epsilon, options_, direction));
  Learn(direction, answer);
  return answer;
}

absl::StatusOr<Answer> ManyDeltas::At(double epsilon) {
  ASSIGN_OR_RETURN(const std::optional<Interval> remove, ByMesh(Direction::kRemove, epsilon));
  if (remove.has_value()) {
    ASSIGN_OR_RETURN(const std::optional<Interval> add, ByMesh(Direction::kAdd, epsilon));
    if (add.has_value()) {
      return Answer{
          {std::fmax(remove->lower(), add->lower()), std::fmax(remove->upper(), add->upper())},
          Method::kPld,
          {}};
    }
  }
  ASSIGN_OR_RETURN(Answer answer, ComputeDelta(composition_, epsilon, options_));
  Learn(Direction::kRemove, answer);
  Learn(Direction::kAdd, answer);
  return answer;
}

}  // namespace dpledger::accountant::profile
