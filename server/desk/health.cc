#include "server/desk/health.h"

#include "absl/status/status.h"
#include "dpledger/v1/audit_service.pb.h"

namespace dpledger::server {

using grpc::health::v1::HealthCheckResponse;

// Its lock is taken before that of Health, which calls it without a lock.
class HealthWatch : public Stream, public std::enable_shared_from_this<HealthWatch> {
 public:
  HealthWatch(Health* health, std::string service, StreamDoor* door)
      : health_(*health), service_(std::move(service)), door_(door) {}
  ~HealthWatch() override {
    absl::MutexLock lock(&health_.mutex_);
    health_.watches_.erase(this);
  }

  void Start() override { Advance(); }
  void OnRead(absl::StatusOr<MessagePointer>) override {}  // it reads nothing
  void OnEndOfInput() override {}
  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) cancelled_ = true;
    }
    Advance();
  }
  void OnCancel() override {
    {
      absl::MutexLock lock(&mutex_);
      cancelled_ = true;
    }
    Advance();
  }
  void End(const absl::Status&) override { OnCancel(); }

  // Sends the service's health if it is not what was sent last, or finishes.
  void Advance() {
    const std::shared_ptr<HealthWatch> self = shared_from_this();
    absl::MutexLock lock(&mutex_);
    if (advancing_) return;
    advancing_ = true;
    while (!finished_ && !writing_) {
      HealthCheckResponse response;
      response.set_status(health_.Of(service_).value_or(HealthCheckResponse::SERVICE_UNKNOWN));
      if (!cancelled_ && sent_ == response.status()) break;
      (cancelled_ ? finished_ : writing_) = true;
      sent_ = response.status();
      const bool finish = cancelled_;
      mutex_.Unlock();  // the door may call back
      if (finish) {
        door_->Finish(absl::CancelledError("the caller has gone"));
      } else {
        door_->StartWrite(response);
      }
      mutex_.Lock();
    }
    advancing_ = false;
  }

 private:
  Health& health_;
  const std::string service_;
  StreamDoor* const door_;  // gone after Finish

  absl::Mutex mutex_;
  std::optional<Health::Status> sent_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // One thread at a time starts operations, so that none is started after Finish.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
};

Health::Health(const std::vector<std::string>& services) {
  absl::MutexLock lock(&mutex_);
  statuses_[""] = HealthCheckResponse::NOT_SERVING;
  for (const std::string& service : services) statuses_[service] = HealthCheckResponse::NOT_SERVING;
}

std::optional<Health::Status> Health::Of(const std::string& service) const {
  absl::MutexLock lock(&mutex_);
  const auto found = statuses_.find(service);
  if (found == statuses_.end()) return std::nullopt;
  return found->second;
}

void Health::SetServing(bool serving) { Tell(serving, false); }

void Health::SetReady(bool ready) { Tell(ready, true); }

void Health::Tell(bool serving, bool readiness_alone) {
  const std::string& prover =
      v1::GetCheckpointRequest::descriptor()->file()->service(0)->full_name();
  std::vector<std::shared_ptr<HealthWatch>> watches;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [service, status] : statuses_) {
      if (readiness_alone && !service.empty() && service != prover) continue;
      status = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    }
    for (const auto& [unused, weak] : watches_) {
      if (std::shared_ptr<HealthWatch> watch = weak.lock()) watches.push_back(std::move(watch));
    }
  }
  for (const auto& watch : watches) watch->Advance();
}

std::shared_ptr<Stream> Health::Watch(const std::string& service, StreamDoor* door) {
  auto watch = std::make_shared<HealthWatch>(this, service, door);
  absl::MutexLock lock(&mutex_);
  watches_[watch.get()] = watch;
  return watch;
}

}  // namespace dpledger::server
