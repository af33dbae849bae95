#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "accountant/from_proto/event_from_proto.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "google/protobuf/util/json_util.h"

namespace dpledger::accountant {
namespace {

absl::Status NotAnEvent(std::string_view why) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("not an event in proto JSON: ", ToAbsl(why))),
      {"INVALID_JSON", {}});
}

}  // namespace

absl::StatusOr<v1::Event> EventFromJson(std::string_view line) {
  if (absl::StripAsciiWhitespace(ToAbsl(line)).empty()) return NotAnEvent("the line is empty");
  v1::Event event;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(line.data(), line.size()), &event);
  if (!status.ok()) {
    return NotAnEvent(std::string_view(status.message().data(), status.message().size()));
  }
  return event;
}

}  // namespace dpledger::accountant
