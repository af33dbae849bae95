#include "server/desk/call_names.h"

#include "base/plain_name.h"
#include "identity/caller.h"
#include "identity/token.h"

namespace dpledger::server {
namespace {

using google::protobuf::FieldDescriptor;

std::string Printable(const std::string& text) {
  const std::string shown = identity::WithoutTokens(text);
  return shown.empty() || shown != text || IsPlainName(text) ? shown : identity::Shown(text);
}

const FieldDescriptor* FieldOf(const Message& message, const char* name,
                               FieldDescriptor::CppType type) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  return field != nullptr && field->cpp_type() == type && !field->is_repeated() ? field : nullptr;
}

std::string RequestIdOf(const Message& message) {
  const google::protobuf::Reflection& fields = *message.GetReflection();
  // A message of an Append stream holds its request.
  if (const auto* batch = FieldOf(message, "batch", FieldDescriptor::CPPTYPE_MESSAGE)) {
    return RequestIdOf(fields.GetMessage(message, batch));
  }
  const auto* id = FieldOf(message, "request_id", FieldDescriptor::CPPTYPE_STRING);
  return id == nullptr ? "" : fields.GetString(message, id);
}

}  // namespace

CallNames NamesOf(const Method& method, const Message& request) {
  CallNames names;
  if (!method.demands) return names;
  for (const Demand& demand : method.demands(request)) {
    if (demand.resource.kind != Resource::Kind::kLedger) continue;
    names.ledger = Printable(demand.resource.name);
    break;
  }
  names.request_id = Printable(RequestIdOf(request));
  return names;
}

}  // namespace dpledger::server
