#include "server/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <utility>

namespace dpledger::server {
namespace {

prometheus::MetricFamily Ask(const Pulled& family) {
  const bool counts = family.kind == PulledKind::kCounter;
  prometheus::MetricFamily asked;
  asked.name = family.name;
  asked.help = family.help;
  asked.type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  for (const PulledSample& sample : family.read()) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    (counts ? metric.counter.value : metric.gauge.value) = sample.value;
    asked.metric.push_back(std::move(metric));
  }
  return asked;
}

}  // namespace

Metrics::Metrics(const std::vector<Method>& methods)
    : registry_(std::make_unique<prometheus::Registry>()),
      calls_(std::make_unique<CallMetrics>(methods, *registry_)),
      store_(std::make_unique<StoreMetrics>(*registry_)) {}

Metrics::~Metrics() = default;

void Metrics::Pull(Pulled family) { pulled_.push_back(std::move(family)); }

void Metrics::Pull(const char* name, const char* help, PulledKind kind,
                   std::function<double()> read) {
  Pull({name, help, kind, [read = std::move(read)] {
          return std::vector<PulledSample>{{read(), {}}};
        }});
}

std::string Metrics::Text() {
  absl::MutexLock lock(&writing_);
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (const Pulled& family : pulled_) families.push_back(Ask(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace dpledger::server
