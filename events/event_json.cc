#include "events/event_json.h"

#include "absl/strings/ascii.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/proto_json.h"

namespace dpledger::events {

absl::StatusOr<v1::Event> EventFromJson(std::string_view line) {
  if (absl::StripAsciiWhitespace(ToAbsl(line)).empty()) {
    return WithReason(absl::InvalidArgumentError("not an event in proto JSON: the line is empty"),
                      {"INVALID_JSON", {}});
  }
  v1::Event event;
  RETURN_IF_ERROR(MessageFromJson(line, "an event", event));
  return event;
}

}  // namespace dpledger::events
