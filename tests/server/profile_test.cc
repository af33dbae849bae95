// Profiles and audits over gRPC: what a request must say, what it may not, and what stops it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using grpc::StatusCode;
using Accounting = v1::AccountingService::Stub;

// One unsampled Gaussian with μ = 1.
constexpr char kGaussian[] =
    "subject { events { rounds { scheme { full_batch {} } "
    "queries { l2_norm_bound: 1 noise_stddev: 1 } count: 1 } } } ";

class ProfileCalls : public ::testing::Test {
 protected:
  grpc::Status Profile(const std::string& text) {
    profile_.Clear();
    return Call(running_.accounting(), &Accounting::ComputeProfile,
                FromText<v1::ComputeProfileRequest>(text), &profile_);
  }
  grpc::Status Audit(const std::string& text) {
    audit_.Clear();
    return Call(running_.accounting(), &Accounting::AuditClaim,
                FromText<v1::AuditClaimRequest>(text), &audit_);
  }

  RunningServer running_;
  v1::ComputeProfileResponse profile_;
  v1::AuditClaimResponse audit_;
};

TEST_F(ProfileCalls, AnswerWhatIsAskedAndNothingElse) {
  ASSERT_TRUE(IsOk(Profile(std::string(kGaussian) + "epsilons: 1 epsilons: 0")));
  ASSERT_EQ(profile_.points_size(), 2);
  EXPECT_EQ(profile_.points(0).epsilon().lower(), 1);
  EXPECT_LE(profile_.points(0).delta().lower(), 0.126936737506644);
  EXPECT_GE(profile_.points(0).delta().upper(), 0.126936737506643);
  // δ(0) is the advantage.
  EXPECT_EQ(profile_.points(1).delta().upper(), profile_.advantage().upper());
  EXPECT_FALSE(profile_.points(0).has_planned());
  EXPECT_EQ(profile_.trade_off_size(), 0);
  EXPECT_FALSE(profile_.has_gaussian_fit());
  EXPECT_EQ(profile_.details().method(), "gaussian");

  ASSERT_TRUE(IsOk(Profile(std::string(kGaussian) + "deltas: 1e-5 type_one_errors: 0.1 priors: 0.5 "
                                                    "gaussian_least_delta: 1e-6")));
  EXPECT_EQ(profile_.points(0).delta().lower(), 1e-5);
  EXPECT_NEAR(profile_.points(0).epsilon().upper(), 4.3771, 1e-3);
  EXPECT_NEAR(profile_.trade_off(0).symmetric().lower(), 0.610856, 1e-3);
  EXPECT_NEAR(profile_.bayes_success(0).success().upper(), 0.691462, 1e-5);
  EXPECT_NEAR(profile_.gaussian_fit().mu().upper(), 1, 2e-3);
}

TEST_F(ProfileCalls, AuditAnswersWithAndWithoutAClaim) {
  const std::string run = "delta: 1e-5 one_run { canaries: 1000 guesses: 100 correct: 100 } ";
  ASSERT_TRUE(IsOk(Audit(run)));
  EXPECT_NEAR(audit_.epsilon_lower_bound(), 3.4653763, 1e-6);
  EXPECT_EQ(audit_.confidence(), 0.95);
  EXPECT_FALSE(audit_.has_claimed_epsilon());
  ASSERT_TRUE(IsOk(Audit(run + kGaussian)));
  EXPECT_NEAR(audit_.claimed_epsilon().upper(), 4.3771, 1e-3);
  EXPECT_TRUE(audit_.refuted());  // by its curve: about ten of these guesses would be wrong
  ASSERT_TRUE(IsOk(Audit("delta: 1e-5 one_run { canaries: 1000 guesses: 100 correct: 90 } " +
                         std::string(kGaussian))));
  EXPECT_FALSE(audit_.refuted());
  ASSERT_TRUE(
      IsOk(Audit("delta: 1e-5 confidence: 0.9999 many_runs { with_record: 5000 "
                 "detected_with: 4000 without_record: 5000 detected_without: 50 } " +
                 std::string(kGaussian))));
  EXPECT_TRUE(audit_.refuted());
  EXPECT_LT(audit_.observed().type_two(), audit_.claimed_type_two().lower());
}

