// Questions answered offline, by the real program: the numbers, and the shape of the JSON that
// scripts depend on.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

JsonObject Answer(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const RunResult result = Dpledger(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return JsonObject(result.out);
}

class Questions : public ::testing::Test {
 protected:
  std::string Reference() { return folder_.Write("f.jsonl", PoissonRounds("0.01", "1", "10000")); }

  TemporaryFolder folder_;
};

TEST_F(Questions, PldIntervalHoldsTheCertifiedEpsilonAndIsNarrow) {
  const JsonObject answer =
      Answer({"epsilon", "--events", Reference(), "--delta", "1e-5", "--method", "pld"});
  const double lower = answer.Number("epsilon.lower");
  const double upper = answer.Number("epsilon.upper");
  EXPECT_LE(lower, 6.187712389971539);
  EXPECT_GE(upper, 6.187712389971539);
  EXPECT_LE((upper - lower) / upper, 1e-3);
  EXPECT_EQ(answer.Text("details.method"), "pld");
}

TEST_F(Questions, RdpGivesAnUpperBoundOnlyAndSaysSo) {
  const JsonObject answer =
      Answer({"epsilon", "--events", Reference(), "--delta", "1e-5", "--method", "rdp"});
  EXPECT_EQ(answer.Number("epsilon.lower"), 0);
  EXPECT_GE(answer.Number("epsilon.upper"), 6.187712389971539);
  EXPECT_LE(answer.Number("epsilon.upper"), 6.7128);
  EXPECT_EQ(answer.Text("details.method"), "rdp");
  EXPECT_THAT(answer.Texts("details.warnings"), Contains(HasSubstr("lower bound")));
}

// Cases for the larger of both directions; those for one direction are the library's tests.
TEST_F(Questions, EveryCertifiedCaseLiesInThePldInterval) {
  const char* root = std::getenv("DPLEDGER_SOURCE");
  ASSERT_NE(root, nullptr);
  std::ostringstream text;
  text << std::ifstream(std::string(root) + "/tests/data/certified_epsilon.json").rdbuf();
  google::protobuf::Struct data;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text.str(), &data).ok());
  int asked = 0;
  for (const auto& value : data.fields().at("cases").list_value().values()) {
    const auto& fields = value.struct_value().fields();
    const double delta = fields.at("delta").number_value();
    if (fields.at("direction").string_value() != "both" || delta < 1e-8) continue;
    std::string events;
    for (const auto& step : fields.at("steps").list_value().values()) {
      const auto digits = [&](const char* key) {
        return absl::StrFormat("%.17g", step.struct_value().fields().at(key).number_value());
      };
      events += PoissonRounds(digits("q"), digits("noise_multiplier"), digits("count"));
    }
    const JsonObject answer =
        Answer({"epsilon", "--events", folder_.Write("case.jsonl", events), "--delta",
                absl::StrFormat("%.17g", delta), "--method", "pld"});
    const double epsilon = fields.at("epsilon").number_value();
    const double slack = epsilon * fields.at("relative_uncertainty").number_value();
    EXPECT_LE(answer.Number("epsilon.lower"), epsilon + slack) << events;
    EXPECT_GE(answer.Number("epsilon.upper"), epsilon - slack) << events;
    ++asked;
  }
  EXPECT_GE(asked, 4);
}

TEST_F(Questions, EpsilonJsonIsTheContractsObject) {
  const JsonObject answer = Answer({"epsilon", "--events", Reference(), "--delta", "1e-5"});
  EXPECT_THAT(answer.Keys(), ElementsAre("delta", "details", "epsilon"));
  EXPECT_EQ(answer.Text("details.regime"), "FIXED_PLAN");
  EXPECT_EQ(answer.Number("delta"), 1e-5);
  EXPECT_EQ(answer.Text("details.adjacency"), "ADD_OR_REMOVE_ONE");
  EXPECT_EQ(answer.Text("details.parameters"), "FIXED");
  EXPECT_THAT(answer.Texts("details.schemes"), ElementsAre("poisson"));
  EXPECT_THAT(answer.Texts("details.assumptions"), Contains(HasSubstr("floating-point noise")));
  EXPECT_EQ(answer.Number("details.entries"), 1);
  EXPECT_FALSE(answer.Text("details.version").empty());
}

