// Statements: their fields, what stays open, and that the pages hold text alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "merkle/compact_tree.h"
#include "server/statement/attack.h"
#include "server/statement/pages.h"
#include "server/statement/words.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kOne = "projects/p/ledgers/one";
const std::string kTwo = "projects/p/ledgers/two";

// A record that is text to a person, and much else to a browser or to a Markdown reader.
const std::string kOdd =
    "<script>alert('x')</script> & \"q\" ![i](http://e.org/i.png) www.e.org `c`\n# h\n- l\n1. n "
    "\u202Etxet\u200B";

const std::string kLong(200, 'x');

// What Make's rounds say of themselves.
const std::string kSampling10 =
    "10 rounds: Poisson sampling, each record independently with probability 0.01, of 60,000 "
    "records";
const std::string kSampling20 =
    "20 rounds: Poisson sampling, each record independently with probability 0.01, of 60,000 "
    "records";
const std::string kNoise = "noise multiplier 1 in every round";

class StatementTest : public ::testing::Test {
 protected:
  StatementTest() : statements_(v1::StatementService::NewStub(running_.channel())) {}

  void Make(const std::string& name, uint64_t rounds,
            const std::function<void(v1::Declaration&)>& declare = nullptr) {
    running_.Create(name, declare);
    v1::AppendBatchRequest batch = Batch(name, "w", "r1");
    *batch.add_entries()->mutable_event() = FromText<v1::Event>(
        absl::StrCat("rounds { scheme { population_size: 60000 poisson { probability: 0.01 } } "
                     "queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
                     rounds, " }"));
    running_.Append(batch);
  }
  grpc::Status Ask(const std::string& request) {
    statement_.Clear();
    return Call(*statements_, &v1::StatementService::Stub::GetStatement,
                FromText<v1::GetStatementRequest>(request), &statement_);
  }
  void MustAsk(const std::string& request) { ASSERT_TRUE(IsOk(Ask(request))); }
  v1::Statement::Field Field(const std::string& name) {
    for (const auto& section : statement_.sections()) {
      for (const auto& field : section.fields()) {
        if (field.name() == name) return field;
      }
    }
    ADD_FAILURE() << "no field " << name;
    return {};
  }

  // The cells of the one table.
  using Row = std::vector<std::string>;
  std::vector<Row> Table() {
    std::vector<Row> rows;
    for (const auto& section : statement_.sections()) {
      for (const auto& row : section.table().rows())
        rows.emplace_back(row.cells().begin(), row.cells().end());
    }
    return rows;
  }

  RunningServer running_;
  std::unique_ptr<v1::StatementService::Stub> statements_;
  v1::Statement statement_;
};

const std::string kAskOne = "ledger: '" + kOne + "'";

TEST_F(StatementTest, StatesEachPointOfTheListAndWhoSaysIt) {
  Make(kOne, 1000, [](v1::Declaration& declaration) {
    declaration.set_released("the final model");
    declaration.set_planned_rounds(1000);
  });
  MustAsk(kAskOne);
  const std::map<std::string, v1::Statement::Source> wanted = {
      {"dp_setting", v1::Statement::COMPUTED},
      {"trusted_parties", v1::Statement::NOT_STATED},
      {"dataset", v1::Statement::DECLARED},
      {"unit_of_privacy", v1::Statement::DECLARED},
      {"adjacency", v1::Statement::DECLARED},
      {"records_per_person", v1::Statement::NOT_STATED},
      {"released", v1::Statement::DECLARED},
      {"rounds", v1::Statement::RECORDED},
      {"planned_rounds", v1::Statement::DECLARED},
      {"sampling_accounted", v1::Statement::COMPUTED},
      {"sampling_recorded", v1::Statement::RECORDED},
      {"sampling_done", v1::Statement::NOT_STATED},
      {"noise", v1::Statement::RECORDED},
      {"method", v1::Statement::COMPUTED},
      {"regime", v1::Statement::COMPUTED},
      {"parameters", v1::Statement::DECLARED},
      {"filter", v1::Statement::NOT_APPLICABLE},
      {"epsilon", v1::Statement::COMPUTED},
      {"delta", v1::Statement::COMPUTED},
      {"attack", v1::Statement::COMPUTED},
      {"customary_tiers", v1::Statement::SOURCE_UNSPECIFIED},
      {"tuning", v1::Statement::NOT_STATED},
      {"other_ledgers", v1::Statement::COMPUTED},
      {"other_uses", v1::Statement::NOT_STATED},
      {"corrections", v1::Statement::RECORDED},
      {"missing", v1::Statement::RECORDED},
      {"conflicts", v1::Statement::RECORDED},
      {"state", v1::Statement::RECORDED},
      {"version", v1::Statement::COMPUTED},
      {"issuer", v1::Statement::NOT_STATED}};
  for (const auto& [name, source] : wanted) EXPECT_EQ(Field(name).source(), source) << name;
  EXPECT_EQ(Field("rounds").value(), "1,000");
  EXPECT_EQ(Field("released").value(), "the final model");
  EXPECT_EQ(Field("noise").value(), "noise multiplier 1 in every round");
  EXPECT_THAT(Field("sampling_recorded").value(), HasSubstr("1,000 rounds: Poisson sampling"));
  EXPECT_THAT(Field("delta").value(), HasSubstr("60,000 records"));
  EXPECT_EQ(statement_.title(), kOne + ": 2 entries");
}

