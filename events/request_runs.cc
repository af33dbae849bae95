#include "events/request_runs.h"

#include "absl/strings/str_cat.h"
#include "base/plain_name.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

bool RequestRuns::Begins(std::string_view writer, std::string_view request_id, int body) {
  // A fork's notice and a refused batch bear ids that other requests may have too.
  const bool alone = writer.empty() || body == v1::LedgerEntry::kConflictFieldNumber;
  const bool goes_on = may_go_on_ && !alone && writer == writer_ && request_id == request_id_;
  if (goes_on) return false;
  may_go_on_ = !alone;
  writer_ = writer;
  request_id_ = request_id;
  return true;
}

absl::Status CheckCallerOf(std::string_view caller, bool request_begins) {
  if (caller.empty()) return absl::OkStatus();
  if (!IsPlainName(caller)) {
    return absl::InvalidArgumentError(absl::StrCat("caller ", kPlainNameRule));
  }
  if (request_begins) return absl::OkStatus();
  return absl::InvalidArgumentError("caller stands in the first entry of a request alone");
}

}  // namespace dpledger::events
