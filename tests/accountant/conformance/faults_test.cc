// Faults that were found in another accountant (dp_accounting 0.6.0 at commit b5b0286e), each as
// what must hold here: what it answers, and what is right, stand beside each test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "accountant/calibration/calibration.h"
#include "accountant/mechanism/history.h"
#include "events/event_json.h"
#include "events/event_values.h"
#include "tests/accountant/conformance/reference_case.h"

namespace dpledger::accountant::conformance {
namespace {

using ::testing::HasSubstr;
using Events = std::vector<std::string>;

absl::StatusOr<Interval> Epsilon(Events events, double delta, Method method = Method::kBest,
                                 Adjacency adjacency = Adjacency::kAddOrRemoveOne) {
  ReferenceCase question;
  question.events = std::move(events);
  question.adjacency = adjacency;
  const auto composition = Compose(question);
  if (!composition.ok()) return composition.status();
  Options options;
  options.method = method;
  const auto answer = ComputeEpsilon(*composition, delta, options);
  if (!answer.ok()) return answer.status();
  return answer->value;
}

Events Repeated(const std::string& event, int times) { return Events(times, event); }

void ExpectRefused(const std::string& event, const std::string& message) {
  // Beside something that is private enough: the sum must not swallow it.
  const auto answer =
      Epsilon({R"({"mechanism":{"gaussian":{"noise_multiplier":1}}})", event}, 1e-5, Method::kRdp);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument) << event;
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr(message)) << event;
}

// It answers 1.0987, the cost of one.
TEST(Faults, F1CountOfRandomizedResponseIsNotIgnored) {
  const char once[] =
      R"({"mechanism":{"randomized_response":{"noise_parameter":0.5,"num_buckets":2}}})";
  const char ten[] =
      R"({"mechanism":{"count":10,"randomized_response":{"noise_parameter":0.5,"num_buckets":2}}})";
  // At this δ only ten true answers count: δ = .75^10 - e^ε .25^10.
  const double truth = std::log((std::pow(0.75, 10) - 1e-5) / std::pow(0.25, 10));
  for (const Events& events : {Events{ten}, Repeated(once, 10)}) {
    const auto epsilon = Epsilon(events, 1e-5, Method::kBest, Adjacency::kReplaceOne);
    ASSERT_TRUE(epsilon.ok()) << epsilon.status();
    EXPECT_LE(epsilon->lower(), truth);
    EXPECT_GE(epsilon->upper(), truth);
    EXPECT_LE(epsilon->upper(), 10.9868);
  }
}

// It answers .5035 for one, ten and a hundred.
TEST(Faults, F2CountOfExponentialMechanismIsNotIgnored) {
  const char once[] = R"({"mechanism":{"exponential_mechanism":{"epsilon":0.5}}})";
  const char ten[] = R"({"mechanism":{"count":10,"exponential_mechanism":{"epsilon":0.5}}})";
  const auto counted = Epsilon({ten}, 1e-5, Method::kRdp);
  const auto separate = Epsilon(Repeated(once, 10), 1e-5, Method::kRdp);
  ASSERT_TRUE(counted.ok() && separate.ok()) << counted.status() << separate.status();
  EXPECT_NEAR(counted->upper(), separate->upper(), 1e-9 * separate->upper());
  EXPECT_LE(counted->upper(), 3.6161);  // its own ten, composed one by one: 3.6160
  EXPECT_GE(counted->upper(), 1.5);     // the order of √10 times one
}

// It answers 7.904, the cost of one of the two Gaussians, when a 1 is written without its ".0".
TEST(Faults, F3EveryMechanismOnASampleCounts) {
  const auto sampled = [](const std::string& event) {
    return R"({"mechanism":{"count":100,"poisson_sampled":{"sampling_probability":0.1,"event":)" +
           event + "}}}";
  };
  const char two[] = R"({"composed":{"events":[{"gaussian":{"noise_multiplier":1}},)"
                     R"({"gaussian":{"noise_multiplier":1.0}}]}})";
  const std::string joint =
      absl::StrCat(R"({"gaussian":{"noise_multiplier":)", 0.70710678118654752440, "}}");
  for (const Method method : {Method::kRdp, Method::kBest}) {
    const auto both = Epsilon({sampled(two)}, 1e-5, method);
    const auto one = Epsilon({sampled(joint)}, 1e-5, method);
    ASSERT_TRUE(both.ok() && one.ok()) << both.status() << one.status();
    EXPECT_NEAR(both->upper(), one->upper(), 1e-4 * one->upper());
    EXPECT_LE(both->upper(), 16.0985);
    EXPECT_GE(both->upper(), 10);
  }
}

// It answers 0: a NaN of the first hides the second.
TEST(Faults, F4AFreeMechanismHidesNothing) {
  const char free[] = R"({"mechanism":{"exponential_mechanism":{"epsilon":0}}})";
  const char gaussian[] = R"({"mechanism":{"gaussian":{"noise_multiplier":0.1}}})";
  const auto both = Epsilon({free, gaussian}, 1e-5, Method::kRdp);
  const auto alone = Epsilon({gaussian}, 1e-5, Method::kRdp);
  ASSERT_TRUE(both.ok() && alone.ok()) << both.status() << alone.status();
  EXPECT_NEAR(both->upper(), alone->upper(), 1e-9 * alone->upper());
  EXPECT_LE(alone->upper(), 96.117);
  EXPECT_GE(alone->upper(), 90);
}

