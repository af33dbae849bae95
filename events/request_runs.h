// Finds the entries of a ledger that are of one request. Only the first of them names the caller,
// so that a batch of 100 entries pays for one name. The entries of a request follow each other and
// have its writer and its id. The server's own entries, and CONFLICT, are requests of one entry.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpledger::events {

// Follows the entries in order. Not thread safe.
class RequestRuns {
 public:
  // Takes the next entry; whether a request begins with it. `body` is its field in LedgerEntry.
  bool Begins(std::string_view writer, std::string_view request_id, int body);

 private:
  bool may_go_on_ = false;  // with the next entry
  std::string writer_;
  std::string request_id_;
};

// Whether an entry may have this `caller`. INVALID_ARGUMENT names the rule: a plain name
// (base/plain_name.h), in the first entry of a request. Empty is fine anywhere: the server did not
// ask who calls. Pure; thread safe.
absl::Status CheckCallerOf(std::string_view caller, bool request_begins);

}  // namespace dpledger::events