TEST_F(StatementTest, NumberIsTheOneThatComputeEpsilonAnswers) {
  Make(kOne, 1000);
  MustAsk(kAskOne + " delta: 1e-6");
  v1::ComputeEpsilonResponse answer;
  ASSERT_TRUE(IsOk(
      Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon,
           FromText<v1::ComputeEpsilonRequest>("subject { ledgers: '" + kOne + "' } delta: 1e-6"),
           &answer)));
  EXPECT_EQ(statement_.answer().epsilon().SerializeAsString(),
            answer.epsilon().SerializeAsString());
  EXPECT_EQ(statement_.answer().details().SerializeAsString(),
            answer.details().SerializeAsString());
  EXPECT_EQ(statement_.answer().delta(), 1e-6);
  const std::string printed = statement::UpperText(answer.epsilon().upper());
  EXPECT_GE(std::stod(printed), answer.epsilon().upper());
  EXPECT_THAT(statement_.markdown(), HasSubstr("ε ≤ " + printed + " at δ = 1e-6"));
  EXPECT_THAT(statement_.html(), HasSubstr("ε ≤ " + printed + " at δ = 1e-6"));
}

// Named one by one, no more than 100 may be asked about.
TEST_F(StatementTest, CoversADataSetOfManyLedgers) {
  for (int i = 0; i < 101; ++i) {
    Make(absl::StrCat("projects/p/ledgers/run-", i), 1, [](v1::Declaration& declaration) {
      declaration.set_dataset("many");
      declaration.set_plan_independent(true);
    });
  }
  MustAsk("dataset: 'many'");
  v1::ComputeEpsilonResponse answer;
  ASSERT_TRUE(IsOk(Call(
      running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon,
      FromText<v1::ComputeEpsilonRequest>("subject { dataset: 'many' } delta: 1e-5"), &answer)));
  EXPECT_GT(answer.epsilon().upper(), 0.01);
  EXPECT_EQ(statement_.answer().epsilon().SerializeAsString(),
            answer.epsilon().SerializeAsString());
  EXPECT_EQ(statement_.checkpoints_size(), 101);
}

// The server's own ledgers declare data sets too, and somebody may take such a name for his own.
TEST_F(StatementTest, OwnLedgersOfTheServerAreNoPartOfADataSet) {
  const auto recompute = v1::RecomputeService::NewStub(running_.channel());
  v1::Operation operation;
  ASSERT_TRUE(IsOk(Call(*recompute, &v1::RecomputeService::Stub::StartRecompute,
                        FromText<v1::StartRecomputeRequest>("request_id: 'a' parent: 'projects/p'"),
                        &operation)));
  const std::string name = running_.Get(operation.results_ledger()).declaration().dataset();
  Make(kOne, 10, [&](v1::Declaration& declaration) { declaration.set_dataset(name); });
  v1::ComputeEpsilonResponse answer;
  ASSERT_TRUE(IsOk(Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon,
                        FromText<v1::ComputeEpsilonRequest>(
                            absl::StrCat("subject { dataset: '", name, "' } delta: 1e-5")),
                        &answer)));
  EXPECT_EQ(answer.details().ledgers_size(), 1);
  MustAsk(absl::StrCat("dataset: '", name, "'"));
  EXPECT_EQ(statement_.checkpoints_size(), 1);
}

