#include "accountant/limits.h"

#include "absl/time/clock.h"
#include "base/status.h"

namespace dpledger::accountant {

absl::Status Limits::Check() const {
  if (cancelled && cancelled()) {
    return WithReason(absl::CancelledError("the question was cancelled"), {"CANCELLED", {}});
  }
  if (deadline != absl::InfiniteFuture() && absl::Now() > deadline) {
    return WithReason(absl::DeadlineExceededError("the question ran out of its time"),
                      {"QUERY_TIMEOUT", {}});
  }
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
