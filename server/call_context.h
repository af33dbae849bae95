// What a service needs to know of the call it answers, whatever the transport.
#pragma once

#include <functional>

#include "absl/time/time.h"

namespace dpledger::server {

struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the caller's
  std::function<bool()> cancelled;               // may be empty; asked from the thread that answers
};

}  // namespace dpledger::server
