// Who calls, from what the transport says of a call.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/call_context.h"

namespace dpledger::server {

// What a call shows. Nothing of it is checked.
struct Credentials {
  std::string_view authorization;   // the header's value; empty: there is none
  bool doubled = false;             // the header came more than once
  std::string peer;                 // the connection, as CallContext::peer has it
  std::string_view forwarded = {};  // X-Forwarded-For, the last one; empty: there is none
};

// Thread safe.
class Identifier {
 public:
  virtual ~Identifier() = default;
  // UNAUTHENTICATED is the call's answer. Called for every call, on the door's own thread.
  virtual absl::StatusOr<Caller> Identify(const Credentials& credentials) = 0;
};

}  // namespace dpledger::server
