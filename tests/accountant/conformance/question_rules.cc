#include "tests/accountant/conformance/question_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "accountant/accountant.h"
#include "accountant/mechanism/history.h"
#include "events/event_values.h"

namespace dpledger::accountant::conformance {
namespace {

bool IsRefusal(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

bool IsOrdered(const Interval& interval) {
  return interval.lower() >= 0 && interval.lower() <= interval.upper();  // false for NaN
}

std::optional<Interval> EpsilonOf(const Composition& composition, double delta, Method method,
                                  const Limits& limits) {
  Options options;
  options.method = method;
  options.relative_gap = 1e-2;
  options.limits = limits;
  const auto answer = ComputeEpsilon(composition, delta, options);
  if (!answer.ok()) {
    EXPECT_TRUE(IsRefusal(answer.status())) << answer.status();
    return std::nullopt;
  }
  EXPECT_TRUE(IsOrdered(answer->value)) << MethodName(method) << " [" << answer->value.lower()
                                        << ", " << answer->value.upper() << "]";
  return answer->value;
}

// δ(ε) falls: where ε is at most an upper bound for delta, δ there is not surely above it.
void ExpectInverse(const Composition& composition, double delta, const Interval& epsilon,
                   const Limits& limits) {
  Options options;
  options.relative_gap = 1e-2;
  options.limits = limits;
  if (std::isfinite(epsilon.upper())) {
    const auto at_upper = ComputeDelta(composition, epsilon.upper(), options);
    EXPECT_TRUE(at_upper.ok() || IsRefusal(at_upper.status())) << at_upper.status();
    if (at_upper.ok()) {
      EXPECT_LE(at_upper->value.lower(), delta * (1 + 1e-9));
    }
  }
  if (epsilon.lower() > 0 && std::isfinite(epsilon.lower())) {
    const auto at_lower = ComputeDelta(composition, epsilon.lower(), options);
    EXPECT_TRUE(at_lower.ok() || IsRefusal(at_lower.status())) << at_lower.status();
    if (at_lower.ok()) {
      EXPECT_TRUE(IsOrdered(at_lower->value) && at_lower->value.upper() <= 1);
      EXPECT_GE(at_lower->value.upper(), delta * (1 - 1e-9));
    }
  }
}

}  // namespace

void ExpectOrderedOrRefused(const Composition& composition, double delta, const Limits& limits,
                            Fates& fates) {
  double lower = 0, upper = std::numeric_limits<double>::infinity();
  bool any = false;
  for (const Method method :
       {Method::kBest, Method::kRdp, Method::kPld, Method::kContour, Method::kGaussian}) {
    const auto epsilon = EpsilonOf(composition, delta, method, limits);
    if (!epsilon.has_value()) continue;
    any = true;
    lower = std::fmax(lower, epsilon->lower());
    upper = std::fmin(upper, epsilon->upper());
    EXPECT_LE(lower, upper * (1 + 1e-12)) << MethodName(method) << " contradicts another method";
    if (method == Method::kBest) ExpectInverse(composition, delta, *epsilon, limits);
  }
  ++(any ? fates.answered : fates.unanswered);
}

void ExpectHonestAnswers(const v1::Event& event, double delta, const Limits& limits, Fates& fates) {
  SCOPED_TRACE(event.ShortDebugString().substr(0, 2000));
  const auto value = events::ValueOf(event);
  if (!value.ok()) {
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << value.status();
    EXPECT_NE(value.status().message().find(':'), absl::string_view::npos) << value.status();
    ++fates.invalid;
    return;
  }
  History once, twice;
  once.Add("writer", *value);
  twice.Add("writer", *value);
  twice.Add("another", *value);
  for (const Adjacency adjacency :
       {Adjacency::kAddOrRemoveOne, Adjacency::kReplaceOne, Adjacency::kZeroOut}) {
    const auto one = Resolve(once, adjacency), two = Resolve(twice, adjacency);
    if (!one.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(one.status())) << one.status();
      EXPECT_FALSE(two.ok()) << "refused once, taken twice";
      ++fates.refused;
      continue;
    }
    ExpectOrderedOrRefused(*one, delta, limits, fates);
    if (!two.ok()) continue;  // the counts together may be too many
    const auto cheap = EpsilonOf(*one, delta, Method::kBest, limits);
    const auto dear = EpsilonOf(*two, delta, Method::kBest, limits);
    if (cheap.has_value() && dear.has_value()) {
      EXPECT_LE(cheap->lower(), dear->upper() * (1 + 1e-12)) << "twice is cheaper than once";
    }
  }
}

}  // namespace dpledger::accountant::conformance