// A first question takes one line and no file. It is answered as the same run in a file is.
TEST_F(Questions, ARunByItsFlagsIsTheSameRunInAFile) {
  const std::string file = folder_.Write("f.jsonl", PoissonRounds("0.01", "2", "300"));
  for (const std::vector<std::string>& question : std::vector<std::vector<std::string>>{
           {"epsilon", "--delta", "1e-5"},
           {"delta", "--epsilon", "0.5"},
           {"profile", "--epsilons", "0.1,0.5"},
           {"tuning", "--delta", "1e-5", "--trials", "poisson", "--mean-trials", "4"},
           {"audit", "--canaries", "10", "--guesses", "5", "--correct", "3", "--delta", "1e-5"}}) {
    std::vector<std::string> by_file = question, by_flags = question;
    by_file.insert(by_file.end(), {"--json", "--events", file});
    by_flags.insert(by_flags.end(), {"--json", "--noise-multiplier", "2", "--sampling-probability",
                                     ".01", "--steps", "300"});
    const RunResult result = Dpledger(by_flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, Dpledger(by_file).out);
  }
}

TEST_F(Questions, WithoutSamplingProbabilityEveryStepTakesEveryRecordAndTheAnswerSaysSo) {
  const JsonObject answer =
      Answer({"delta", "--epsilon", "1", "--noise-multiplier", "1", "--steps", "1"});
  // Of the Gaussian mechanism with noise multiplier 1 (Balle and Wang 2018, theorem 8).
  EXPECT_LE(answer.Number("delta.lower"), 0.126936737506644);
  EXPECT_GE(answer.Number("delta.upper"), 0.126936737506643);
  EXPECT_THAT(answer.Texts("details.schemes"), ElementsAre("full_batch"));
  EXPECT_THAT(answer.Texts("details.assumptions"),
              Contains("full batch: no --sampling-probability was given, so every record is in "
                       "every step"));
}

TEST_F(Questions, GroupSizeIsForEveryQuestionAndTwoRecordsAreTwiceTheDistance) {
  const auto delta = [&](const std::string& noise, const std::string& group) {
    return Answer({"delta", "--epsilon", "1", "--noise-multiplier", noise, "--steps", "1",
                   "--group-size", group})
        .Number("delta.upper");
  };
  EXPECT_EQ(delta("2", "2"), delta("1", "1"));
  const auto noise = [&](const std::string& group) {
    return Answer({"calibrate", "--epsilon", "1", "--delta", "1e-5", "--solve", "noise-multiplier",
                   "--sampling-probability", "1", "--steps", "1", "--group-size", group})
        .Number("noiseMultiplier");
  };
  EXPECT_NEAR(noise("2"), 2 * noise("1"), 1e-3);
}

TEST_F(Questions, EventFilesCarryNoDeclarationAndTheAnswerSaysWhatWasAssumed) {
  const JsonObject assumed = Answer({"epsilon", "--events", Reference(), "--delta", "1e-5"});
  EXPECT_THAT(assumed.Texts("details.warnings"), Contains(HasSubstr("ADD_OR_REMOVE_ONE")));
  EXPECT_THAT(assumed.Texts("details.warnings"), Contains(HasSubstr("FIXED")));
  const JsonObject told = Answer({"epsilon", "--events", Reference(), "--delta", "1e-5",
                                  "--adjacency", "add-or-remove-one", "--parameters", "fixed"});
  EXPECT_THAT(told.Texts("details.warnings"),
              ::testing::Not(Contains(HasSubstr("ADD_OR_REMOVE_ONE"))));
  EXPECT_THAT(told.Texts("details.warnings"), ::testing::Not(Contains(HasSubstr("FIXED"))));
}

TEST_F(Questions, NumbersHaveTheirFewestDigitsAndInfinityIsAString) {
  const RunResult epsilon =
      Dpledger({"epsilon", "--events", Reference(), "--delta", "0.1", "--json"});
  EXPECT_THAT(epsilon.out, HasSubstr("\"delta\":0.1,"));
  const std::string file = folder_.Write("all.jsonl", R"({"mechanism":{"nonPrivate":{}}})"
                                                      "\n");
  const JsonObject infinite = Answer({"epsilon", "--events", file, "--delta", "1e-5"});
  EXPECT_EQ(infinite.Text("epsilon.upper"), "Infinity");
  // A dump of the data is no differential privacy, however its parameters were decided.
  const RunResult text = Dpledger({"epsilon", "--events", file, "--delta", "1e-5"});
  EXPECT_THAT(text.out, HasSubstr("No guarantee: no finite epsilon is known at this delta."));
  EXPECT_THAT(text.out, ::testing::Not(HasSubstr("differential privacy")));
  const RunResult bounded = Dpledger({"epsilon", "--events", Reference(), "--delta", "1e-5"});
  EXPECT_THAT(bounded.out, HasSubstr("Differential privacy of one record"));
}

