#include "events/event_json.h"

#include <limits>

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/events/field_rules.h"

namespace dpledger::accountant {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::StartsWith;

const char kLine[] =
    R"({"rounds":{"scheme":{"poisson":{"probability":0.01}},)"
    R"("queries":[{"l2NormBound":1,"noiseStddev":2.5,"noise":"ROUNDED_GAUSSIAN"}],"count":"10000"}})";

v1::Event Expected() {
  return FromText<v1::Event>(
      "rounds { scheme { poisson { probability: 0.01 } } queries { l2_norm_bound: 1 "
      "noise_stddev: 2.5 noise: ROUNDED_GAUSSIAN } count: 10000 }");
}

void ExpectRefused(const std::string& line, const std::string& message_start) {
  const absl::Status status = events::EventFromJson(line).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
  EXPECT_THAT(std::string(status.message()), StartsWith(message_start)) << line;
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
}

TEST(EventFromJson, ReadsCamelCaseAndProtoNames) {
  const auto camel = events::EventFromJson(kLine);
  ASSERT_TRUE(camel.ok()) << camel.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*camel, Expected())) << camel->DebugString();

  const auto proto = events::EventFromJson(
      R"({"rounds": {"scheme": {"poisson": {"probability": 0.01}}, "queries": [{"l2_norm_bound": 1,
          "noise_stddev": 2.5, "noise": "ROUNDED_GAUSSIAN"}], "count": 10000}})");
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*proto, Expected())) << proto->DebugString();
}

// A double in a file is the double that was written: 17 digits, the smallest one, and infinity as a
// string.
TEST(EventFromJson, ReadsNumbersExactly) {
  const auto read = [](const std::string& number) {
    const auto event =
        events::EventFromJson(R"({"mechanism":{"gaussian":{"noiseMultiplier":)" + number + "}}}");
    EXPECT_TRUE(event.ok()) << event.status();
    return event->mechanism().gaussian().noise_multiplier();
  };
  EXPECT_EQ(read("0.10000000000000001"), 0.1);
  EXPECT_EQ(read("1.0000000000000002"), 1.0000000000000002);
  EXPECT_EQ(read("5e-324"), 5e-324);
  EXPECT_EQ(read("\"Infinity\""), std::numeric_limits<double>::infinity());
}

TEST(EventFromJson, EmptyLineIsRefused) {
  for (const char* line : {"", " ", "\t\r\n"}) {
    ExpectRefused(line, "not an event in proto JSON: the line is empty");
  }
}

// The writer died in the middle of a line: no beginning of an event may pass for one.
TEST(EventFromJson, LineTornAnywhereIsRefused) {
  const std::string line = kLine;
  for (size_t size = 0; size < line.size(); ++size) {
    ExpectRefused(line.substr(0, size), "not an event in proto JSON: ");
  }
  EXPECT_TRUE(events::EventFromJson(line).ok());
}

TEST(EventFromJson, WhatIsNotAnEventIsRefusedWithTheReason) {
  const std::string prefix = "not an event in proto JSON: ";
  ExpectRefused("[]", prefix + "Root element must be a message.");
  ExpectRefused("3", prefix + "Root element must be a message.");
  ExpectRefused(R"({"nope":1})", prefix + "nope: Cannot find field.");
  ExpectRefused(R"({"mechanism":{"gaussian":{"sigma":1}}})",
                prefix + "(mechanism.gaussian) sigma: Cannot find field.");
  ExpectRefused(std::string(kLine) + kLine, prefix + "Parsing terminated before end of input.");
  ExpectRefused(R"({"mechanism":{"gaussian":{"noiseMultiplier":1e400}}})",
                prefix + "Number exceeds the range of double.");
  ExpectRefused(R"({"rounds":{"count":1.5}})", prefix + "(rounds.count): invalid value 1.5");
  ExpectRefused(R"({"rounds":{"count":-1}})", prefix + "(rounds.count): invalid value -1");
  ExpectRefused(R"({"rounds":{"count":"18446744073709551616"}})", prefix + "(rounds.count): ");
  ExpectRefused(R"({"sumQuery":{"query":{"noise":"LOUD"}}})",
                prefix + R"((sum_query.query.noise): invalid value "LOUD")");
  ExpectRefused("{\"mechanism\":{\"unsupported\":{\"description\":\"\xff\"}}}",
                prefix + "Encountered non UTF-8 code points.");
}

// Two values for one field: the parser alone would take the last, and an auditor's other reader
// perhaps the first.
TEST(EventFromJson, FieldGivenTwiceIsRefused) {
  ExpectRefused(
      R"({"sumQuery":{"round":1,"query":{"noiseStddev":1,"noiseStddev":100,"l2NormBound":1}}})",
      "sum_query.query.noise_stddev: must be given once");
  ExpectRefused(R"({"rounds":{"queries":[{"l2NormBound":1},{"l2NormBound":1,"l2_norm_bound":0}]}})",
                "rounds.queries[1].l2_norm_bound: must be given once");
  ExpectRefused(R"({"rounds":{"scheme":{"fullBatch":{}},"scheme":{"fullBatch":{}}}})",
                "rounds.scheme: must be given once");
  ExpectRefused(
      R"({"mechanism":{"noOp":{},"laplace":{}}})",
      "not an event in proto JSON: (mechanism): invalid value oneof field 'kind' is already set");
}

TEST(EventFromJson, EndlessNestingIsRefused) {
  std::string line = R"({"mechanism":)";
  for (int i = 0; i < 50000; ++i) line += R"({"selfComposed":{"event":)";
  ExpectRefused(line, "not an event in proto JSON: Message too deep.");
}

}  // namespace
}  // namespace dpledger::accountant
