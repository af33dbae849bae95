// What the server counts, as Prometheus reads it: docs/metrics.md lists all of it. Thread safe.
//
//  1. What happens often is counted through references that were made at the start: an event costs
//     a few increments, and no lookup.
//  2. What others count anyway is asked for at every scrape (Pull).
//  3. Labels have few values, all of them this program's own: no names of ledgers or callers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/desk/call_observer.h"
#include "server/desk/method.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/store_metrics.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace dpledger::server {

enum class PulledKind { kCounter, kGauge };

struct PulledSample {
  double value = 0;
  std::map<std::string, std::string> labels;
};

// A family of numbers that is asked for at every scrape. None is no error.
struct Pulled {
  const char* name;
  const char* help;
  PulledKind kind;
  std::function<std::vector<PulledSample>()> read;
};

class Metrics {
 public:
  // Of these methods; `methods` must outlive the metrics.
  explicit Metrics(const std::vector<Method>& methods);
  ~Metrics();

  CallObserver& calls() { return *calls_; }
  StoreObserver& store() { return *store_; }
  // Before the first Text; what `read` refers to must be there as long as Text may be called.
  void Pull(Pulled family);
  void Pull(const char* name, const char* help, PulledKind kind, std::function<double()> read);

  // All of them in Prometheus' text format.
  std::string Text();

 private:
  const std::unique_ptr<prometheus::Registry> registry_;
  const std::unique_ptr<CallMetrics> calls_;
  const std::unique_ptr<StoreMetrics> store_;
  std::vector<Pulled> pulled_;
  absl::Mutex writing_;  // one text at a time: each takes milliseconds and a megabyte
};

}  // namespace dpledger::server