TEST_F(StatementTest, IsBoundToTheSignedCheckpointOfWhatItCovers) {
  Make(kOne, 10);
  MustAsk(kAskOne);
  const v1::Ledger ledger = running_.Get(kOne);
  ASSERT_EQ(statement_.checkpoints_size(), 1);
  EXPECT_EQ(statement_.checkpoints(0).size(), ledger.size());
  EXPECT_EQ(statement_.checkpoints(0).root_hash(), ledger.root_hash());
  EXPECT_THAT(statement_.checkpoints(0).note(), HasSubstr(kOne + "\n2\n"));
  EXPECT_THAT(statement_.html(), HasSubstr(kOne + "\n2\n"));
  // A part of it, whose root the signed tree proves.
  MustAsk(kAskOne + " up_to_sequence: 1");
  EXPECT_EQ(statement_.checkpoints(0).size(), 1);
  EXPECT_NE(statement_.checkpoints(0).root_hash(), ledger.root_hash());
  EXPECT_EQ(statement_.answer().epsilon().upper(), 0);
}

TEST_F(StatementTest, RefusalIsPartOfTheStatement) {
  Make(kOne, 10, [](v1::Declaration& declaration) { declaration.set_parameters(v1::ADAPTIVE); });
  MustAsk(kAskOne);
  EXPECT_FALSE(statement_.answer().has_epsilon());
  EXPECT_EQ(statement_.answer().refusal().reason(), "ADAPTIVE_NOT_ANALYSED");
  EXPECT_THAT(Field("epsilon").value(), HasSubstr("refused (ADAPTIVE_NOT_ANALYSED)"));
  EXPECT_THAT(statement_.answer().in_words(), HasSubstr("No bound is stated"));
  EXPECT_EQ(Field("rounds").value(), "10");
  EXPECT_EQ(Field("method").source(), v1::Statement::NOT_APPLICABLE);
  EXPECT_EQ(Field("planned_rounds").source(), v1::Statement::NOT_APPLICABLE);
  EXPECT_EQ(Field("filter").source(), v1::Statement::NOT_STATED);
  EXPECT_EQ(Field("dp_setting").value(), "none: there is no guarantee");
  EXPECT_THAT(statement_.html(), Not(HasSubstr("ε ≤")));
  EXPECT_THAT(statement_.markdown(), Not(HasSubstr("ε ≤")));
}

TEST_F(StatementTest, FilterOfAdaptiveLedgersIsTheGuarantee) {
  Make(kOne, 10, [](v1::Declaration& declaration) {
    declaration.set_parameters(v1::ADAPTIVE);
    declaration.mutable_filter()->mutable_rdp()->set_order(8);
    declaration.mutable_filter()->mutable_rdp()->set_epsilon(4);
  });
  MustAsk(kAskOne);
  ASSERT_TRUE(statement_.answer().has_epsilon());
  EXPECT_EQ(Field("filter").source(), v1::Statement::DECLARED);
  EXPECT_THAT(Field("filter").value(), HasSubstr("bound 4; spent "));
  EXPECT_THAT(Field("regime").value(), HasSubstr("what the declared filters allow"));
  EXPECT_THAT(statement_.answer().in_words(), HasSubstr("follow from epsilon and delta alone"));
  // Of an odometer over such ledgers a filter is no part; it is declared all the same.
  Make(kTwo, 800);
  MustAsk("dataset: 'adult' delta: 1e-5");
  EXPECT_EQ(statement_.answer().details().regime(), v1::ODOMETER);
  EXPECT_EQ(Field("filter").source(), v1::Statement::DECLARED);
  EXPECT_EQ(Field("filter").value(), absl::StrCat(kOne, ": epsilon of order 8 (rdp), bound 4"));
}

