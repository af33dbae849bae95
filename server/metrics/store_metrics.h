// Counts what a store makes durable. Thread safe.
#pragma once

#include "ledger_store/store.h"

namespace prometheus {
class Counter;
class Histogram;
class Registry;
}  // namespace prometheus

namespace dpledger::server {

class StoreMetrics : public StoreObserver {
 public:
  // `registry` must outlive the metrics.
  explicit StoreMetrics(prometheus::Registry& registry);

  void OnGroup(const CommittedGroup& group) override;

 private:
  prometheus::Histogram& seconds_;
  prometheus::Histogram& requests_;
  prometheus::Counter& entries_;
  prometheus::Counter& ledgers_;
};

}  // namespace dpledger::server
