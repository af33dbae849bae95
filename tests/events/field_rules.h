// A table of rules about message fields: each row is a good message in protobuf's text format with
// a hole, a value that fits, and values that do not, with the whole message each must be refused
// with.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace dpledger::accountant {

struct BadValue {
  std::string value;
  std::string message;
};

struct FieldRule {
  std::string message;  // with @ for the value
  std::string good;
  std::vector<BadValue> bad;

  std::string With(const std::string& value) const {
    return absl::StrReplaceAll(message, {{"@", value}});
  }
};
inline void PrintTo(const FieldRule& rule, std::ostream* out) { *out << rule.message; }

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// The good value passes `check` (Message -> absl::Status), and every bad one is refused with
// exactly its message.
template <typename Message, typename Check>
void ExpectRule(const FieldRule& rule, Check check) {
  const absl::Status control = check(FromText<Message>(rule.With(rule.good)));
  EXPECT_TRUE(control.ok()) << rule.With(rule.good) << "\n" << control;
  for (const BadValue& bad : rule.bad) {
    const absl::Status status = check(FromText<Message>(rule.With(bad.value)));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << rule.With(bad.value);
    EXPECT_EQ(FromAbsl(status.message()), bad.message) << rule.With(bad.value);
    const ErrorReason reason = ReasonOf(status);
    EXPECT_EQ(reason.reason, "INVALID_FIELD");
    EXPECT_EQ(reason.metadata.at("field"), bad.message.substr(0, bad.message.find(": ")));
  }
}

}  // namespace dpledger::accountant
