// What the log and the access record hear of the calls that the desk takes.
//
// Thread safe.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "base/log.h"
#include "base/rare_log.h"
#include "server/call_context.h"
#include "server/desk/method.h"
#include "server/own_ledgers/access_record.h"

namespace dpledger::server {

class Usage {
 public:
  explicit Usage(const Log* log) : refused_(log, "call_refused") {}

  // Before any call; `record` must outlive the object. Without one only the log hears of refusals.
  void Record(AccessRecord* record) { record_ = record; }

  // What the caller showed is not valid.
  void Stranger(const CallContext& call);
  // The caller may not do that.
  void Denied(const Method& method, const CallContext& call, const Message& message,
              const Demand& demand);
  // A service refused something (PERMISSION_DENIED); of other statuses nothing is said.
  void Refused(const CallContext& call, const absl::Status& status);
  // The caller may do all that. An error: it cannot be recorded and must not be done.
  absl::Status Allowed(const Method& method, const CallContext& call, const Message& message);
  // A service has answered what `demands` are of, with so many entries, or a stream was opened.
  void Served(const CallContext& call, const std::vector<Demand>& demands, uint64_t entries);

 private:
  RareLog refused_;
  AccessRecord* record_ = nullptr;
};

}  // namespace dpledger::server
