// What the server says of its health: for grpc.health.v1.Health, and for whichever door has a page
// of its own for it. "" is the server as a whole; each service has an entry too. NOT_SERVING until
// it is told otherwise. Thread safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "server/desk/stream.h"

namespace dpledger::server {

class Health {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  // `services`: full names.
  explicit Health(const std::vector<std::string>& services);
  ~Health();

  // nullopt: there is no such service.
  std::optional<Status> Of(const std::string& service) const;

  // Of the server and all services.
  void SetServing(bool serving);
  // Whether the server as a whole is ready, and can prove what it has: "" and AuditService. The
  // other services' health stays as it is.
  void SetReady(bool ready);

  // A stream that sends the service's health now, and again whenever it changes, until it is
  // cancelled or ended. SERVICE_UNKNOWN if there is no such service.
  std::shared_ptr<Stream> Watch(const std::string& service, StreamDoor* door);

 private:
  class Watcher;
  void Set(const std::vector<std::string>& services, bool serving);
  void Forget(Watcher* watcher);

  mutable absl::Mutex mutex_;
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::map<Watcher*, std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
