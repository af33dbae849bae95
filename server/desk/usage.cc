#include "server/desk/usage.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "server/desk/call_names.h"

namespace dpledger::server {
namespace {

std::string NameOf(const Resource& resource) {
  return resource.kind == Resource::Kind::kRegistry ? "registry" : resource.name;
}

// The name in a request to administer something, or of what is asked about; empty if it has none.
std::string AboutOf(const Message& message) {
  const auto* field = message.GetDescriptor()->FindFieldByName("name");
  if (field == nullptr) field = message.GetDescriptor()->FindFieldByName("resource");
  if (field == nullptr || field->is_repeated() ||
      field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    return "";
  }
  return message.GetReflection()->GetString(message, field);
}

bool Reads(Permission permission) {
  switch (permission) {
    case Permission::kList:
    case Permission::kAsk:
    case Permission::kReadEntries:
    case Permission::kExport:
    case Permission::kVerify:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Usage::Stranger(const CallContext& call) {
  if (record_ == nullptr) return;
  v1::Access::Refused refused;
  refused.set_reason(std::string(call.identified.message()));
  // Of a token that has ended, whose it was.
  record_->Refused(ReasonOf(call.identified).metadata["caller"], /*identified=*/false, call.peer,
                   std::move(refused));
}

void Usage::Denied(const Method& method, const CallContext& call, const Message& message,
                   const Demand& demand) {
  const CallNames names = NamesOf(method, message);
  const std::string_view permission = identity::PermissionName(demand.permission);
  refused_.Write(call.peer, call.caller.name, absl::StrCat("may not ", ToAbsl(permission)),
                 {{"ledger", names.ledger}, {"request_id", names.request_id}});
  if (record_ == nullptr) return;
  v1::Access::Refused refused;
  refused.set_permission(std::string(permission));
  // An administrator's right is for no ledger in particular; the call may have named one.
  const std::string resource = NameOf(demand.resource);
  refused.set_resource(resource.empty() ? names.ledger : resource);
  refused.set_request_id(names.request_id);
  refused.set_reason("the caller does not have this permission");
  record_->Refused(call.caller.name, /*identified=*/true, call.peer, std::move(refused));
}

void Usage::Refused(const CallContext& call, const absl::Status& status) {
  if (!absl::IsPermissionDenied(status)) return;
  ErrorReason why = ReasonOf(status);
  refused_.Write(call.peer, call.caller.name, why.reason,
                 {{"ledger", why.metadata["ledger"]}, {"request_id", why.metadata["request_id"]}});
  if (record_ == nullptr) return;
  v1::Access::Refused refused;
  refused.set_resource(why.metadata[why.metadata.contains("dataset") ? "dataset" : "ledger"]);
  refused.set_request_id(why.metadata["request_id"]);
  refused.set_reason(why.reason);
  record_->Refused(call.caller.name, /*identified=*/true, call.peer, std::move(refused));
}

void Usage::Served(const CallContext& call, const std::vector<Demand>& demands, uint64_t entries) {
  if (record_ == nullptr) return;
  for (const Demand& demand : demands) {
    if (Reads(demand.permission)) {
      record_->Reads(call.caller.name, identity::PermissionName(demand.permission),
                     NameOf(demand.resource), entries);
    }
  }
}

absl::Status Usage::Allowed(const Method& method, const CallContext& call, const Message& message) {
  if (record_ == nullptr) return absl::OkStatus();
  if (method.permission != Permission::kAdminister) return absl::OkStatus();
  return record_->Administers(call.caller.name, call.peer, method.descriptor->name(),
                              AboutOf(message));
}

}  // namespace dpledger::server