// The curve is read at points: that may cost a few right guesses.
TEST_F(ProfileCalls, AuditHoldsOneRunAgainstTheClaimsOwnCurve) {
  const auto audit = [&](int correct) {
    return Audit(absl::StrCat(
        "delta: 1e-8 one_run { canaries: 10000 guesses: 500 correct: ", correct, " } ", kGaussian));
  };
  const auto bound_alone = [&](int correct) {
    return Audit(absl::StrCat("one_run { canaries: 10000 guesses: 500 correct: ", correct, " }"));
  };
  int least = 400;
  do {
    ASSERT_TRUE(IsOk(bound_alone(++least)));
  } while (least < 500 && audit_.curve().gaussian_mu() < 1);
  ASSERT_TRUE(IsOk(audit(least - 1)));
  EXPECT_FALSE(audit_.curve().refuted());
  ASSERT_TRUE(IsOk(audit(least + 8)));
  EXPECT_TRUE(audit_.curve().refuted());
  EXPECT_TRUE(audit_.refuted());
  EXPECT_LT(audit_.epsilon_lower_bound(), audit_.claimed_epsilon().lower());  // it shows less
  ASSERT_TRUE(IsOk(audit(470)));
  EXPECT_GT(audit_.curve().gaussian_epsilon(), audit_.epsilon_lower_bound());
  ASSERT_TRUE(IsOk(Audit("one_run { canaries: 1000000 guesses: 100001 correct: 99000 }")));
  EXPECT_FALSE(audit_.has_curve());
  ASSERT_TRUE(IsOk(Audit("one_run { canaries: 100 guesses: 50 correct: 50 }")));
  EXPECT_EQ(audit_.curve().gaussian_epsilon(), std::numeric_limits<double>::infinity());
}

TEST_F(ProfileCalls, BadRequestsNameTheField) {
  const std::string subject = kGaussian;
  EXPECT_TRUE(
      IsFieldError(Profile(subject), "epsilons",
                   "or deltas, type_one_errors, priors or gaussian_least_delta must be given"));
  EXPECT_TRUE(IsFieldError(Profile(subject + "epsilons: 1 deltas: 0.1"), "deltas",
                           "must be empty where epsilons are given"));
  EXPECT_TRUE(IsFieldError(Profile(subject + "epsilons: 1 epsilons: -1"), "epsilons[1]",
                           "must be finite and >= 0, got -1"));
  EXPECT_TRUE(
      IsFieldError(Profile(subject + "deltas: nan"), "deltas[0]", "must be in [0, 1), got nan"));
  EXPECT_TRUE(IsFieldError(Profile(subject + "type_one_errors: 2"), "type_one_errors[0]",
                           "must be in [0, 1], got 2"));
  EXPECT_TRUE(
      IsFieldError(Profile(subject + "priors: 0"), "priors[0]", "must be in (0, 1), got 0"));
  EXPECT_TRUE(IsFieldError(Profile(subject + "gaussian_least_delta: -1"), "gaussian_least_delta",
                           "must be in (0, 0.99), got -1"));
  EXPECT_TRUE(IsFieldError(Profile("epsilons: 1"), "subject.ledgers", "must name a ledger"));
  std::string many = subject;
  for (int i = 0; i < 1001; ++i) many += "epsilons: 1 ";
  EXPECT_TRUE(IsFieldError(Profile(many), "epsilons", "must have at most 1000 values, got 1001"));

  EXPECT_TRUE(
      IsFieldError(Audit("delta: 1e-5"), "evidence", "one of one_run, many_runs must be set"));
  EXPECT_TRUE(IsFieldError(Audit("delta: 1e-5 one_run { canaries: 5 guesses: 6 correct: 1 }"),
                           "guesses", "must be in [1, 5], got 6"));
  EXPECT_TRUE(IsFieldError(
      Audit("delta: 1 many_runs { with_record: 5 detected_with: 5 without_record: 5 }"), "delta",
      "must be in [0, 1), got 1"));
  EXPECT_TRUE(
      IsFieldError(Audit("delta: 0.1 confidence: 2 one_run { canaries: 5 guesses: 5 correct: 1 }"),
                   "confidence", "must be in (0, 1), got 2"));
}

TEST_F(ProfileCalls, AdaptiveParametersAreRefusedAsElsewhere) {
  EXPECT_TRUE(
      IsError(Profile(std::string(kGaussian) + "options { parameters: ADAPTIVE } epsilons: 1"),
              StatusCode::FAILED_PRECONDITION, "ADAPTIVE_NOT_ANALYSED", "ADAPTIVE"));
}

// 1000 points by FFT take longer than the question may.
TEST(ProfileLimits, ManyPointsStopAtTheQueryTimeout) {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.accounting.query_timeout = absl::Milliseconds(300);
  RunningServer running(options);
  v1::ComputeProfileRequest request = FromText<v1::ComputeProfileRequest>(
      "subject { events { rounds { scheme { poisson { probability: 0.01 } } "
      "queries { l2_norm_bound: 1 noise_stddev: 1 } count: 1000 } } } "
      "options { method: PLD relative_gap: 1e-6 }");
  for (int i = 0; i < 1000; ++i) request.add_epsilons(0.01 * i);
  EXPECT_TRUE(IsError(Call(running.accounting(), &Accounting::ComputeProfile, request),
                      StatusCode::DEADLINE_EXCEEDED, "QUERY_TIMEOUT", ""));
}

}  // namespace
}  // namespace dpledger::server
