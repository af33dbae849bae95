#include "accountant/limits.h"

#include <cfenv>
#include <limits>

#include "absl/time/clock.h"
#include "base/status.h"

namespace dpledger::accountant {

absl::Status CheckArithmetic() {
  const volatile double least_normal = std::numeric_limits<double>::min();
  if (std::fegetround() == FE_TONEAREST && least_normal / 2 > 0) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(
          "floating-point arithmetic of this thread does not round to nearest, or flushes small "
          "numbers to zero; no bound holds then: restore it (fesetround(FE_TONEAREST))"),
      {"ROUNDING_MODE", {}});
}

absl::Status Limits::Check() const {
  if (cancelled && cancelled()) {
    return WithReason(absl::CancelledError("the question was cancelled"), {"CANCELLED", {}});
  }
  if (deadline != absl::InfiniteFuture() && absl::Now() > deadline) {
    return WithReason(absl::DeadlineExceededError("the question ran out of its time"),
                      {"QUERY_TIMEOUT", {}});
  }
  if (too_large && too_large()) {
    return WithReason(
        absl::ResourceExhaustedError("the question takes more memory than one question may"),
        {"QUESTION_TOO_LARGE", {}});
  }
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
