// One question about a composition, and what each method says of it. Private to the accountant's
// front door (accountant.h).
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/contour/contour.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/pld.h"
#include "accountant/rdp/rdp.h"

namespace dpledger::accountant {

// ε for a δ, or δ for an ε; in one direction or, without one, the larger of both.
struct Question {
  enum class Of { kEpsilon, kDelta };
  Of of;
  double at;  // the δ or ε that is given
  std::optional<Direction> direction;

  bool epsilon() const { return of == Of::kEpsilon; }
  // About the δ that matters. `bound`: an upper bound on what is asked for.
  double Delta(double bound) const;

  // In closed form, where there is one.
  std::optional<Interval> Closed(const Composition& composition) const;
  // An upper bound, and its order. (Where rdp bounds only the larger of both directions, that.)
  absl::StatusOr<rdp::Converted> Rdp(const Composition& composition, const Limits& limits) const;
  // `laws`: shared by all that is asked about one question.
  absl::StatusOr<pld::Bounds> Pld(const Composition& composition, double relative_gap,
                                  const Limits& limits, pld::EpochLaws& laws) const;
  // nullopt where the rounds are not such that a record is hardly ever in two of them.
  absl::StatusOr<std::optional<Interval>> Rarely(const Composition& composition,
                                                 double relative_gap, const Limits& limits) const;
  // The intersection of a known interval and what the steps' inclusions say
  // (gaussian/inclusions.h).
  Answer WithInclusions(const Composition& composition, Answer known) const;
  // nullopt where it does not apply, or does not close.
  absl::StatusOr<std::optional<Interval>> Contour(const Composition& composition,
                                                  const Limits& limits,
                                                  contour::Effort effort) const;
};

}  // namespace dpledger::accountant
