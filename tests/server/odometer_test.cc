// Ledgers that neither plans nor filters bound together: what they cost, and what the answer says
// of it. Numbers are held against tests/oracle/odometer_oracle.py, by the rounds of all of them.
#include <gmock/gmock.h>

#include "questions/answers.h"
#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Of 2000 rounds at q .01 and noise multiplier 1, at delta 1e-5.
constexpr double kOf2000 = 3.7230595365503545;

class OdometerTest : public ::testing::Test {
 protected:
  void Rounds(const std::string& id, uint64_t count) { rig_.Append(id, {RoundsEvent(count)}); }
  void Expect2000(const v1::ComputeEpsilonResponse& answer) {
    EXPECT_EQ(answer.details().regime(), v1::ODOMETER);
    EXPECT_EQ(answer.epsilon().lower(), 0);
    EXPECT_GE(answer.epsilon().upper(), kOf2000);
    EXPECT_LE(answer.epsilon().upper(), kOf2000 * (1 + 1e-9));
  }
  questions::Subject Subject(const std::vector<std::string>& ids) {
    v1::Subject subject;
    for (const std::string& id : ids) subject.add_ledgers(LedgerName(id));
    return rig_.Gather(subject);
  }
  absl::StatusOr<v1::ComputeEpsilonResponse> Ask(const std::vector<std::string>& ids,
                                                 const std::string& request) {
    return questions::Answer(Subject(ids), accountant::FromText<v1::ComputeEpsilonRequest>(request),
                             {});
  }

  AccountedStore rig_;
};

void Adaptive(v1::Declaration& declaration) { declaration.set_parameters(v1::ADAPTIVE); }
void Independent(v1::Declaration& declaration) { declaration.set_plan_independent(true); }
void HeldByRho(v1::Declaration& declaration) {
  Adaptive(declaration);
  declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
}

TEST_F(OdometerTest, OfDependentPlansCountsEveryRoundInWhateverOrder) {
  rig_.Create("a");
  rig_.Create("b", Independent);  // one that declares it does not help the other
  for (const uint64_t count : {500, 300}) {
    Rounds("a", count);
    Rounds("b", 1000 - count);
  }
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"a", "b"});
  Expect2000(answer);
  EXPECT_EQ(rig_.EpsilonOf({"b", "a"}), AccountedStore::Text(answer.epsilon()));
  // The control: a ledger less.
  Rounds("b", 1);
  EXPECT_GT(rig_.Answer({"a", "b"}).epsilon().upper(), answer.epsilon().upper());
}

TEST_F(OdometerTest, SaysWhichGuaranteeItIsAndWhy) {
  rig_.Create("a", [](v1::Declaration& declaration) { declaration.set_planned_rounds(5000); });
  rig_.Create("b");
  Rounds("a", 1000);
  Rounds("b", 1000);
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"a", "b"});
  Expect2000(answer);
  EXPECT_EQ(answer.details().parameters(), v1::ADAPTIVE);
  EXPECT_EQ(answer.details().method(), "rdp");
  EXPECT_EQ(answer.details().ledgers_size(), 2);
  EXPECT_THAT(answer.details().assumptions(),
              Contains(AllOf(HasSubstr("ODOMETER: the number bounds the runs that happened"),
                             HasSubstr("at every time so far"))));
  EXPECT_THAT(answer.details().assumptions(),
              Contains(HasSubstr("chosen without looking at outputs")));
  EXPECT_THAT(answer.details().assumptions(), Not(Contains(HasSubstr("FIXED"))));
  EXPECT_THAT(answer.details().warnings(),
              Contains(AllOf(HasSubstr("no (epsilon, delta)-differential privacy"),
                             HasSubstr("projects/p/ledgers/a: does not declare "
                                       "plan_independent"))));
  EXPECT_THAT(answer.details().warnings(), Contains("an odometer gives no lower bound"));
  // A run that stops early costs what it did: no plan is charged.
  EXPECT_FALSE(answer.has_planned_epsilon());
  EXPECT_THAT(answer.details().warnings(), Not(Contains(HasSubstr("planned"))));
  // Each by itself is what it was.
  const v1::ComputeEpsilonResponse alone = rig_.Answer({"b"});
  EXPECT_EQ(alone.details().regime(), v1::FIXED_PLAN);
  EXPECT_EQ(AccountedStore::Text(alone.epsilon()), rig_.EpsilonOfEvents({RoundsEvent(1000)}));
}

TEST_F(OdometerTest, IndependentPlansAreComposedAsBefore) {
  rig_.Create("a", Independent);
  rig_.Create("b", Independent);
  Rounds("a", 1200);
  Rounds("b", 800);
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"a", "b"});
  EXPECT_EQ(answer.details().regime(), v1::FIXED_PLAN);
  EXPECT_EQ(answer.details().parameters(), v1::FIXED);
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), rig_.EpsilonOfEvents({RoundsEvent(2000)}));
  EXPECT_LT(answer.epsilon().upper(), kOf2000);
}

