// Who calls a service, from where and until when; independent of the transport.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "identity/caller.h"

namespace dpledger::server {

using identity::Caller;

struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the caller's
  // Whether the call was given up: its caller has gone, or the server ends it. May be empty. Called
  // from the thread that answers.
  std::function<bool()> cancelled;
  Caller caller;  // anonymous unless Desk::Identify says otherwise
  // Whether callers are asked who they are. Where they are not, entries name nobody.
  bool asked = false;
  // Not OK: the call's answer, because what the caller showed is not valid. Calls that are open to
  // everybody are answered all the same.
  absl::Status identified;
  // Whose turns and quotas the call takes: the caller's name, or, where nobody knows callers, the
  // connection.
  std::string party;
  // The server itself asks, for its lists: of entries alone, whatever is known of others.
  bool own = false;
  size_t request_bytes = 0;  // as they came
  std::string peer;  // the caller's address, as the transport writes it; for log lines alone

  // What the entries that the call brings say of its caller (LedgerEntry.caller).
  std::string NameInEntries() const { return asked ? caller.name : std::string(); }
};

}  // namespace dpledger::server
