#include "accountant/from_proto/unknown_fields.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/field_checks.h"
#include "google/protobuf/unknown_field_set.h"

namespace dpledger::accountant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Proto3 enums are open: the parser keeps a number that has no name.
absl::Status CheckEnum(const FieldDescriptor& field, std::string_view path, int number) {
  if (field.enum_type()->FindValueByNumber(number) != nullptr) return absl::OkStatus();
  return FieldError(path, absl::StrCat("enum number ", number, " is not known to this version"));
}

// One value of `field`: the singular one, or element `index` of a repeated field.
absl::Status CheckValue(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const std::string path =
      field.is_repeated() ? Element(field.name(), index) : std::string(field.name());
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Within(path,
                    CheckNoUnknownFields(field.is_repeated()
                                             ? reflection.GetRepeatedMessage(message, &field, index)
                                             : reflection.GetMessage(message, &field)));
    case FieldDescriptor::CPPTYPE_ENUM:
      return CheckEnum(field, path,
                       field.is_repeated() ? reflection.GetRepeatedEnumValue(message, &field, index)
                                           : reflection.GetEnumValue(message, &field));
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status CheckNoUnknownFields(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) {
    return FieldError(absl::StrCat(unknown.field(0).number()),
                      "field number is not known to this version");
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) RETURN_IF_ERROR(CheckValue(message, *field, i));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
