#include "server/desk/call_gate.h"

#include "base/status.h"

namespace dpledger::server {

absl::Status CallGate::Enter() {
  absl::MutexLock lock(&mutex_);
  ++inside_;
  if (!closed_) return absl::OkStatus();
  return WithReason(absl::UnavailableError("the server is shutting down; try again"),
                    {"SHUTTING_DOWN", {}});
}

void CallGate::Leave() {
  absl::MutexLock lock(&mutex_);
  --inside_;
}

void CallGate::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

void CallGate::AwaitEmpty(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return inside_ == 0; };
  mutex_.AwaitWithDeadline(absl::Condition(&empty), deadline);
}

}  // namespace dpledger::server
