// Makes rows of the table from methods of services. For table.cc alone.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/desk/method.h"

namespace dpledger::server {

// What the .proto file says of the method. The service is in the file of its request. A method that
// is not there ends the process: the row is misspelt.
Method RowOf(const std::string& service, const std::string& name, const Message& request,
             const Message& response);

template <typename Response>
absl::StatusOr<MessagePointer> Pointer(absl::StatusOr<Response> response) {
  if (!response.ok()) return std::move(response).status();
  return std::make_unique<Response>(*std::move(response));
}

// A unary row that calls a method of a service. With a context, the answer takes notice of the
// caller's deadline; without, it waits for the disk at most.
template <typename Service, typename Request, typename Response, typename... Context>
Method Unary(const std::string& service_name, const std::string& name, Pool pool, Service* service,
             absl::StatusOr<Response> (Service::*method)(const Request&, Context...)) {
  Method row = RowOf(service_name, name, Request::default_instance(), Response::default_instance());
  row.pool = pool;
  row.answer = [service, method](Message& request, const CallContext& call) {
    const auto& asked = static_cast<const Request&>(request);
    if constexpr (sizeof...(Context) == 0) {
      return Pointer((service->*method)(asked));
    } else {
      return Pointer((service->*method)(asked, call));
    }
  };
  return row;
}

}  // namespace dpledger::server