// A number that is no bound, one that is corrected, and a δ that gives out whole records, in the
// first words that a reader sees.
TEST_F(StatementTest, HeadSaysWhatSpeaksAgainstTheNumber) {
  Make(kOne, 10);
  v1::AppendBatchRequest correction = Batch(kOne, "w", "correction");
  correction.set_writer_position(1);
  correction.add_entries()->mutable_correction()->set_text("sigma was 0.3");
  correction.mutable_entries(0)->mutable_correction()->set_corrected_sequence(1);
  running_.Append(correction);
  MustAsk(kAskOne);
  EXPECT_THAT(statement_.answer().in_words(),
              HasSubstr("The delta is large: 0.6 times 1/n for the 60000 records"));
  EXPECT_THAT(statement_.answer().in_words(), StartsWith("The record is corrected: "));
  EXPECT_THAT(statement_.answer().in_words(), HasSubstr("for a coin toss whether a record"));
  v1::AppendBatchRequest raw = Batch(kOne, "w", "raw");
  raw.set_writer_position(2);
  raw.add_entries()->mutable_event()->mutable_mechanism()->mutable_non_private();
  running_.Append(raw);
  MustAsk(kAskOne);
  EXPECT_THAT(statement_.answer().in_words(), HasSubstr("No bound is known at this delta on what"));
  EXPECT_THAT(statement_.markdown(), HasSubstr("No ε is finite at δ = 1e-5"));
  EXPECT_EQ(Field("dp_setting").value(), "none: there is no guarantee");
  EXPECT_THAT(statement_.html(), Not(HasSubstr("ε ≤")));
}

// ε of an odometer is never shown as that of differential privacy.
TEST_F(StatementTest, OdometerIsNamedWhereverItsNumberStands) {
  Make(kOne, 1200);
  Make(kTwo, 800);
  MustAsk("dataset: 'adult' delta: 1e-5");
  ASSERT_TRUE(statement_.answer().has_epsilon());
  EXPECT_EQ(statement_.answer().details().regime(), v1::ODOMETER);
  const std::string number =
      "privacy loss of the runs that happened ≤ 3.724, but for a probability of 1e-5 (an odometer: "
      "no differential privacy)";
  EXPECT_THAT(statement_.markdown(), HasSubstr("**" + number + "**"));
  EXPECT_THAT(statement_.html(), HasSubstr(number));
  EXPECT_EQ(Field("epsilon").value(), number + "; upper end only");
  EXPECT_THAT(Field("regime").value(), HasSubstr("This is not differential privacy"));
  for (const std::string& page : {statement_.markdown(), statement_.html()}) {
    EXPECT_THAT(page, Not(HasSubstr("ε ≤")));
    EXPECT_THAT(page, Not(HasSubstr("customary")));
  }
  // Even odds become e^3.724 to one at most.
  EXPECT_THAT(statement_.answer().in_words(),
              HasSubstr("sure of the truth by now to at most 97.65 %"));
  EXPECT_THAT(statement_.answer().in_words(), HasSubstr("Of runs that did not happen"));
  EXPECT_THAT(Field("warnings").value(), HasSubstr("does not declare plan_independent"));
  EXPECT_NEAR(97.65, 100 / (1 + std::exp(-3.7230595)), 0.01);
}

