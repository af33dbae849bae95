// The first token of a server: without one, nobody could ask for any.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "identity/tokens.h"

namespace dpledger::identity {

inline constexpr char kFirstTokenName[] = "first-admin";

// If the store knows no token at all: makes one that may do everything and does not expire, in a
// new file of mode 0600, and returns true. A crash in between is repaired by the next call, which
// takes the token that the file holds. Of several servers that start at once, one makes it.
absl::StatusOr<bool> MakeFirstAdminToken(Tokens& tokens, const std::string& file, Clock& clock);

}  // namespace dpledger::identity
