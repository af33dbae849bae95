#include "events/field_checks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dpledger::events {

absl::Status MustBeSet(bool is_set, std::string_view field) {
  return is_set ? absl::OkStatus() : FieldError(field, "must be set");
}

absl::Status NoneIsSet(const google::protobuf::OneofDescriptor& oneof) {
  std::vector<std::string> names;
  for (int i = 0; i < oneof.field_count(); ++i) names.push_back(oneof.field(i)->name());
  return FieldError(oneof.name(),
                    absl::StrCat("must be set to one of ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::string_view> KindOf(const google::protobuf::Message& message) {
  // The first oneof nearly always: looking it up by name takes longer than all checks of an event.
  const google::protobuf::Descriptor& fields = *message.GetDescriptor();
  const auto* kind = fields.oneof_decl(0)->name() == "kind" ? fields.oneof_decl(0)
                                                            : fields.FindOneofByName("kind");
  if (const auto* field = message.GetReflection()->GetOneofFieldDescriptor(message, kind)) {
    return std::string_view(field->name());
  }
  return NoneIsSet(*kind);
}

}  // namespace dpledger::events