TEST_F(StatementTest, OfADataSetCoversAllItsLedgers) {
  const auto independent = [](v1::Declaration& declaration) {
    declaration.set_plan_independent(true);
    declaration.set_released("a model");
  };
  Make(kOne, 10, independent);
  Make(kTwo, 20, independent);
  Make("projects/q/ledgers/other", 10,
       [](v1::Declaration& declaration) { declaration.set_dataset("else"); });
  MustAsk("dataset: 'adult'");
  EXPECT_EQ(statement_.title(), "data set \"adult\": 2 ledgers, 4 entries");
  EXPECT_EQ(statement_.checkpoints_size(), 2);
  EXPECT_THAT(Table(), ElementsAre(Row{kOne, "2", "10", "–", kSampling10, kNoise},
                                   Row{kTwo, "2", "20", "–", kSampling20, kNoise}));
  EXPECT_THAT(statement_.markdown(),
              HasSubstr("| Ledger | Entries | Rounds | Planned rounds | Sampling as the entries "
                        "state it | Noise |\n|---|---|---|---|---|---|\n| " +
                        kOne + " | 2 | 10 | – | "));
  EXPECT_THAT(statement_.html(), HasSubstr("<td><bdi>" + kTwo + "</bdi></td><td><bdi>2</bdi>"));
  EXPECT_EQ(Field("released").value(), "a model");
  EXPECT_EQ(Field("other_ledgers").value(), "none on this server");
  const double both = statement_.answer().epsilon().upper();
  MustAsk(kAskOne);
  EXPECT_GT(both, statement_.answer().epsilon().upper());
  EXPECT_THAT(Field("other_ledgers").value(), HasSubstr("1 other ledger on this server"));
}

// It said 0 rounds and "no noise" of them, also where the data themselves were released.
TEST_F(StatementTest, NamesTheMechanismsThatAreNoRounds) {
  running_.Create(kOne);
  v1::AppendBatchRequest batch = Batch(kOne, "w", "r1");
  for (const char* mechanism :
       {"gaussian { noise_multiplier: 2 }", "non_private {}", "gaussian { noise_multiplier: 2 }",
        "count: 7 poisson_sampled { sampling_probability: 0.01 event { laplace { "
        "noise_multiplier: 3 } } }",
        "renyi_curve { orders: [2, 3, 4, 5, 6, 7] epsilons: [1, 1, 1, 1, 1, 2] }",
        "composed { events { gaussian { noise_multiplier: 1 } } events { zcdp { rho: 0.5 } } }"}) {
    *batch.add_entries()->mutable_event() =
        FromText<v1::Event>(absl::StrCat("mechanism { ", mechanism, " }"));
  }
  running_.Append(batch);
  MustAsk(kAskOne);
  const std::string mechanisms =
      "2 × gaussian (noise multiplier 2); the data themselves, without noise (non private); "
      "7 × poisson sampled (sampling probability 0.01, laplace (noise multiplier 3)); renyi curve "
      "(orders 2, 3, 4, 5 and 2 more, epsilons 1, 1, 1, 1 and 2 more); composed (events gaussian "
      "(noise multiplier 1), zcdp (rho 0.5, xi 0))";
  EXPECT_EQ(Field("mechanisms").value(), mechanisms);
  EXPECT_EQ(Field("rounds").value(), "0");
  for (const char* field : {"noise", "sampling_recorded"}) {
    EXPECT_EQ(Field(field).value(), "there are no rounds: the mechanisms state theirs, under 3");
    EXPECT_EQ(Field(field).source(), v1::Statement::NOT_APPLICABLE);
  }
  // Of a data set it is a column, where somebody has one.
  Make(kTwo, 20);
  MustAsk("dataset: 'adult'");
  EXPECT_THAT(Table(), ElementsAre(Row{kOne, "7", "0", "–", "–", "–", mechanisms},
                                   Row{kTwo, "2", "20", "–", kSampling20, kNoise, "–"}));
}

TEST_F(StatementTest, OfATreeWithManyMechanismsSaysTheFirst) {
  running_.Create(kOne);
  v1::AppendBatchRequest batch = Batch(kOne, "w", "r1");
  v1::MechanismEvent tree = FromText<v1::MechanismEvent>("gaussian { noise_multiplier: 1 }");
  for (int depth = 0; depth < 7; ++depth) {
    v1::MechanismEvent wider;
    for (int part = 0; part < 3; ++part) *wider.mutable_composed()->add_events() = tree;
    tree = wider;
  }
  *batch.add_entries()->mutable_event()->mutable_mechanism() = tree;
  for (int i = 1; i < 20; ++i) {
    *batch.add_entries()->mutable_event() =
        FromText<v1::Event>(absl::StrCat("mechanism { gaussian { noise_multiplier: ", i, " } }"));
  }
  running_.Append(batch);
  MustAsk(kAskOne);
  EXPECT_LT(Field("mechanisms").value().size(), 1000u);
  EXPECT_THAT(Field("mechanisms").value(), HasSubstr("…; gaussian (noise multiplier 1); "));
  EXPECT_THAT(Field("mechanisms").value(), HasSubstr("; and 10 other mechanisms"));
}

