#include "tests/fault/health_watch.h"

#include "connection/connection.h"

namespace dpledger::testing {

using grpc::health::v1::HealthCheckResponse;

HealthWatch::HealthWatch(const std::string& address)
    : stub_(grpc::health::v1::Health::NewStub(connection::Connect(address).value())) {
  reader_ = std::thread([this] {
    const auto watch = stub_->Watch(&context_, {});
    HealthCheckResponse response;
    while (!not_serving_ && watch->Read(&response)) {
      not_serving_ = response.status() == HealthCheckResponse::NOT_SERVING;
    }
    context_.TryCancel();  // a server that drains need not wait for us
    watch->Finish();
  });
}

HealthWatch::~HealthWatch() {
  context_.TryCancel();
  if (reader_.joinable()) reader_.join();
}

bool HealthWatch::AwaitNotServing() {
  if (reader_.joinable()) reader_.join();
  return not_serving_;
}

}  // namespace dpledger::testing
