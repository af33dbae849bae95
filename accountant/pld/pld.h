// Privacy loss distributions: two-sided bounds on ε and δ by FFT. The mesh is chosen from the
// composition for the wanted gap. Claim and error budget: pld/CLAIM.md.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/composed.h"
#include "accountant/pld/epoch_laws.h"

namespace dpledger::accountant::pld {

// `value` contains the true value, whatever the flags say.
struct Bounds {
  Interval value;
  bool met = true;      // the wanted gap was reached within the limits
  bool gridded = true;  // false: no loss grid was within reach, and `value` is the Rényi bound
  double work = 0;      // of Limits::max_grid_work, what was taken
};

// ε(delta) and δ(epsilon), in one direction or, without one, the larger of both. Precondition:
// !composition.non_private. δ in (0, 1); epsilon >= 0; relative_gap in [1e-9, 1]. Falls back to the
// Rényi bound and lower 0 where a loss grid is out of reach. If the deadline passes while meshes
// are refined, the answer is the best interval so far. The only errors are DEADLINE_EXCEEDED
// (before the first interval) and CANCELLED. `laws`: of the question that this is a part of, where
// it has several.
absl::StatusOr<Bounds> Epsilon(const Composition& composition, double delta, double relative_gap,
                               const Limits& limits,
                               std::optional<Direction> direction = std::nullopt,
                               EpochLaws* laws = nullptr);
absl::StatusOr<Bounds> Delta(const Composition& composition, double epsilon, double relative_gap,
                             const Limits& limits,
                             std::optional<Direction> direction = std::nullopt,
                             EpochLaws* laws = nullptr);

}  // namespace dpledger::accountant::pld