TEST_F(StatementTest, OfADataSetCountsAsPeopleDo) {
  for (const char* name : {"run-10", "run-9", "run-2", "run-02b", "run", "run-1"})
    Make(absl::StrCat("projects/p/ledgers/", name), 1);
  MustAsk("dataset: 'adult'");
  std::vector<std::string> names;
  for (const Row& row : Table()) names.push_back(row[0].substr(std::strlen("projects/p/ledgers/")));
  EXPECT_THAT(names, ElementsAre("run", "run-1", "run-2", "run-02b", "run-9", "run-10"));
}

// Of groups the plain words spoke of one record.
TEST_F(StatementTest, SpeaksOfAsManyRecordsAsItWasAskedFor) {
  const std::vector<std::pair<v1::Adjacency, std::string>> cases = {
      {v1::ADD_OR_REMOVE_ONE,
       "toss whether up to 3 records that belong together are among the data, tells it rightly"},
      {v1::ZERO_OUT,
       "toss whether up to 3 records that belong together contributed or were left "
       "blank, tells it rightly"}};
  for (const auto& [adjacency, words] : cases) {
    const std::string name = absl::StrCat("projects/p/ledgers/of-", adjacency);
    Make(name, 10,
         [adjacency](v1::Declaration& declaration) { declaration.set_adjacency(adjacency); });
    MustAsk(absl::StrCat("ledger: '", name, "' options { group_size: 3 }"));
    EXPECT_THAT(statement_.answer().in_words(), HasSubstr(words));
  }
}

TEST_F(StatementTest, OfADataSetThatDoesNotComposeSaysWhyAndWhatDiffers) {
  Make(kOne, 10);
  Make(kTwo, 20, [](v1::Declaration& declaration) { declaration.set_unit_of_privacy("user"); });
  MustAsk("dataset: 'adult'");
  EXPECT_EQ(statement_.answer().refusal().reason(), "UNITS_DIFFER");
  EXPECT_EQ(Field("unit_of_privacy").value(),
            "example (in 1 ledger: " + kOne + ")\nuser (in 1 ledger: " + kTwo + ")");
  EXPECT_THAT(Table(), ElementsAre(Row{kOne, "2", "10", "–", kSampling10, kNoise},
                                   Row{kTwo, "2", "20", "–", kSampling20, kNoise}));
}

TEST_F(StatementTest, RefusesWrongRequests) {
  Make(kOne, 10);
  EXPECT_TRUE(IsFieldError(Ask(""), "ledger", "must be given, or a dataset"));
  EXPECT_TRUE(IsFieldError(Ask(kAskOne + " delta: 1"), "delta", "must be in (0, 1)"));
  EXPECT_TRUE(IsFieldError(Ask(kAskOne + " delta: nan"), "delta", "must be in (0, 1)"));
  EXPECT_TRUE(IsFieldError(Ask("dataset: 'adult' up_to_sequence: 1"), "up_to_sequence",
                           "must be 0 unless a ledger is named"));
  EXPECT_TRUE(IsFieldError(Ask("dataset: ''"), "dataset", "must have 1 to 256 bytes"));
  EXPECT_TRUE(IsFieldError(Ask("ledger: 'x'"), "ledger", ""));
  EXPECT_TRUE(
      IsFieldError(Ask(kAskOne + " options { method: 77 }"), "options.method", "enum number 77"));
  EXPECT_TRUE(IsFieldError(Ask(kAskOne + " options { as_planned: true }"), "options.as_planned",
                           "no guarantee to build on"));
  EXPECT_EQ(Ask("ledger: 'projects/p/ledgers/none'").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Ask("dataset: 'none'").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Ask(kAskOne + " up_to_sequence: 9").error_code(), StatusCode::OUT_OF_RANGE);
}

