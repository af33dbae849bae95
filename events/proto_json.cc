#include "events/proto_json.h"

#include <map>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/absl_view.h"
#include "events/field_checks.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"

namespace dpledger::events {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

absl::Status NotProtoJson(std::string_view what, absl::string_view why) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("not ", ToAbsl(what), " in proto JSON: ", why)),
      {"INVALID_JSON", {}});
}

// The parser's messages go on with a picture of the place over several lines, and may begin with an
// empty path.
absl::string_view FirstLine(absl::string_view message) {
  return absl::StripPrefix(message.substr(0, message.find('\n')), ": ");
}

// A JSON object that gives a field twice, perhaps once by each of its names, says two things:
// neither is taken. The wire form keeps both.
absl::Status CheckNothingTwice(const Descriptor& type, const std::string& wire) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(wire))
    return NotProtoJson(type.full_name(), "its wire form cannot be read");
  std::map<int, int> seen;  // by field number
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& value = fields.field(i);
    const FieldDescriptor& field = *type.FindFieldByNumber(value.number());
    const int index = seen[value.number()]++;
    if (!field.is_repeated() && index > 0) return FieldError(field.name(), "must be given once");
    if (field.message_type() == nullptr) continue;
    const std::string path = field.is_repeated() ? Element(field.name(), index) : field.name();
    RETURN_IF_ERROR(
        Within(path, CheckNothingTwice(*field.message_type(), value.length_delimited())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MessageFromJson(std::string_view json, std::string_view what,
                             google::protobuf::Message& message, Unknown unknown) {
  const Descriptor& type = *message.GetDescriptor();
  const std::unique_ptr<google::protobuf::util::TypeResolver> resolver(
      google::protobuf::util::NewTypeResolverForDescriptorPool("type.googleapis.com",
                                                               type.file()->pool()));
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = unknown == Unknown::kPassedOver;
  std::string wire;
  const auto status = google::protobuf::util::JsonToBinaryString(
      resolver.get(), "type.googleapis.com/" + type.full_name(),
      google::protobuf::StringPiece(json.data(), json.size()), &wire, options);
  if (!status.ok()) {
    return NotProtoJson(what, FirstLine({status.message().data(), status.message().size()}));
  }
  RETURN_IF_ERROR(CheckNothingTwice(type, wire));
  if (!message.ParseFromString(wire)) return NotProtoJson(what, "its wire form cannot be read");
  return absl::OkStatus();
}

std::string MessageToJson(const google::protobuf::Message& message, Zeros zeros) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = zeros == Zeros::kPrinted;
  std::string json;
  // Fails only for a message that holds an Any of an unknown type.
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return "{}";
  return json;
}

}  // namespace dpledger::events
