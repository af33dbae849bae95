// What the server says of its health: for grpc.health.v1.Health, and for doors that have a page of
// their own for it. "" is the server as a whole; each service has an entry too. NOT_SERVING until
// SetServing says otherwise. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "server/desk/stream.h"

namespace dpledger::server {

class HealthWatch;

class Health {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  // `services`: full names.
  explicit Health(const std::vector<std::string>& services);

  // nullopt: there is no such service.
  std::optional<Status> Of(const std::string& service) const;

  // Of the server and all services.
  void SetServing(bool serving);
  // Whether the server as a whole is ready, and can prove what it has: "" and AuditService. The
  // other services' health stays as it is.
  void SetReady(bool ready);

  // A stream that sends the service's health now, and again whenever it changes, until its caller
  // goes. SERVICE_UNKNOWN if there is no such service. The stream must not outlive this object.
  std::shared_ptr<Stream> Watch(const std::string& service, StreamDoor* door);

 private:
  friend class HealthWatch;
  void Tell(bool serving, bool readiness_alone);

  mutable absl::Mutex mutex_;
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::map<HealthWatch*, std::weak_ptr<HealthWatch>> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
