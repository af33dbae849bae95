// What must hold for any event whatever, and any question about it: for tests that make events up.
#pragma once

#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::accountant::conformance {

// Counts of what became of events, so that a test can see that it did not only make up nonsense.
struct Fates {
  int invalid = 0;   // refused on arrival
  int refused = 0;   // no analysis under an adjacency
  int answered = 0;  // by some method under some adjacency
  int unanswered = 0;
};

// Expects that the event is refused with INVALID_ARGUMENT and a message, or resolves, and that
// every method then answers with ordered bounds or refuses; that nothing becomes cheaper by being
// done again or beside something else; and that δ at the bounds of ε is on the right side of delta.
void ExpectHonestAnswers(const v1::Event& event, double delta, const Limits& limits, Fates& fates);

// The parts of it for a composition.
void ExpectOrderedOrRefused(const Composition& composition, double delta, const Limits& limits,
                            Fates& fates);

}  // namespace dpledger::accountant::conformance
