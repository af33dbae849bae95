#include "server/metrics/call_metrics.h"

#include <google/protobuf/descriptor.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cmath>
#include <map>

#include "base/status.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::server {
namespace {

using Bounds = prometheus::Histogram::BucketBoundaries;
using Labels = std::map<std::string, std::string>;

// From an answer out of memory to the longest question.
const Bounds kSeconds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};
// 1e-5 is what questions ask for unless told; 1 is an answer with an upper bound alone.
const Bounds kGaps = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1};
constexpr size_t kMostReasons = 64;
constexpr char kOtherReason[] = "OTHER";

// By their numbers, as gRPC's own metrics name them.
constexpr std::array<const char*, 17> kCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr size_t kUnknown = 2;

// By their numbers.
constexpr std::array<const char*, 3> kTypes = {"unary", "server_stream", "bidi_stream"};

// The fields of a response that are its answer.
std::vector<const google::protobuf::FieldDescriptor*> AnswersOf(const Method& method) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const char* name : {"epsilon", "delta"}) {
    const auto* field = method.descriptor->output_type()->FindFieldByName(name);
    if (field != nullptr && !field->is_repeated() &&
        field->message_type() == v1::Interval::descriptor()) {
      fields.push_back(field);
    }
  }
  return fields;
}

// (upper - lower) / upper, in [0, 1]; NaN for a bound that is not finite.
double RelativeGap(const v1::Interval& interval) {
  if (interval.upper() == 0) return 0;
  return std::isfinite(interval.upper()) ? (interval.upper() - interval.lower()) / interval.upper()
                                         : NAN;
}

prometheus::Family<prometheus::Counter>& Counter(prometheus::Registry& registry, const char* name,
                                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

CallMetrics::CallMetrics(const std::vector<Method>& methods, prometheus::Registry& registry)
    : first_(methods.data()),
      methods_(methods.size()),
      refusals_(Counter(registry, "dpledger_refusals_total",
                        "Calls that ended with an error, by the error's reason.")) {
  auto& started =
      Counter(registry, "grpc_server_started_total", "Calls that came, over every door.");
  auto& handled = Counter(registry, "grpc_server_handled_total",
                          "Calls that ended, by status code, over every door.");
  auto& received =
      Counter(registry, "grpc_server_msg_received_total", "Messages that streams received.");
  auto& sent = Counter(registry, "grpc_server_msg_sent_total", "Messages that streams sent.");
  auto& seconds = prometheus::BuildHistogram()
                      .Name("grpc_server_handling_seconds")
                      .Help("Time from a unary call's arrival to its answer.")
                      .Register(registry);
  auto& open = prometheus::BuildGauge()
                   .Name("dpledger_open_streams")
                   .Help("Streams that are open now.")
                   .Register(registry);
  auto& gaps = prometheus::BuildHistogram()
                   .Name("dpledger_answer_relative_gap")
                   .Help("Width of an answer's interval over its upper end.")
                   .Register(registry);
  // Alerts ask for an increase of these: they begin at 0, so that the first refusal is one.
  for (const char* reason : {"BUDGET_EXCEEDED", "FILTER_CROSSED"}) {
    refusals_.Add({{"reason", reason}});
  }
  for (size_t i = 0; i < methods.size(); ++i) {
    const Method& method = methods[i];
    OfMethod& of = methods_[i];
    Labels labels = {{"grpc_type", kTypes[static_cast<size_t>(method.kind)]},
                     {"grpc_service", method.descriptor->service()->full_name()},
                     {"grpc_method", method.descriptor->name()}};
    of.started = &started.Add(labels);
    if (method.kind == CallKind::kUnary) {
      of.seconds = &seconds.Add(labels, kSeconds);
    } else {
      of.open = &open.Add(labels);
      of.received = &received.Add(labels);
      of.sent = &sent.Add(labels);
    }
    for (const auto* field : AnswersOf(method)) {
      of.widths.push_back({field, &gaps.Add({{"grpc_method", method.descriptor->name()},
                                             {"quantity", field->name()}},
                                            kGaps)});
    }
    for (size_t code = 0; code < of.handled.size(); ++code) {
      labels["grpc_code"] = kCodes[code];
      of.handled[code] = &handled.Add(labels);
    }
  }
}

void CallMetrics::OnStarted(const Method& method) {
  const OfMethod& of = Of(method);
  of.started->Increment();
  if (of.open != nullptr) of.open->Increment();
}

void CallMetrics::OnHandled(const Method& method, const absl::Status& status,
                            const Message* response, absl::Duration took) {
  const OfMethod& of = Of(method);
  const auto code = static_cast<size_t>(status.code());
  of.handled[code < of.handled.size() ? code : kUnknown]->Increment();
  if (of.seconds != nullptr) of.seconds->Observe(absl::ToDoubleSeconds(took));
  if (of.open != nullptr) of.open->Decrement();
  if (!status.ok()) CountRefusal(status);
  if (response == nullptr) return;
  for (const Width& width : of.widths) {
    if (!response->GetReflection()->HasField(*response, width.field)) continue;
    const double gap = RelativeGap(static_cast<const v1::Interval&>(
        response->GetReflection()->GetMessage(*response, width.field)));
    if (!std::isnan(gap)) width.gap->Observe(gap);
  }
}

void CallMetrics::OnReceived(const Method& method) { Of(method).received->Increment(); }

void CallMetrics::OnSent(const Method& method) { Of(method).sent->Increment(); }

void CallMetrics::CountRefusal(const absl::Status& status) {
  const std::string reason = ReasonOf(status).reason;
  if (reason.empty()) return;
  absl::MutexLock lock(&mutex_);
  auto found = by_reason_.find(reason);
  if (found == by_reason_.end()) {
    const std::string label = by_reason_.size() < kMostReasons ? reason : kOtherReason;
    found = by_reason_.emplace(label, nullptr).first;
    if (found->second == nullptr) found->second = &refusals_.Add({{"reason", label}});
  }
  found->second->Increment();
}

}  // namespace dpledger::server
