// Every bad value of every field of an event, sent over gRPC: the exact error, nothing stored, the
// server lives on.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/unknown_field_set.h"
#include "tests/events/event_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::BadValue;
using accountant::EventRules;
using accountant::FieldRule;
using accountant::FromText;

// The field and the rule of "<field>: <rule>".
std::pair<std::string, std::string> Split(const std::string& message) {
  const size_t colon = message.find(": ");
  return {message.substr(0, colon), message.substr(colon + 2)};
}

class BadEvent : public ::testing::Test {
 protected:
  BadEvent() { running_.Create(kLedger); }

  // A batch whose second entry is `event`: the first, a good one, must not be stored either.
  grpc::Status Append(const v1::Event& event) {
    v1::AppendBatchRequest batch = Batch(kLedger, "w", "bad");
    AddNote(batch, "good");
    *batch.add_entries()->mutable_event() = event;
    return Call(running_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch);
  }

  grpc::Status AskAbout(const v1::Event& event) {
    v1::ComputeEpsilonRequest request;
    request.set_delta(1e-5);
    *request.mutable_subject()->add_events() = event;
    return Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon, request);
  }

  void ExpectRefused(const v1::Event& event, const std::string& field, const std::string& rule) {
    EXPECT_TRUE(IsFieldError(Append(event), absl::StrCat("entries[1].event", field), rule));
    EXPECT_TRUE(IsFieldError(AskAbout(event), absl::StrCat("subject.events[0]", field), rule));
  }

  // Nothing was stored, not even the request's id, and the server goes on.
  void ExpectUntouched() {
    EXPECT_EQ(running_.Get(kLedger).size(), 1u);
    v1::AppendBatchRequest batch = Batch(kLedger, "w", "bad");
    AddNote(batch, "another");
    EXPECT_EQ(running_.Append(batch).first_sequence(), 1u);
  }

  RunningServer running_;
};

TEST_F(BadEvent, IsRefusedForEveryBadValueOfEveryField) {
  int sent = 0;
  for (const FieldRule& rule : EventRules()) {
    for (const BadValue& bad : rule.bad) {
      SCOPED_TRACE(rule.With(bad.value));
      const auto [field, message] = Split(bad.message);
      ExpectRefused(FromText<v1::Event>(rule.With(bad.value)), absl::StrCat(".", field), message);
      ++sent;
    }
  }
  EXPECT_GT(sent, 200);
  ExpectUntouched();
}

TEST_F(BadEvent, IsRefusedWithoutAKind) {
  ExpectRefused(v1::Event(), ".kind",
                "must be set to one of sampling, sum_query, rounds, mechanism");
  ExpectUntouched();
}

TEST_F(BadEvent, IsRefusedForAnUnknownFieldAtAnyDepth) {
  v1::Event event;
  v1::SumQuery& query = *event.mutable_sum_query()->mutable_query();
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(1);
  query.GetReflection()->MutableUnknownFields(&query)->AddVarint(99, 1);
  ExpectRefused(event, ".sum_query.query.99", "field number is not known to this version");
  ExpectUntouched();
}

v1::Event Nested(int levels) {
  v1::Event event;
  v1::MechanismEvent* mechanism = event.mutable_mechanism();
  for (int i = 1; i < levels; ++i) {
    mechanism->mutable_self_composed()->set_count(1);
    mechanism = mechanism->mutable_self_composed()->mutable_event();
  }
  mechanism->mutable_gaussian()->set_noise_multiplier(1);
  return event;
}

TEST_F(BadEvent, IsRefusedAboveThirtyTwoLevels) {
  const grpc::Status status = Append(Nested(33));
  EXPECT_TRUE(IsError(status, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_FIELD",
                      "at most 32 levels deep"));
  EXPECT_TRUE(IsOk(Append(Nested(32))));
}

TEST_F(BadEvent, NestedBeyondTheParsersLimitIsMalformed) {
  EXPECT_TRUE(IsError(Append(Nested(60)), grpc::StatusCode::INVALID_ARGUMENT, "MALFORMED_MESSAGE",
                      "nested deeper than 100 levels"));
  ExpectUntouched();
}

TEST_F(BadEvent, InAQuestionMayNotGoBackInItsRounds) {
  v1::ComputeEpsilonRequest request;
  request.set_delta(1e-5);
  v1::AppendBatchRequest rounds = RoundBatch(kLedger, "w", "r", 5);
  for (const v1::NewEntry& entry : rounds.entries())
    *request.mutable_subject()->add_events() = entry.event();
  *request.mutable_subject()->add_events() = rounds.entries(0).event();
  const auto ask = [&] {
    return Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon, request);
  };
  EXPECT_TRUE(IsError(ask(), grpc::StatusCode::FAILED_PRECONDITION, "ROUND_ALREADY_OPEN",
                      "subject.events[2].sampling.round: round 5 has begun already"));
  request.mutable_subject()->mutable_events(2)->mutable_sampling()->set_round(6);
  EXPECT_TRUE(IsOk(ask()));
  *request.mutable_subject()->add_events() = rounds.entries(1).event();
  EXPECT_TRUE(
      IsError(ask(), grpc::StatusCode::FAILED_PRECONDITION, "ROUND_GOES_BACK",
              "subject.events[3].sum_query.round: must be at least 6, the last round, got 5"));
}

}  // namespace
}  // namespace dpledger::server
