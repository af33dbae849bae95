#include "server/metrics/store_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace dpledger::server {
namespace {

using Bounds = prometheus::Histogram::BucketBoundaries;

// From a disk with its own battery to one that hangs.
const Bounds kSeconds = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
const Bounds kRequests = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

prometheus::Histogram& Histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const Bounds& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : seconds_(Histogram(registry, "dpledger_commit_seconds",
                         "Time that the disk or the database took for a group of requests.",
                         kSeconds)),
      requests_(Histogram(registry, "dpledger_commit_group_requests",
                          "Requests that became durable together.", kRequests)),
      entries_(Counter(registry, "dpledger_entries_appended_total", "Entries made durable.")),
      ledgers_(Counter(registry, "dpledger_ledgers_created_total", "Ledgers made.")) {}

void StoreMetrics::OnGroup(const CommittedGroup& group) {
  seconds_.Observe(absl::ToDoubleSeconds(group.took));
  requests_.Observe(static_cast<double>(group.requests));
  entries_.Increment(static_cast<double>(group.entries));
  ledgers_.Increment(static_cast<double>(group.ledgers));
}

}  // namespace dpledger::server
