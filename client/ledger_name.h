// The names people type and the names the server knows.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpledger::client {

// `x` becomes projects/default/ledgers/x; a full name projects/{project}/ledgers/{ledger} stays as
// it is. INVALID_ARGUMENT (field `ledger`) unless the parts match
// [a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?.
absl::StatusOr<std::string> FullLedgerName(std::string_view name);

}  // namespace dpledger::client
