// What the server counts, as Prometheus reads it: the calls of every door, by the names that gRPC's
// servers use. Thread safe.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/desk/call_observer.h"
#include "server/desk/method.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace dpledger::server {

class Metrics : public CallObserver {
 public:
  // Of these methods; `methods` must outlive the metrics.
  explicit Metrics(const std::vector<Method>& methods);
  ~Metrics() override;

  void OnAnswered(const Method& method, absl::StatusCode code, absl::Duration took) override;
  void OnStreamOpened(const Method& method) override;
  void OnStreamDone(const Method& method) override;

  // All of them in Prometheus' text format.
  std::string Text();

 private:
  struct OfMethod {
    std::array<prometheus::Counter*, 17> answered{};  // by code; unary methods alone
    prometheus::Histogram* seconds = nullptr;
    prometheus::Gauge* open_streams = nullptr;
    prometheus::Counter* opened_streams = nullptr;
  };

  const std::unique_ptr<prometheus::Registry> registry_;
  std::unordered_map<const Method*, OfMethod> methods_;  // fixed from the constructor on
  absl::Mutex writing_;  // one text at a time: each takes milliseconds and a megabyte
};

}  // namespace dpledger::server
