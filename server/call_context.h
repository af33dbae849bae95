// The deadline and cancellation of a call, for services; independent of the transport.
#pragma once

#include <functional>

#include "absl/time/time.h"

namespace dpledger::server {

struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the caller's
  std::function<bool()> cancelled;  // may be empty; called from the thread that answers
};

}  // namespace dpledger::server
