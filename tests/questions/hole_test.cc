#include "questions/hole.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "questions/answers.h"

namespace dpledger::questions {
namespace {

using ::testing::HasSubstr;

v1::CalibrateRequest Request(const std::string& text) {
  v1::CalibrateRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "epsilon: 2 delta: 1e-6 options { adjacency: ADD_OR_REMOVE_ONE parameters: FIXED } " + text,
      &request));
  return request;
}
const char kEvents[] =
    "events { rounds { scheme { poisson { probability: 0.01 } } count: 1000"
    "  queries { l2_norm_bound: 1 noise_stddev: 1.6 } queries { l2_norm_bound: 1 noise_stddev: 9 } "
    "} "
    "}"
    "events { mechanism { composed { events { gaussian { noise_multiplier: 5 } }"
    "  events { self_composed { count: 2 event { laplace { noise_multiplier: 40 } } } } } } }";
v1::CalibrateRequest Seeking(const std::string& hole) {
  return Request(std::string(kEvents) + " hole: '" + hole + "'");
}

TEST(Hole, IsFilledAndEverythingElseStays) {
  const v1::CalibrateRequest request = Seeking("");
  const auto hole = Hole::At("events[0].rounds.queries[1].noise_stddev",
                             {request.events().begin(), request.events().end()});
  ASSERT_TRUE(hole.ok()) << hole.status();
  EXPECT_EQ(hole->start(), 9);
  EXPECT_EQ(hole->unit(), 0);
  const auto history = hole->Fill(4);
  ASSERT_EQ(history->Rounds().size(), 1u);
  EXPECT_EQ(history->Rounds()[0].round.queries[0].noise_stddev, 1.6);
  EXPECT_EQ(history->Rounds()[0].round.queries[1].noise_stddev, 4);
  EXPECT_EQ(history->Mechanisms().size(), 1u);
}

TEST(Hole, CountsOfEpochSchemesGoByEpochs) {
  const v1::CalibrateRequest request = Request(
      "events { rounds { scheme { disjoint_batches { batches_per_epoch: 7 } } count: 21"
      " queries { l2_norm_bound: 1 noise_stddev: 1 } } }");
  const auto hole =
      Hole::At("events[0].rounds.count", {request.events().begin(), request.events().end()});
  ASSERT_TRUE(hole.ok()) << hole.status();
  EXPECT_EQ(hole->unit(), 7);
  EXPECT_EQ(hole->start(), 21);
  EXPECT_TRUE(hole->Fill(70).ok());
}

// Whatever is sought, asking again with the value filled in meets the target, and closely.
TEST(Hole, SolutionsMeetTheTarget) {
  for (const std::string path :
       {"events[0].rounds.queries[0].noise_stddev", "events[0].rounds.scheme.poisson.probability",
        "events[0].rounds.count", "events[1].mechanism.composed.events[0].gaussian.noiseMultiplier",
        "events[1].mechanism.composed.events[1].selfComposed.event.laplace.noise_multiplier"}) {
    v1::CalibrateRequest request = Seeking(path);
    request.mutable_options()->set_relative_gap(1e-3);
    const auto response = Answer({}, request, {});
    ASSERT_TRUE(response.ok()) << path << response.status();
    EXPECT_LE(response->epsilon().upper(), 2) << path;
    EXPECT_GT(response->epsilon().upper(), 1.98) << path;
    EXPECT_LE(response->optimum().lower(), response->value()) << path;
    EXPECT_GE(response->optimum().upper(), response->value()) << path;

    const auto hole = Hole::At(path, {request.events().begin(), request.events().end()});
    Subject subject;
    subject.history = *hole->Fill(response->value());
    v1::ComputeEpsilonRequest again;
    again.set_delta(1e-6);
    *again.mutable_options() = request.options();
    EXPECT_LE(Answer(subject, again, {})->epsilon().upper(), 2) << path;
  }
}

TEST(Hole, EveryMethodAnswersOrSaysWhyNot) {
  v1::CalibrateRequest request = Request(
      "solve: NOISE_MULTIPLIER sampling_probability: 0.01 steps: 1000 compare_methods: true");
  const auto response = Answer({}, request, {});
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->by_method_size(), 4);
  EXPECT_EQ(response->by_method(0).method(), "gaussian");
  EXPECT_THAT(response->by_method(0).error(), HasSubstr("applies to unsampled Gaussians"));
  EXPECT_LT(response->by_method(2).value(), response->by_method(3).value());  // pld, rdp
}

TEST(Hole, BadPathsAreNamed) {
  const struct {
    std::string hole, message;
  } cases[] = {
      {"", "hole: must begin with one of events[0] to events[1], got \"\""},
      {"events[2].rounds.count", "hole: must begin with one of events[0] to events[1]"},
      {"events[0]", "hole: must lead to a number, got \"events[0]\""},
      {"events[0].rounds", "hole: must lead to a number"},
      {"events[0].rounds.cuont", "hole: has no field cuont in RoundsEvent"},
      {"events[0].rounds.queries.noise_stddev", "hole: queries needs an index"},
      {"events[0].rounds.queries[2].noise_stddev", "hole: queries needs an index"},
      {"events[0].rounds.count[0]", "hole: count needs an index"},
      {"events[0].rounds.queries[0].group", "hole: must lead to a number"},
      {"events[0].sum_query.query.grid", "hole: sum_query must be set"},
      {"events[0].rounds..count", "hole: must be a path of field names"},
  };
  for (const auto& bad : cases) {
    const absl::Status status = Answer({}, Seeking(bad.hole), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.hole;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
  EXPECT_THAT(std::string(Answer({}, Request("hole: 'events[0]'"), {}).status().message()),
              HasSubstr("events: must hold the events that `hole` points into"));
  EXPECT_THAT(
      std::string(
          Answer({}, Request(std::string(kEvents) + " solve: STEPS"), {}).status().message()),
      HasSubstr("solve: must not be set beside events"));
}

}  // namespace
}  // namespace dpledger::questions
