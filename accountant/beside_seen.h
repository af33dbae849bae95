// Gaussians on Poisson samples, of so little noise that their outputs tell whether a record was
// ever in a sample, beside other steps: the answer follows from that of the other steps alone.
// Proof: gaussian/CLAIM.md, "Seen or not". Private to the accountant's front door (accountant.h).
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "accountant/mechanism/composition.h"
#include "accountant/question.h"

namespace dpledger::accountant {

// Answers a question in one direction about a composition, which may be empty.
using AskRest = std::function<absl::StatusOr<Answer>(const Question&, const Composition&)>;

// nullopt where there are no such steps. Unbounded from above (ε for a δ) where a record is in some
// sample with probability δ or more.
absl::StatusOr<std::optional<Answer>> BesideSeen(const Question& question,
                                                 const Composition& composition,
                                                 const AskRest& ask);

}  // namespace dpledger::accountant
