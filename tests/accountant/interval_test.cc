#include "accountant/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "accountant/accountant.h"
#include "accountant/audit/audit.h"
#include "accountant/filter/filter.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Interval, HasItsBoundsInOrderWhateverItIsMadeFrom) {
  CaptureStderr();
  const Interval inverted(3, 2);
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("\"level\":\"error\""), HasSubstr("inverted_interval")));
  EXPECT_EQ(inverted.lower(), 2);
  EXPECT_EQ(inverted.upper(), 3);
  CaptureStderr();
  const Interval nothing(kNaN, kNaN), half(kNaN, 1), in_order(2, 2);
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_EQ(nothing.lower(), -kInfinity);
  EXPECT_EQ(nothing.upper(), kInfinity);
  EXPECT_EQ(half.lower(), -kInfinity);
  EXPECT_EQ(half.upper(), 1);
  EXPECT_EQ(in_order.RelativeGap(), 0);
}

TEST(Meet, IsWhatBothAllow) {
  CaptureStderr();
  const Interval both = Meet({1, 3}, "contour", {2, 5}, "pld"),
                 point = Meet({1, 2}, "", {2, 3}, "");
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_EQ(both.lower(), 2);
  EXPECT_EQ(both.upper(), 3);
  EXPECT_EQ(point.lower(), 2);
  EXPECT_EQ(point.upper(), 2);
}

// A lower bound was once taken down to another method's upper bound, and the wrong of the two hid.
TEST(Meet, OfBoundsThatContradictEachOtherHoldsBothAndNamesBoth) {
  CaptureStderr();
  const Interval around = Meet({3480364, 3480366}, "contour", {0, 1059403.25}, "rdp");
  EXPECT_THAT(GetCapturedStderr(),
              AllOf(HasSubstr("methods_contradict"), HasSubstr("\"first\":\"contour\""),
                    HasSubstr("\"second\":\"rdp\""), HasSubstr("3.48036e+06")));
  EXPECT_EQ(around.lower(), 0);
  EXPECT_EQ(around.upper(), 3480366);
}

// The doors' answers under a rounding mode; back to nearest before anything is compared.
std::vector<absl::Status> StatusesUnder(int mode) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 100});
  History history;
  history.Add("w", RoundsEvent{{{0, PoissonSampling{0.1}}, {{"g", 1, 2}}}, 1});
  const auto one_run = audit::OneRun{100, 50, 40};
  std::fesetround(mode);
  std::vector<absl::Status> statuses = {
      ComputeEpsilon(composition, 1e-5, {}).status(),
      ComputeDelta(composition, 1, {}).status(),
      ComputeEpsilon(composition, 1e-5, {}, Direction::kAdd).status(),
      ComputeDelta(composition, 1, {}, Direction::kAdd).status(),
      Resolve(history, Adjacency::kAddOrRemoveOne).status(),
      filter::EpsilonOf(filter::GdpFilter{1}, 1e-5, {}).status(),
      filter::DeltaOf(filter::GdpFilter{1}, 1, {}).status(),
      audit::EpsilonLowerBound(one_run, 1e-5, 0.95).status(),
      audit::BoundErrorRates({100, 50, 100, 5}, 0.95).status()};
  std::fesetround(FE_TONEAREST);
  return statuses;
}

TEST(Accountant, RefusesAnyRoundingModeButToNearest) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (const absl::Status& status : StatusesUnder(mode)) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << mode;
      EXPECT_EQ(ReasonOf(status).reason, "ROUNDING_MODE") << status;
      EXPECT_THAT(status.message(), HasSubstr("round to nearest"));
    }
  }
  for (const absl::Status& status : StatusesUnder(FE_TONEAREST)) EXPECT_TRUE(status.ok()) << status;
}

#if defined(__x86_64__)
// Fast-math libraries set this for the whole process when they are loaded.
TEST(Accountant, RefusesArithmeticThatFlushesSmallNumbersToZero) {
  constexpr unsigned kFlushToZero = 0x8000;
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | kFlushToZero);
  const absl::Status status = CheckArithmetic();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(ReasonOf(status).reason, "ROUNDING_MODE");
  EXPECT_TRUE(CheckArithmetic().ok());
}
#endif

}  // namespace
}  // namespace dpledger::accountant
