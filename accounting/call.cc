#include "accounting/call.h"

#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "accounting/fork_gate.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/names.h"
#include "events/proto_json.h"
#include "events/wire_errors.h"
#include "questions/calls.h"
#include "questions/given_events.h"

namespace dpledger::accounting {
namespace {

absl::Status Parse(Encoding encoding, std::string_view bytes, google::protobuf::Message& message) {
  const ForkGate gate;
  if (encoding == Encoding::kJson) {
    return events::MessageFromJson(bytes, "a " + message.GetDescriptor()->full_name(), message);
  }
  const bool read = bytes.size() <= std::numeric_limits<int>::max() &&
                    message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return read ? absl::OkStatus() : events::NotAMessage(*message.GetDescriptor());
}

template <typename Request>
absl::StatusOr<std::string> AnswerOf(Encoding encoding, std::string_view question) {
  Request request;
  RETURN_IF_ERROR(Parse(encoding, question, request));
  ASSIGN_OR_RETURN(const auto response,
                   questions::AnswerCall(request, questions::SubjectOfEvents, {}));
  return Serialize(encoding, response);
}

absl::StatusOr<std::string> NeedsAServer(Encoding, std::string_view) {
  return FieldError("budget", "must not be named: without a server there are no ledgers");
}

struct Row {
  std::string_view method;
  absl::StatusOr<std::string> (*answer)(Encoding, std::string_view);
};
constexpr std::array<Row, 7> kMethods = {{
    {"ComputeEpsilon", AnswerOf<v1::ComputeEpsilonRequest>},
    {"ComputeDelta", AnswerOf<v1::ComputeDeltaRequest>},
    {"Calibrate", AnswerOf<v1::CalibrateRequest>},
    {"ComputeTuningCost", AnswerOf<v1::ComputeTuningCostRequest>},
    {"ComputeProfile", AnswerOf<v1::ComputeProfileRequest>},
    {"AuditClaim", AnswerOf<v1::AuditClaimRequest>},
    {"ComputeBudget", NeedsAServer},
}};

}  // namespace

absl::StatusOr<std::string> Answer(Encoding encoding, std::string_view method,
                                   std::string_view question) {
  for (const Row& row : kMethods) {
    if (row.method == method) return row.answer(encoding, question);
  }
  return absl::UnimplementedError(
      absl::StrCat("method: AccountingService has no method ", ToAbsl(events::Quoted(method))));
}

std::string Serialize(Encoding encoding, const google::protobuf::Message& message) {
  const ForkGate gate;
  return encoding == Encoding::kJson ? events::MessageToJson(message) : message.SerializeAsString();
}

}  // namespace dpledger::accounting
