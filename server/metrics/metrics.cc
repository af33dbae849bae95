#include "server/http_door/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "server/http_door/connect_error.h"

namespace dpledger::server {
namespace {

// Seconds: from an answer out of memory to the longest question.
const prometheus::Histogram::BucketBoundaries kSeconds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                          0.1,    0.3,    1,     3,     10,   30};

}  // namespace

Metrics::Metrics(const std::vector<Method>& methods)
    : registry_(std::make_unique<prometheus::Registry>()) {
  auto& answered = prometheus::BuildCounter()
                       .Name("grpc_server_handled_total")
                       .Help("Unary calls that were answered, by status code, over every door.")
                       .Register(*registry_);
  auto& seconds = prometheus::BuildHistogram()
                      .Name("grpc_server_handling_seconds")
                      .Help("Time from a unary call's arrival to its answer.")
                      .Register(*registry_);
  auto& open = prometheus::BuildGauge()
                   .Name("dpledger_open_streams")
                   .Help("Streams that are open now.")
                   .Register(*registry_);
  auto& opened = prometheus::BuildCounter()
                     .Name("dpledger_streams_opened_total")
                     .Help("Streams that were opened.")
                     .Register(*registry_);
  for (const Method& method : methods) {
    OfMethod& of = methods_[&method];
    std::map<std::string, std::string> labels = {
        {"grpc_service", method.descriptor->service()->full_name()},
        {"grpc_method", method.descriptor->name()}};
    if (method.kind != CallKind::kUnary) {
      of.open_streams = &open.Add(labels);
      of.opened_streams = &opened.Add(labels);
      continue;
    }
    of.seconds = &seconds.Add(labels, kSeconds);
    for (size_t code = 0; code < of.answered.size(); ++code) {
      labels["grpc_code"] = std::string(MetricCode(static_cast<absl::StatusCode>(code)));
      of.answered[code] = &answered.Add(labels);
    }
  }
}

Metrics::~Metrics() = default;

void Metrics::OnAnswered(const Method& method, absl::StatusCode code, absl::Duration took) {
  const OfMethod& of = methods_.at(&method);
  of.answered[std::min(static_cast<size_t>(code), of.answered.size() - 1)]->Increment();
  of.seconds->Observe(absl::ToDoubleSeconds(took));
}

void Metrics::OnStreamOpened(const Method& method) {
  const OfMethod& of = methods_.at(&method);
  of.opened_streams->Increment();
  of.open_streams->Increment();
}

void Metrics::OnStreamDone(const Method& method) { methods_.at(&method).open_streams->Decrement(); }

std::string Metrics::Text() {
  absl::MutexLock lock(&writing_);
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

}  // namespace dpledger::server
