// Counts the calls of every door: by the names that gRPC's servers use, how wide the answers'
// intervals are, and why calls were refused. Thread safe.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/desk/call_observer.h"
#include "server/desk/method.h"

namespace prometheus {
class Counter;
template <typename T>
class Family;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace dpledger::server {

class CallMetrics : public CallObserver {
 public:
  // Of these methods. Both must outlive the metrics.
  CallMetrics(const std::vector<Method>& methods, prometheus::Registry& registry);

  void OnStarted(const Method& method) override;
  void OnHandled(const Method& method, const absl::Status& status, const Message* response,
                 absl::Duration took) override;
  void OnReceived(const Method& method) override;
  void OnSent(const Method& method) override;

 private:
  // An interval of a method's answer, and where its relative width is counted.
  struct Width {
    const google::protobuf::FieldDescriptor* field;
    prometheus::Histogram* gap;
  };
  struct OfMethod {
    prometheus::Counter* started = nullptr;
    std::array<prometheus::Counter*, 17> handled{};  // by code
    prometheus::Histogram* seconds = nullptr;        // unary methods alone
    std::vector<Width> widths;
    prometheus::Gauge* open = nullptr;  // streams alone, and the next two
    prometheus::Counter* received = nullptr;
    prometheus::Counter* sent = nullptr;
  };

  OfMethod& Of(const Method& method) { return methods_[&method - first_]; }
  // Counts the reason of an error. Reasons are constants of this program; the bound is for the day
  // that one is not.
  void CountRefusal(const absl::Status& status);

  const Method* const first_;
  std::vector<OfMethod> methods_;  // in the order of the table

  prometheus::Family<prometheus::Counter>& refusals_;
  absl::Mutex mutex_;
  std::unordered_map<std::string, prometheus::Counter*> by_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