// It answers 0.
TEST(Faults, F5NoiseThatIsNoNumberIsRefused) {
  ExpectRefused(R"({"mechanism":{"gaussian":{"noise_multiplier":"NaN"}}})",
                "gaussian.noise_multiplier: must be finite and > 0, got nan");
}

// It answers 0.
TEST(Faults, F6DeltaAboveOneIsRefused) {
  ExpectRefused(R"({"mechanism":{"epsilon_delta":{"epsilon":0.1,"delta":1.5}}})",
                "epsilon_delta.delta: must be in [0, 1], got 1.5");
}

// It answers 4.7285.
TEST(Faults, F7NegativeNoiseIsRefused) {
  ExpectRefused(R"({"mechanism":{"discrete_gaussian":{"sigma":-1,"sensitivity":1}}})",
                "discrete_gaussian.sigma: must be finite and > 0, got -1");
}

// It charges the δ of one run, 1e-6. Each of a hundred runs may fail, and the run that failed may
// be the one that is chosen: with probability about 1e-4 everything is released.
TEST(Faults, F8EveryRunOfASelectionMayFail) {
  const char tuned[] = R"({"mechanism":{"repeat_and_select":{"mean":100,"shape":1,)"
                       R"("event":{"epsilon_delta":{"epsilon":0.1,"delta":1e-6}}}}})";
  for (const Method method : {Method::kBest, Method::kRdp}) {
    const auto epsilon = Epsilon({tuned}, 1e-5, method);
    if (epsilon.ok()) {
      EXPECT_EQ(epsilon->upper(), std::numeric_limits<double>::infinity());
    } else {
      EXPECT_EQ(epsilon.status().code(), absl::StatusCode::kFailedPrecondition);
    }
  }
}

// It keeps the event in its ledger and leaves it out of ε. Here what was refused is not there at
// all, and what was taken is in every answer or every answer is refused.
TEST(Faults, F9WhatIsRefusedIsNotInTheLedgerAndWhatIsInItCounts) {
  const auto message =
      events::EventFromJson(R"({"mechanism":{"poisson_sampled":{"sampling_probability":1.5,)"
                            R"("event":{"gaussian":{"noise_multiplier":1}}}}})");
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(events::ValueOf(*message).status().code(), absl::StatusCode::kInvalidArgument);

  const char gaussian[] = R"({"mechanism":{"gaussian":{"noise_multiplier":1}}})";
  const char unknown[] = R"({"mechanism":{"unsupported":{"description":"a new idea"}}})";
  for (const Method method : {Method::kBest, Method::kRdp, Method::kPld, Method::kContour}) {
    const auto answer = Epsilon({gaussian, unknown}, 1e-5, method);
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr("unsupported"));
  }
}

// It answers a noise of 131072.
TEST(Faults, F10CalibrationAtATinyDelta) {
  const auto solved = Calibrate({1, 1e-16}, {0, 0.01, 1000}, Unknown::kNoiseMultiplier, {});
  ASSERT_TRUE(solved.ok()) << solved.status();
  const auto epsilon_at = [](double noise) {
    return Epsilon({absl::StrCat(R"({"mechanism":{"count":1000,"poisson_sampled":{)"
                                 R"("sampling_probability":0.01,"event":{"gaussian":{)"
                                 R"("noise_multiplier":)",
                                 noise, "}}}}}")},
                   1e-16);
  };
  const double noise = solved->parameters.noise_multiplier;
  const auto safe = epsilon_at(noise * (1 + 1e-5)), unsafe = epsilon_at(noise * 0.99);
  ASSERT_TRUE(safe.ok() && unsafe.ok()) << safe.status() << unsafe.status();
  EXPECT_LE(safe->upper(), 1);
  EXPECT_GT(unsafe->lower(), 1);
}

// It answers 9.727 for both; 4.729 without it.
TEST(Faults, F11NegativeEpsilonIsRefused) {
  ExpectRefused(R"({"mechanism":{"epsilon_delta":{"epsilon":-5,"delta":0}}})",
                "epsilon_delta.epsilon: must be finite and >= 0, got -5");
}

// It answers 44.80 and 346.0, for its series drops orders; quadrature of the same moments gives
// 42.85 and 227.5.
TEST(Faults, F12NoOrderIsDropped) {
  for (const auto& [steps, by_quadrature] : {std::pair{100, 42.85}, {1000, 227.5}}) {
    const std::string events = absl::StrCat(R"({"mechanism":{"count":)", steps,
                                            R"(,"poisson_sampled":{"sampling_probability":0.5,)"
                                            R"("event":{"gaussian":{"noise_multiplier":1}}}}})");
    const auto rdp = Epsilon({events}, 1e-5, Method::kRdp);
    const auto best = Epsilon({events}, 1e-5);
    ASSERT_TRUE(rdp.ok() && best.ok()) << rdp.status() << best.status();
    EXPECT_LE(rdp->upper(), by_quadrature * (1 + 1e-3));
    EXPECT_GE(rdp->upper(), best->lower());
  }
}

}  // namespace
}  // namespace dpledger::accountant::conformance
