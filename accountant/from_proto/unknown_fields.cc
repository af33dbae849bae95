#include "accountant/from_proto/unknown_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/field_checks.h"
#include "google/protobuf/unknown_field_set.h"

namespace dpledger::accountant {
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

// One value of `field`: the singular one, or element `index` of a repeated field. Every event of
// every append comes through here: a path is made for an error only.
absl::Status CheckValue(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
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

// How many values of `field` could hold something unknown.
int ValuesToCheck(const Message& message, const FieldDescriptor& field) {
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!is_message && field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return 0;
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field);
  return reflection.HasField(message, &field) ? 1 : 0;
}

}  // namespace

absl::Status CheckNoUnknownFields(const Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  if (!unknown.empty()) {
    return FieldError(absl::StrCat(unknown.field(0).number()),
                      "field number is not known to this version");
  }
  const google::protobuf::Descriptor& fields = *message.GetDescriptor();
  for (int f = 0; f < fields.field_count(); ++f) {
    const FieldDescriptor& field = *fields.field(f);
    const int values = ValuesToCheck(message, field);
    for (int i = 0; i < values; ++i) RETURN_IF_ERROR(CheckValue(message, field, i));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
