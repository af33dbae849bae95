// What happens in a simulation, in order, and the first promise that is broken.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tests/simulation/simulation.h"

namespace dpledger::simulation {

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  // Counted by whoever runs the simulation and its parts.
  Outcome outcome;

  void Note(const std::string& what);
  // Broken, if the promise is not OK.
  void Hold(const absl::Status& promise);
  void Broken(const std::string& what) { Hold(absl::InternalError(what)); }
  bool Fine() const { return outcome.status.ok(); }

 private:
  const bool print_;
};

// Whether the same request may succeed later: the server could do nothing for it.
bool ForNow(const absl::Status& status);

}  // namespace dpledger::simulation