// What adaptive runs did, as one plan: the number of the same events, and no guarantee.
TEST_F(OdometerTest, AsPlannedIsTheNumberOfTheSameEvents) {
  rig_.Create("a");
  rig_.Create("b");
  rig_.Create("held", [](v1::Declaration& declaration) {
    HeldByRho(declaration);
    declaration.mutable_filter()->mutable_zcdp()->set_rho(1000);
  });
  rig_.Create("free", Adaptive);
  rig_.Create("plan");
  for (const char* id : {"a", "b", "held", "free", "plan"}) Rounds(id, 1000);
  const auto of_events = [&](uint64_t count) { return rig_.EpsilonOfEvents({RoundsEvent(count)}); };
  for (const std::vector<std::string>& ids :
       {std::vector<std::string>{"a", "b"}, {"held"}, {"free"}, {"held", "a", "free"}}) {
    const auto answer = Ask(ids, "delta: 1e-5 options { as_planned: true }");
    ASSERT_TRUE(answer.ok()) << answer.status();
    const v1::AnswerDetails& details = answer->details();
    EXPECT_EQ(details.regime(), v1::AS_PLANNED);
    EXPECT_EQ(details.parameters(), v1::ADAPTIVE);
    EXPECT_EQ(AccountedStore::Text(answer->epsilon()), of_events(1000 * ids.size()));
    EXPECT_THAT(details.guarantee(), HasSubstr("No guarantee: the number is what these events"));
    EXPECT_THAT(details.guarantee(), Not(HasSubstr("Differential privacy")));
    EXPECT_THAT(details.assumptions(), Contains(HasSubstr("AS_PLANNED: as if schemes")));
    EXPECT_FALSE(answer->has_planned_epsilon());
  }
  // The control: without it, there is another number, or none.
  EXPECT_NE(AccountedStore::Text(Ask({"held"}, "delta: 1e-5")->epsilon()), of_events(1000));
  EXPECT_EQ(Ask({"free"}, "delta: 1e-5").status().code(), StatusCode::kFailedPrecondition);
  // A plan is one.
  const auto plan = Ask({"plan"}, "delta: 1e-5 options { as_planned: true }");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->details().regime(), v1::FIXED_PLAN);
  EXPECT_THAT(plan->details().guarantee(), HasSubstr("Differential privacy of one"));
  // Other questions have none.
  const auto profile = questions::Answer(
      Subject({"held"}),
      accountant::FromText<v1::ComputeProfileRequest>("epsilons: 1 options { as_planned: true }"),
      {});
  EXPECT_TRUE(IsError(profile.status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "options.as_planned: is for epsilon and delta alone"));
  v1::AccountingOptions options;
  EXPECT_TRUE(questions::CheckNotPlanned(options).ok());
  options.set_as_planned(true);
  EXPECT_EQ(questions::CheckNotPlanned(options).code(), StatusCode::kInvalidArgument);
}

TEST_F(OdometerTest, EntriesThatForksShareCountOnce) {
  rig_.Create("parent");
  Rounds("parent", 900);
  Rounds("parent", 600);
  rig_.Fork("parent", 2, "child");
  Rounds("child", 300);
  rig_.Fork("parent", 3, "sibling");
  Rounds("sibling", 200);
  Expect2000(rig_.Answer({"parent", "child", "sibling"}));
  Expect2000(rig_.Answer({"child", "sibling"}));
  EXPECT_EQ(rig_.Answer({"sibling"}).details().regime(), v1::FIXED_PLAN);
}

TEST_F(OdometerTest, AnswersForPlansAndFiltersTogether) {
  rig_.Create("plan", Independent);
  Rounds("plan", 1500);
  rig_.Create("kept", HeldByRho);
  Rounds("kept", 1);
  rig_.Create("crossed", HeldByRho);
  Rounds("crossed", 400);
  rig_.Create("free", Adaptive);
  Rounds("free", 99);
  EXPECT_EQ(ReasonOf(rig_.Ask({"crossed"}).status()).reason, "FILTER_CROSSED");
  EXPECT_EQ(ReasonOf(rig_.Ask({"crossed", "kept"}).status()).reason, "FILTER_CROSSED");
  EXPECT_EQ(ReasonOf(rig_.Ask({"free"}).status()).reason, "ADAPTIVE_NOT_ANALYSED");
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"plan", "kept", "crossed", "free"});
  Expect2000(answer);
  EXPECT_THAT(answer.details().warnings(),
              Contains(HasSubstr("projects/p/ledgers/kept: declares ADAPTIVE, and "
                                 "projects/p/ledgers/plan FIXED")));
  // No filter bounds this number.
  EXPECT_EQ(answer.details().filter_spending_size(), 0);
  EXPECT_THAT(rig_.Answer({"kept", "free"}).details().warnings(),
              Contains(HasSubstr("projects/p/ledgers/free: declares ADAPTIVE, and no filter")));
}

TEST_F(OdometerTest, WhatIfEventsAreAdded) {
  rig_.Create("plan");
  Rounds("plan", 1000);
  rig_.Create("kept", HeldByRho);
  v1::Subject subject;
  subject.add_ledgers(LedgerName("plan"));
  subject.add_ledgers(LedgerName("kept"));
  *subject.add_events() = RoundsEvent(1000);
  Expect2000(AccountedStore::Must(rig_.Ask(subject)));
}

