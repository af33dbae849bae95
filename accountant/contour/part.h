// The share of δ that a Measure has, by a line of its own, as in line.h. Private to contour/;
// CLAIM.md, "By the largest jump".
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/measure.h"
#include "accountant/contour/shells_on_line.h"
#include "accountant/limits.h"

namespace dpledger::accountant::contour {

// Bounds on a share of δ at some ε, the estimate, and its derivative in ε.
struct PartOfDelta {
  double lower = 0, upper = 0, value = 0, slope = 0;
};

class Part {
 public:
  // Through measure.ForEpsilon(epsilon). Errors of aliases, end and quadrature are each wanted
  // below e^{log_goal}, absolutely. nullopt if that takes more than `most_nodes` nodes on the line,
  // or too much work. Lays new nodes on the measure's shells.
  static absl::StatusOr<std::optional<Part>> Lay(Measure& measure, double epsilon, double log_goal,
                                                 size_t most_nodes, const Limits& limits);

  // Valid at every ε >= 0; narrow near the one it was laid for.
  PartOfDelta At(double epsilon) const;

 private:
  bool ChoosePeriod(const Measure& measure, const Tilted& saddle, double log_goal);
  // log of a bound on the integral past y, with e^{-cε}.
  double LogPast(const Measure& measure, const SumsAt& sums, double y) const;
  bool SumUp(const ShellsOnLine& line, double log_past, size_t nodes);

  double c_ = 0, laid_epsilon_ = 0;
  double level_ = 0, level_error_ = 0;  // log of the transform's scale
  double spacing_ = 0, period_ = 0;
  double up_ = 0, down_ = 0;  // the aliases are bounded at orders c + up and c - down
  Chernoff above_, below_;
  double value_ = 0;                 // the node at y = 0
  std::vector<double> re_, im_, y_;  // turned to laid_epsilon_
  double error_ = 0, error_slope_ = 0;
};

}  // namespace dpledger::accountant::contour
