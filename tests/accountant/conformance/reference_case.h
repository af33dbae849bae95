// Another accountant's answer, and what it says of the truth: the cases of
// tests/data/google_dp.json and tests/data/peers.json as questions to this accountant.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::conformance {

// What `given` is and what was answered.
enum class Quantity { kEpsilon, kDelta, kRenyiDivergence, kTruePositiveRate };

struct ReferenceCase {
  std::string id;
  std::string kind;                 // of its events: "gaussian + poisson_sampled(laplace)"
  std::vector<std::string> events;  // lines of an event file
  Adjacency adjacency = Adjacency::kAddOrRemoveOne;
  Quantity quantity = Quantity::kEpsilon;
  double given = 0;  // δ, ε, an order or a false positive rate
  // By its own account the truth lies in here. Where a parameter was solved for it has been put in
  // its place, and `theirs.upper` is the target.
  Interval theirs{0, std::numeric_limits<double>::infinity()};
  bool by_renyi = false;  // a Rényi accountant's bound: compared with method rdp
  std::string caveat;     // what the file says is wrong with it
};

// dp_accounting's multipliers under sampling without replacement are relative to what replacing a
// record changes, ours to what removing one does: they are doubled here.
std::vector<ReferenceCase> GoogleCases();

// Without the central-limit values, which bound nothing.
std::vector<ReferenceCase> PeerCases();

absl::StatusOr<Composition> Compose(const ReferenceCase& reference);

}  // namespace dpledger::accountant::conformance
