// Questions that a person has to answer.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace dpledger::cli {

// Asks on stderr, "QUESTION [y/N] ", and reads a line of stdin. OK for y or yes. Anything else is
// FAILED_PRECONDITION with `refusal` and its reason NOT_CONFIRMED, and so is a stdin that is no
// terminal, where nothing is asked.
absl::Status Confirm(const std::string& question, const std::string& refusal);

}  // namespace dpledger::cli
