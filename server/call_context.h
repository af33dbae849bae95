// Who calls a service, from where and until when; independent of the transport.
#pragma once

#include <functional>
#include <string>

#include "absl/time/time.h"

namespace dpledger::server {

// The authenticated identity behind a call. An empty name: nobody has said who calls.
struct Caller {
  std::string name;
};

struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the caller's
  // Whether the call was given up: its caller has gone, or the server ends it. May be empty. Called
  // from the thread that answers.
  std::function<bool()> cancelled;
  Caller caller;
  std::string peer;  // the caller's address, as the transport writes it; for log lines alone
};

}  // namespace dpledger::server