TEST_F(Questions, DeltaIsTheInverseOfEpsilon) {
  const JsonObject answer = Answer(
      {"delta", "--events", Reference(), "--epsilon", "6.187712389971539", "--method", "pld"});
  EXPECT_LE(answer.Number("delta.lower"), 1e-5 * (1 + 1e-12));
  EXPECT_GE(answer.Number("delta.upper"), 1e-5 * (1 - 1e-12));
  EXPECT_EQ(answer.Number("epsilon"), 6.187712389971539);
}

TEST_F(Questions, CalibratedNoiseMeetsTheTargetAndIsNearTheOptimum) {
  const JsonObject answer =
      Answer({"calibrate", "--epsilon", "1", "--delta", "1e-6", "--solve", "noise-multiplier",
              "--sampling-probability", "0.005", "--steps", "20000"});
  EXPECT_GE(answer.Number("noiseMultiplier"), 3.08212);
  EXPECT_LE(answer.Number("noiseMultiplier"), 3.0845);
  EXPECT_LE(answer.Number("optimum.lower"), 3.0821238);
  EXPECT_GE(answer.Number("optimum.upper"), 3.0821237);
  EXPECT_LE(answer.Number("epsilon.upper"), 1);

  // The answer holds when it is asked about as events, closely enough to see it.
  const std::string file = folder_.Write(
      "calibrated.jsonl",
      PoissonRounds("0.005", absl::StrFormat("%.17g", answer.Number("noiseMultiplier")), "20000"));
  EXPECT_LE(Answer({"epsilon", "--events", file, "--delta", "1e-6", "--relative-gap", "1e-5"})
                .Number("epsilon.upper"),
            1);
}

TEST_F(Questions, CalibrationSolvesForStepsAndForTheSamplingProbability) {
  const JsonObject steps =
      Answer({"calibrate", "--epsilon", "6.2", "--delta", "1e-5", "--solve", "steps",
              "--noise-multiplier", "1", "--sampling-probability", "0.01"});
  EXPECT_GE(steps.Number("steps"), 10000);
  EXPECT_LE(steps.Number("steps"), 10100);
  const JsonObject probability =
      Answer({"calibrate", "--epsilon", "6.2", "--delta", "1e-5", "--solve", "sampling-probability",
              "--noise-multiplier", "1", "--steps", "10000"});
  EXPECT_GE(probability.Number("samplingProbability"), 0.01);
  EXPECT_LE(probability.Number("samplingProbability"), 0.0102);
}

TEST_F(Questions, TuningCostsMoreThanOneRun) {
  const JsonObject negative_binomial =
      Answer({"tuning", "--events", Reference(), "--delta", "1e-5", "--trials", "negative-binomial",
              "--eta", "1", "--mean-trials", "10"});
  EXPECT_GT(negative_binomial.Number("epsilon.upper"),
            negative_binomial.Number("singleRunEpsilon.upper"));
  // The geometric distribution's mean is 1/γ.
  EXPECT_NEAR(negative_binomial.Number("gamma"), 0.1, 1e-12);

  const JsonObject poisson = Answer({"tuning", "--events", Reference(), "--delta", "1e-5",
                                     "--trials", "poisson", "--mean-trials", "10"});
  EXPECT_GT(poisson.Number("epsilon.upper"), poisson.Number("singleRunEpsilon.upper"));
  EXPECT_EQ(poisson.Number("gamma"), 0);
}

TEST_F(Questions, TuningNamesTheAnalysesAndTheTrialsItFound) {
  const JsonObject binomial =
      Answer({"tuning", "--events", Reference(), "--delta", "1e-5", "--trials", "binomial",
              "--mean-trials", "10", "--most-trials", "20"});
  EXPECT_EQ(binomial.Text("analysis"), "profile");
  EXPECT_EQ(binomial.Number("trials.binomial.probability"), 0.5);

  const JsonObject least = Answer({"tuning", "--events", Reference(), "--delta", "1e-5", "--trials",
                                   "least-cost", "--mean-trials", "10"});
  EXPECT_LT(least.Number("epsilon.upper"), binomial.Number("epsilon.upper"));
  EXPECT_GT(least.Number("trials.negativeBinomial.mean"), 1);
  EXPECT_LE(least.Number("atMostOneProbability"), 0.5);
  EXPECT_GT(least.Number("gamma"), 0);

  const JsonObject by_rdp =
      Answer({"tuning", "--events", Reference(), "--delta", "1e-5", "--trials", "poisson",
              "--mean-trials", "10", "--method", "rdp"});
  EXPECT_EQ(by_rdp.Text("analysis"), "rdp");
}

