// Watches a server's health (grpc.health.v1) from now to its end. Not thread safe.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"

namespace dpledger::testing {

class HealthWatch {
 public:
  explicit HealthWatch(const std::string& address);
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Waits until the server says NOT_SERVING, and returns true, or ends.
  bool AwaitNotServing();

 private:
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  grpc::ClientContext context_;
  bool not_serving_ = false;
  std::thread reader_;
};

}  // namespace dpledger::testing
