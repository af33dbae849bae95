// This project's errors as the Connect protocol sends them
// (https://connectrpc.com/docs/protocol#error-codes). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpledger::server {

// "not_found"; "ok" for OK.
std::string_view ConnectCode(absl::StatusCode code);
int HttpStatusOf(absl::StatusCode code);

// {"code":…,"message":…,"details":[{"type":…,"value":…}]}, with the details of WithErrorInfo.
// Precondition: !status.ok().
std::string ConnectErrorJson(const absl::Status& status);

}  // namespace dpledger::server