TEST_F(Questions, TextSaysTheBoundToReportFirst) {
  const RunResult result =
      Dpledger({"epsilon", "--events", Reference(), "--delta", "1e-5", "--method", "pld"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("epsilon "));
  EXPECT_THAT(result.out, HasSubstr("true value in ["));
  EXPECT_THAT(result.out, HasSubstr("ADD_OR_REMOVE_ONE"));
  EXPECT_EQ(result.err, "");
}

// What is not analysed costs no made-up number: it is refused by its name.
TEST_F(Questions, WhatHasNoAnalysisIsRefusedByName) {
  const struct {
    std::string line;
    std::string name;
  } cases[] = {
      {R"({"mechanism":{"randomizedResponse":{"noiseParameter":0.5,"numBuckets":"2"}}})",
       "randomized_response"},
      {R"({"sampling":{"round":"0","scheme":{"populationSize":"9","disjointBatches":{"batchesPerEpoch":"3"}}}})"
       "\n"
       R"({"sumQuery":{"round":"0","query":{"l2NormBound":1,"noiseStddev":1}}})",
       "disjoint_batches"},
      {R"({"mechanism":{"unsupported":{"description":"home made"}}})", "unsupported"},
  };
  for (const auto& refused : cases) {
    const std::string file = folder_.Write("refused.jsonl", refused.line + "\n");
    const RunResult result = Dpledger({"epsilon", "--events", file, "--delta", "1e-5", "--json"});
    EXPECT_EQ(result.exit_code, 1) << refused.name;
    const JsonObject error(result.out);
    EXPECT_EQ(error.Text("error.code"), "FAILED_PRECONDITION") << refused.name;
    EXPECT_THAT(error.Text("error.message"), HasSubstr(refused.name));
  }
}

TEST_F(Questions, AGridSolvesForEachOfItsValues) {
  const JsonObject answer =
      Answer({"calibrate", "--epsilon", "1", "--delta", "1e-6", "--solve", "noise-multiplier",
              "--steps", "1000", "--grid", "batch-size=600,6000", "--population", "60000"});
  EXPECT_EQ(answer.Array("rows").size(), 2u);
  EXPECT_EQ(answer.Number("rows.0.batchSize"), 600);
  EXPECT_NEAR(answer.Number("rows.0.answer.noiseMultiplier"), 1.5628, 1e-3);
  EXPECT_DOUBLE_EQ(answer.Number("rows.1.noisePerExample"),
                   answer.Number("rows.1.answer.noiseMultiplier") / 6000);
  EXPECT_LE(answer.Number("rows.1.answer.epsilon.upper"), 1);
}

TEST_F(Questions, AHoleInAnEventFileIsSolvedFor) {
  const JsonObject answer =
      Answer({"calibrate", "--epsilon", "2", "--delta", "1e-5", "--events", Reference(), "--hole",
              "events[0].rounds.queries[0].noise_stddev"});
  EXPECT_NEAR(answer.Number("value"), 2.1275, 1e-3);
  EXPECT_LE(answer.Number("epsilon.upper"), 2);
}

// The search went on beyond what the scheme allows, and ended with an error about a value that
// nobody had given.
TEST_F(Questions, AHoleIsSoughtWithinWhatItsEventAllows) {
  const auto calibrate = [&](const std::string& event, const char* hole, const char* target,
                             const char* adjacency) {
    return Dpledger({"calibrate", "--epsilon", target, "--delta", "1e-6", "--adjacency", adjacency,
                     "--events", folder_.Write("hole", event), "--hole", hole, "--json"});
  };
  const RunResult batch = calibrate(
      R"({"rounds":{"scheme":{"populationSize":"3976","withoutReplacement":{"sampleSize":"100"}},)"
      R"("queries":[{"l2NormBound":1,"noiseStddev":9.2}],"count":"32"}})",
      "events[0].rounds.scheme.without_replacement.sample_size", ".82", "replace-one");
  ASSERT_EQ(batch.exit_code, 0) << batch.err;
  EXPECT_NEAR(JsonObject(batch.out).Number("value"), 588, 1);
  const char* answers =
      R"({"mechanism":{"randomizedResponse":{"noiseParameter":0.5,"numBuckets":"4"}}})";
  EXPECT_THAT(
      calibrate(answers, "events[0].mechanism.randomized_response.num_buckets", ".1", "replace-one")
          .err,
      HasSubstr("meets the target"));
}

TEST_F(Questions, AdaptiveParametersAreRefused) {
  const RunResult result = Dpledger({"epsilon", "--events", Reference(), "--delta", "1e-5",
                                     "--parameters", "adaptive", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const JsonObject error(result.out);
  EXPECT_EQ(error.Text("error.code"), "FAILED_PRECONDITION");
  EXPECT_THAT(error.Text("error.message"), HasSubstr("filter"));
}

}  // namespace
}  // namespace dpledger::testing
