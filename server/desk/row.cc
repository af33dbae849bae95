#include "server/desk/row.h"

#include <google/protobuf/descriptor.pb.h>

#include "absl/strings/str_cat.h"

namespace dpledger::server {

Method RowOf(const std::string& service, const std::string& name, const Message& request,
             const Message& response) {
  const google::protobuf::MethodDescriptor& method =
      *request.GetDescriptor()->file()->FindServiceByName(service)->FindMethodByName(name);
  Method row;
  row.descriptor = &method;
  row.path = absl::StrCat("/", method.service()->full_name(), "/", method.name());
  row.kind = method.client_streaming()   ? CallKind::kBidirectional
             : method.server_streaming() ? CallKind::kServerStream
                                         : CallKind::kUnary;
  row.request = &request;
  row.response = &response;
  row.no_side_effects =
      method.options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
  return row;
}

}  // namespace dpledger::server
