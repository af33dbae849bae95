#include "events/unknown_fields.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "events/field_checks.h"
#include "google/protobuf/unknown_field_set.h"

namespace dpledger::events {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string PathOf(const FieldDescriptor& field, int index) {
  return field.is_repeated() ? Element(field.name(), index) : std::string(field.name());
}

// Proto3 enums are open: the parser keeps a number that has no name.
absl::Status CheckEnum(const FieldDescriptor& field, int index, int number) {
  if (field.enum_type()->FindValueByNumber(number) != nullptr) return absl::OkStatus();
  return FieldError(PathOf(field, index),
                    absl::StrCat("enum number ", number, " is not known to this version"));
}

// One value of `field`, a field of `message`: the singular one, or element `index` of a repeated
// field. Events come through here as they are appended: a path is made for an error only.
absl::Status CheckValue(const Message& message, const Reflection& reflection,
                        const FieldDescriptor& field, int index) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    return CheckEnum(field, index,
                     field.is_repeated() ? reflection.GetRepeatedEnumValue(message, &field, index)
                                         : reflection.GetEnumValue(message, &field));
  }
  const absl::Status checked = CheckNoUnknownFields(
      field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, index)
                          : reflection.GetMessage(message, &field));
  return checked.ok() ? checked : Within(PathOf(field, index), checked);
}

// Whether values of `field` could be or hold something unknown.
bool IsPlaceForUnknown(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
}

}  // namespace

absl::Status CheckNoUnknownNumbers(const Reflection& reflection, const Message& message) {
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (unknown.empty()) return absl::OkStatus();
  return FieldError(absl::StrCat(unknown.field(0).number()),
                    "field number is not known to this version");
}

absl::Status CheckNoUnknownFields(const Message& message) {
  // Once a message: looking it up takes longer than asking it.
  const Reflection& reflection = *message.GetReflection();
  RETURN_IF_ERROR(CheckNoUnknownNumbers(reflection, message));
  // Those that are set; an enum that is not is its number 0, which always has a name.
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!IsPlaceForUnknown(*field)) continue;
    const int values = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < values; ++i) {
      RETURN_IF_ERROR(CheckValue(message, reflection, *field, i));
    }
  }
  return absl::OkStatus();
}

}  // namespace dpledger::events