TEST_F(OdometerTest, DeltaIsTheInverse) {
  rig_.Create("a");
  rig_.Create("b");
  Rounds("a", 1000);
  Rounds("b", 1000);
  v1::ComputeDeltaRequest request;
  request.set_epsilon(3);
  const v1::ComputeDeltaResponse answer =
      AccountedStore::Must(questions::Answer(Subject({"a", "b"}), request, {}));
  EXPECT_EQ(answer.details().regime(), v1::ODOMETER);
  EXPECT_EQ(answer.delta().lower(), 0);
  EXPECT_NEAR(answer.delta().upper(), 0.0006211444177249682, 1e-11);
  EXPECT_GE(answer.delta().upper(), 0.0006211444177249682);
}

TEST_F(OdometerTest, OptionsHoldOrAreRefusedByName) {
  rig_.Create("a");
  rig_.Create("b");
  Rounds("a", 1000);
  Rounds("b", 1000);
  Expect2000(AccountedStore::Must(Ask({"a", "b"}, "delta: 1e-5 options { method: RDP }")));
  EXPECT_TRUE(IsError(Ask({"a", "b"}, "delta: 1e-5 options { method: PLD }").status(),
                      StatusCode::kFailedPrecondition, "METHOD_DOES_NOT_APPLY",
                      "method pld: an odometer is answered by rdp only"));
  EXPECT_TRUE(IsError(Ask({"a", "b"}, "delta: 1e-5 options { parameters: FIXED }").status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "options.parameters: is for events alone"));
  EXPECT_TRUE(IsError(Ask({"a", "b"}, "delta: 1").status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "delta: must be in [0, 1)"));
  // Each round given the past converts, so the odometer does.
  const auto replaced = Ask({"a", "b"}, "delta: 1e-5 options { adjacency: REPLACE_ONE }");
  EXPECT_GT(AccountedStore::Must(replaced).epsilon().upper(), kOf2000 * 1.4);
  const auto group = Ask({"a", "b"}, "delta: 1e-5 options { group_size: 2 }");
  EXPECT_GT(AccountedStore::Must(group).epsilon().upper(), kOf2000 * 1.4);
}

TEST_F(OdometerTest, OtherQuestionsAreRefusedAndSayWhatToDo) {
  rig_.Create("a");
  rig_.Create("b");
  const questions::Subject subject = Subject({"a", "b"});
  const auto is_refused = [](const absl::Status& status) {
    return IsError(status, StatusCode::kFailedPrecondition, "PLAN_NOT_INDEPENDENT",
                   "projects/p/ledgers/a: does not declare plan_independent; several ledgers are "
                   "composed as plans only if each says that its plan did not depend on the "
                   "outputs of any other; of these ledgers together epsilon and delta alone have "
                   "an answer, an odometer's: ask about each ledger by itself");
  };
  EXPECT_TRUE(is_refused(
      questions::Answer(subject, accountant::FromText<v1::ComputeProfileRequest>("epsilons: 1"), {})
          .status()));
  EXPECT_TRUE(is_refused(questions::Answer(subject,
                                           accountant::FromText<v1::ComputeTuningCostRequest>(
                                               "delta: 1e-5 trials { poisson { mean: 10 } }"),
                                           {})
                             .status()));
  EXPECT_TRUE(is_refused(
      questions::Answer(subject,
                        accountant::FromText<v1::AuditClaimRequest>(
                            "delta: 1e-5 one_run { canaries: 100 guesses: 10 correct: 6 }"),
                        {})
          .status()));
}

TEST_F(OdometerTest, WhatMayFailIsRefusedByName) {
  rig_.Create("a");
  rig_.Append(
      "a",
      {accountant::FromText<v1::Event>("mechanism { epsilon_delta { epsilon: 1 delta: 1e-7 } }")});
  rig_.Create("b");
  EXPECT_TRUE(IsError(rig_.Ask({"a", "b"}).status(), StatusCode::kFailedPrecondition,
                      "ODOMETER_CANNOT_COUNT", "a mechanism that may fail with a probability"));
  EXPECT_TRUE(rig_.Ask({"a"}).ok());
}

// Without noise that has tails, what is bounded surely is known at every delta.
TEST_F(OdometerTest, PureMechanismsAddUp) {
  const v1::Event pure =
      accountant::FromText<v1::Event>("mechanism { laplace { noise_multiplier: 8 } }");
  rig_.Create("a");
  rig_.Append("a", {pure, pure});
  rig_.Create("b");
  rig_.Append("b", {pure});
  const auto answer = AccountedStore::Must(Ask({"a", "b"}, "delta: 0"));
  EXPECT_NEAR(answer.epsilon().upper(), 3. / 8, 1e-12);
  EXPECT_EQ(answer.details().regime(), v1::ODOMETER);
}

}  // namespace
}  // namespace dpledger::server
