#include "events/declaration_rules.h"
#include "questions/declaration_values.h"
#include "tests/events/field_rules.h"

namespace dpledger::questions {
namespace {

const char kGood[] =
    "dataset: 'adult' unit_of_privacy: 'example' adjacency: ADD_OR_REMOVE_ONE parameters: FIXED ";
const char kAdaptive[] =
    "dataset: 'adult' unit_of_privacy: 'example' adjacency: ZERO_OUT parameters: ADAPTIVE ";

std::vector<accountant::FieldRule> DeclarationRules() {
  const std::string good = kGood;
  const std::string adaptive = kAdaptive;
  const std::string adjacency =
      "adjacency: must be ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT, got ";
  const std::string positive = ": must be finite and > 0, got ";
  return {
      {"dataset: '@' unit_of_privacy: 'user' adjacency: REPLACE_ONE parameters: FIXED",
       std::string(256, 'd'),
       {{"", "dataset: must be 1 to 256 bytes long, got 0"},
        {std::string(257, 'd'), "dataset: must be 1 to 256 bytes long, got 257"}}},
      {"dataset: 'd' unit_of_privacy: '@' adjacency: REPLACE_ONE parameters: FIXED",
       "user",
       {{"", "unit_of_privacy: must be 1 to 256 bytes long, got 0"},
        {std::string(257, 'u'), "unit_of_privacy: must be 1 to 256 bytes long, got 257"}}},
      {"dataset: 'd' unit_of_privacy: 'user' parameters: FIXED @",
       "adjacency: ZERO_OUT",
       {{"", adjacency + "ADJACENCY_UNSPECIFIED"},
        {"adjacency: 9", "adjacency: enum number 9 is not known to this version"}}},
      {"dataset: 'd' unit_of_privacy: 'user' adjacency: REPLACE_ONE @",
       "parameters: ADAPTIVE",
       {{"", "parameters: must be FIXED or ADAPTIVE, got PARAMETERS_UNSPECIFIED"},
        {"parameters: 3", "parameters: enum number 3 is not known to this version"}}},
      {good + "planned_rounds: @",
       "9007199254740992",
       {{"9007199254740993", "planned_rounds: must be in [0, 2^53], got 9007199254740993"}}},
      {good + "spool_policy: @",
       "SPOOL",
       {{"8", "spool_policy: enum number 8 is not known to this version"}}},
      {good + "released: '@'",
       std::string(1024, 'r'),
       {{std::string(1025, 'r'), "released: must be at most 1024 bytes long, got 1025"}}},
      {good + "description: '@'",
       std::string(4096, 't'),
       {{std::string(4097, 't'), "description: must be at most 4096 bytes long, got 4097"}}},
      {good + "@",
       "plan_independent: true",
       {{"filter { zcdp { rho: 1 } }",
         "filter: must be unset unless parameters is ADAPTIVE, or a budget is named"},
        {"kind: BUDGET", "filter: must be set: it is the budget's bound"},
        {"kind: 2", "kind: enum number 2 is not known to this version"}}},
      {good + "budget: '@'",
       "projects/p/ledgers/b",
       {{"b",
         "budget: must be projects/{project}/ledgers/{ledger}, the parts "
         "[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?, got \"b\""}}},
      {good + "budget: 'projects/p/ledgers/b' @",
       "filter { zcdp { rho: 1 } }",
       {{"spool_policy: SPOOL",
         "spool_policy: must not be SPOOL where there is a budget: what was released from a "
         "spool can be refused no more"}}},
      {adaptive + "kind: BUDGET filter { zcdp { rho: 1 } } @",
       "spool_policy: FAIL_CLOSED",
       {{"spool_policy: SPOOL",
         "spool_policy: must not be SPOOL where there is a budget: what was released from a "
         "spool can be refused no more"},
        {"planned_rounds: 3", "planned_rounds: must be in [0, 0], got 3"},
        {"budget: 'projects/p/ledgers/b'",
         "budget: must be empty: the ledger is a budget itself"}}},
      {adaptive + "@",
       "filter { zcdp { rho: 0.5 } }",
       {{"filter {}", "filter.kind: must be set to one of rdp, zcdp, gdp, mixture"},
        {"filter { zcdp {} }", "filter.zcdp.rho" + positive + "0"},
        {"filter { zcdp { rho: nan } }", "filter.zcdp.rho" + positive + "nan"}}},
      {adaptive + "filter { rdp { order: @ epsilon: 1 } }",
       "1.5",
       {{"1", "filter.rdp.order: must be finite and > 1, got 1"},
        {"inf", "filter.rdp.order: must be finite and > 1, got inf"}}},
      {adaptive + "filter { rdp { order: 2 epsilon: @ } }",
       "1",
       {{"0", "filter.rdp.epsilon" + positive + "0"},
        {"inf", "filter.rdp.epsilon" + positive + "inf"}}},
      {adaptive + "filter { gdp { mu: @ } }", "1", {{"-2", "filter.gdp.mu" + positive + "-2"}}},
  };
}

class DeclarationRule : public ::testing::TestWithParam<accountant::FieldRule> {};

TEST_P(DeclarationRule, IsCheckedAndNamed) {
  accountant::ExpectRule<v1::Declaration>(GetParam(), events::CheckDeclaration);
}

INSTANTIATE_TEST_SUITE_P(LedgerProto, DeclarationRule, ::testing::ValuesIn(DeclarationRules()));

TEST(Declaration, UnknownFieldsAreRefusedByPathAndNumber) {
  auto declaration =
      accountant::FromText<v1::Declaration>(std::string(kAdaptive) + "filter { gdp { mu: 1 } }");
  EXPECT_TRUE(events::CheckDeclaration(declaration).ok());
  v1::Filter& filter = *declaration.mutable_filter();
  filter.GetReflection()->MutableUnknownFields(&filter)->AddVarint(50, 1);
  const absl::Status status = events::CheckDeclaration(declaration);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromAbsl(status.message()), "filter.50: field number is not known to this version");
}

TEST(AdjacencyFromProto, KnowsEachAndRefusesTheRest) {
  EXPECT_EQ(AdjacencyFromProto(v1::ADD_OR_REMOVE_ONE).value(),
            accountant::Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(AdjacencyFromProto(v1::REPLACE_ONE).value(), accountant::Adjacency::kReplaceOne);
  EXPECT_EQ(AdjacencyFromProto(v1::ZERO_OUT).value(), accountant::Adjacency::kZeroOut);
  const absl::Status status = AdjacencyFromProto(static_cast<v1::Adjacency>(44)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromAbsl(status.message()),
            "adjacency: must be ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT, got 44");
}

}  // namespace
}  // namespace dpledger::questions
