#include "client/internal/group_sync.h"

#include <algorithm>
#include <utility>

namespace dpledger::client::internal {

GroupSync::GroupSync(Spool* spool, std::function<void(uint64_t)> synced)
    : spool_(spool), tell_synced_(std::move(synced)) {
  thread_ = std::thread([this] { Run(); });
}

GroupSync::~GroupSync() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    requested_.Signal();
  }
  thread_.join();
}

void GroupSync::Request(uint64_t end) {
  absl::MutexLock lock(&mutex_);
  end_ = std::max(end_, end);
  requested_.Signal();
}

absl::Status GroupSync::Await(uint64_t end, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  bool expired = false;
  while (failure_.ok() && synced_ < end && !expired) {
    expired = done_.WaitWithDeadline(&mutex_, deadline);
  }
  if (!failure_.ok() || synced_ >= end) return failure_;
  return absl::DeadlineExceededError("spool: the disk did not sync in time");
}

void GroupSync::Run() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    while (!stopping_ && synced_ >= end_) requested_.Wait(&mutex_);
    if (stopping_) return;
    const uint64_t end = end_;
    mutex_.Unlock();
    const absl::Status status = spool_->Sync();
    if (status.ok()) tell_synced_(end);
    mutex_.Lock();
    if (status.ok()) {
      synced_ = end;
    } else {
      failure_ = status;
    }
    done_.SignalAll();
    if (!status.ok()) return;
  }
}

}  // namespace dpledger::client::internal