TEST_F(StatementTest, WhateverANameHoldsThePagesHoldText) {
  Make(kOne, 10, [](v1::Declaration& declaration) {
    declaration.set_dataset(absl::StrCat("<b>", kLong, "\u202E</b>"));
    declaration.set_unit_of_privacy("a&b");
    declaration.set_released(kOdd);
    declaration.set_description(kOdd);
  });
  MustAsk(kAskOne);
  const std::string& html = statement_.html();
  EXPECT_THAT(html,
              HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot;"));
  EXPECT_THAT(html, HasSubstr(absl::StrCat("&lt;b&gt;", kLong, "[U+202E]&lt;/b&gt;")));
  EXPECT_THAT(html, HasSubstr("a&amp;b"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("size: A4"));
  for (const char* bad : {"<script", "<b>", "<img", "src=", "href", "\u202E", "\u200B", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(bad)));
  }
  const std::string& markdown = statement_.markdown();
  std::string rest;  // what is not escaped
  for (size_t i = 0; i < markdown.size(); ++i) {
    if (markdown[i] == '\\' && markdown[i + 1] != '\n') {
      ++i;
    } else {
      rest += markdown[i];
    }
  }
  for (const char* bad : {"<script", "<b>", "![i]", "http://", "www.e", "`c`", "\u202E", "\u200B",
                          "\n# h", "\n  # h", "\n  - l", "\n  1. n"}) {
    EXPECT_THAT(rest, Not(HasSubstr(bad)));
  }
  EXPECT_THAT(markdown, HasSubstr("\\\n  \\# h\\\n  \\- l\\\n  1\\. n"));
}

TEST_F(StatementTest, SaysNothingThatDifferentialPrivacyDoesNot) {
  Make(kOne, 10);
  MustAsk(kAskOne);
  const std::string text = absl::AsciiStrToLower(statement_.markdown());
  for (const char* word :
       {"safe", "anonymous", "private ", "verified", "budget", "improved", "complete"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

// ---- Words ----

TEST(StatementWords, RoundsNumbersOutward) {
  EXPECT_EQ(statement::UpperText(1.332042), "1.333");
  EXPECT_EQ(statement::LowerText(1.332942), "1.332");
  EXPECT_EQ(statement::UpperText(23.205001), "23.21");
  EXPECT_EQ(statement::UpperText(1e-5 * 1.00001), "1.001e-5");
  EXPECT_EQ(statement::UpperText(std::numeric_limits<double>::infinity()), "no bound");
  EXPECT_EQ(statement::ChanceUp(0.550333), "55.04 %");
  EXPECT_EQ(statement::ChanceUp(1), "100 %");
  EXPECT_EQ(statement::StatedText(1e-5), "1e-5");
  EXPECT_EQ(statement::CountText(1234567), "1,234,567");
  EXPECT_EQ(statement::CountText(999), "999");
}

TEST(StatementWords, ShowsWhatHides) {
  EXPECT_EQ(statement::Shown("a\u202Eb\tc\nd\u0661"), "a[U+202E]b[U+0009]c\nd\u0661");
  EXPECT_EQ(statement::Shown("\xff!"), "[?]!");
}

// A Gaussian of μ = 1 is (ε, δ)-DP with δ(ε) = Φ(1/2 - ε) - e^ε Φ(-1/2 - ε); an attacker's success
// on it is Φ(1/2), and his true positive rate at 1 % is Φ(Φ^{-1}(0.01) + 1).
TEST(StatementWords, AttackFromOnePairBoundsEveryMechanismThatHasIt) {
  const auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  for (const double epsilon : {0.1, 1.0, 3.0}) {
    const double delta = phi(0.5 - epsilon) - std::exp(epsilon) * phi(-0.5 - epsilon);
    const statement::Attack attack = statement::AttackOf(epsilon, delta);
    EXPECT_GE(attack.success, phi(0.5));
    EXPECT_GE(attack.detection, phi(-2.3263478740408408 + 1));
  }
  // Randomized response attains it: success e^ε / (1 + e^ε).
  const statement::Attack attained = statement::AttackOf(1, 0);
  EXPECT_GE(attained.success, std::exp(1) / (1 + std::exp(1)));
  EXPECT_NEAR(attained.success, std::exp(1) / (1 + std::exp(1)), 1e-12);
  EXPECT_NEAR(attained.detection, 0.01 * std::exp(1), 1e-12);
  EXPECT_EQ(statement::AttackOf(std::numeric_limits<double>::infinity(), 0).success, 1);
  EXPECT_EQ(statement::AttackOf(1e4, 0).detection, 1);
}

// Replace-one says nothing of who is among the data: "in 100 of those that are among them" had no
// meaning there, nor under zero-out.
TEST(StatementWords, AttackIsAboutWhatNeighboursDifferIn) {
  const struct {
    v1::Adjacency adjacency;
    const char *question, *found;
  } rows[] = {
      {v1::ADD_OR_REMOVE_ONE, "toss whether a record is among the data, tells it rightly",
       "in 100 of those that are not among them, such a guesser"},
      {v1::REPLACE_ONE, "toss which of two values a record has, tells it rightly",
       "in 100 of those with the value that is looked for."},
      {v1::ZERO_OUT, "toss whether a record contributed or was left blank, tells it rightly",
       "in 100 of those that contributed."}};
  for (const auto& row : rows) {
    statement::Facts facts;
    facts.answer.mutable_epsilon()->set_upper(1);
    facts.answer.mutable_details()->set_adjacency(row.adjacency);
    facts.answer.mutable_details()->set_regime(v1::FIXED_PLAN);
    const std::string words = statement::AttackWords(facts);
    EXPECT_THAT(words, HasSubstr(row.question));
    EXPECT_THAT(words, HasSubstr(row.found));
  }
}

TEST(StatementWords, AttackOnOdometersAboveTenHasNoUsefulBound) {
  statement::Facts facts;
  facts.answer.mutable_epsilon()->set_upper(1);
  facts.answer.mutable_details()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  facts.answer.mutable_details()->set_regime(v1::ODOMETER);
  EXPECT_THAT(statement::AttackWords(facts), HasSubstr("sure of the truth by now to at most 73.1"));
  facts.answer.mutable_epsilon()->set_upper(10.1);
  EXPECT_THAT(statement::AttackWords(facts), StartsWith("There is no useful bound"));
}

// What a budget sets aside is no release.
TEST_F(StatementTest, OfABudgetSaysThatItsRoundsAreSetAside) {
  const std::string budget = "projects/p/ledgers/budget", run = "projects/p/ledgers/run";
  running_.Create(budget, [](v1::Declaration& declaration) {
    declaration.set_kind(v1::BUDGET);
    declaration.set_parameters(v1::ADAPTIVE);
    declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
  });
  running_.Create(run, [&](v1::Declaration& declaration) { declaration.set_budget(budget); });
  v1::GrantBudgetRequest grant;
  grant.set_budget(budget);
  grant.set_ledger(run);
  grant.set_request_id("g");
  *grant.add_plan() = FromText<v1::Event>(
      "rounds { scheme { full_batch {} } queries { l2_norm_bound: 1 noise_stddev: 10 } count: 7 }");
  grpc::Status granted;
  do {
    granted = Call(running_.ledgers(), &v1::LedgerService::Stub::GrantBudget, grant);
  } while (ErrorInfoOf(granted).reason() == "FILTER_NOT_READY");
  ASSERT_TRUE(IsOk(granted));
  MustAsk("ledger: '" + budget + "'");
  EXPECT_THAT(Field("sampling_recorded").value(), HasSubstr("set aside for its runs: 7 rounds"));
  EXPECT_THAT(Field("noise").value(), HasSubstr("set aside for its runs: noise multiplier 10"));
  EXPECT_EQ(Field("rounds").value(), "none: a budget sets aside what its runs may release");
  // Nor is it another use of the data set beside its run's.
  const std::string of_budget = Field("other_ledgers").value();
  MustAsk("ledger: '" + run + "'");
  const std::string of_run = Field("other_ledgers").value();
  EXPECT_THAT(of_run, EndsWith("; beside the budget " + budget));
  EXPECT_THAT(of_budget, StartsWith("1 other ledger on"));
  EXPECT_THAT(of_run, StartsWith("none on this server"));
}

}  // namespace
}  // namespace dpledger::server
