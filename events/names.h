// The rules for names and ids in requests. Errors are INVALID_ARGUMENT and name `field` and the
// rule. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::events {

// projects/{project}/ledgers/{ledger}, the parts [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?
absl::Status CheckLedgerName(std::string_view field, std::string_view name);
absl::Status CheckProjectName(std::string_view field, std::string_view name);  // projects/{project}
// The full name of a ledger given by its full or short name: "x" is projects/default/ledgers/x.
absl::StatusOr<std::string> FullLedgerName(std::string_view name);
// Request ids, writers and incarnations: 1 to 64 bytes of [A-Za-z0-9._-].
absl::Status CheckToken(std::string_view field, std::string_view token);
bool IsToken(std::string_view text);

// `text` quoted and cut, for an error message: names come from strangers.
std::string Quoted(std::string_view text);

}  // namespace dpledger::events
