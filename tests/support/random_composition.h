// The random questions of the sweeps over everything that can be recorded: one to five events of
// different kinds, and one unknown in them. Question number i is always the same one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "accountant/mechanism/composition.h"

namespace dpledger::testing {

struct RandomComposition {
  std::string kinds;  // "poisson laplace ..."
  // The events, with the noise of those that have some multiplied by a factor > 0.
  std::function<accountant::History(double factor)> at;
  accountant::Neighbours neighbours;
  double delta;  // 1e-12 .. 1e-3
};

// Whether there are events of a kind of this name.
bool IsKind(const std::string& name);

// `only`, unless empty: events of this kind alone; none under an adjacency that does not allow
// them.
RandomComposition RandomCompositionAt(uint64_t index, const std::string& only = "");

}  // namespace dpledger::testing
