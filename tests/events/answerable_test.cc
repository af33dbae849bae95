// The rulebook tells a trainer what its declaration can never answer for; the accountant is who has
// to answer.
#include "events/answerable.h"

#include <gtest/gtest.h>

#include "accountant/mechanism/composition.h"
#include "base/status.h"
#include "events/event_json.h"
#include "events/event_values.h"

namespace dpledger::accountant {
namespace {

constexpr std::pair<v1::Adjacency, Adjacency> kAdjacencies[] = {
    {v1::ADD_OR_REMOVE_ONE, Adjacency::kAddOrRemoveOne},
    {v1::ZERO_OUT, Adjacency::kZeroOut},
    {v1::REPLACE_ONE, Adjacency::kReplaceOne}};

struct Told {
  bool by_rulebook, by_accountant;
};

// Who answers for the event on this line.
Told AskBoth(const std::string& line, const std::pair<v1::Adjacency, Adjacency>& adjacency) {
  const auto proto = events::EventFromJson(line);
  EXPECT_TRUE(proto.ok()) << line << proto.status();
  const auto event = events::ValueOf(*proto);
  EXPECT_TRUE(event.ok()) << line << event.status();
  History history;
  history.Add("w", *event);
  const absl::Status told = events::CheckAnswerable(adjacency.first, *proto);
  const absl::Status found = Resolve(history, adjacency.second).status();
  EXPECT_EQ(ReasonOf(told).reason, told.ok() ? "" : "NEVER_ANSWERED") << line;
  EXPECT_EQ(ReasonOf(found).reason, found.ok() ? "" : "NO_ANALYSIS") << line;
  return {told.ok(), found.ok()};
}

std::string Rounds(const std::string& scheme) {
  return R"({"rounds":{"scheme":{"populationSize":"100",)" + scheme +
         R"(},"queries":[{"l2NormBound":1,"noiseStddev":2}],"count":"4"}})";
}
std::string Mechanism(const std::string& kind) { return R"({"mechanism":{)" + kind + "}}"; }

TEST(Answerable, IsEverySchemeThatTheAccountantAnswers) {
  for (const char* scheme :
       {R"("fullBatch":{})", R"("poisson":{"probability":0.1})",
        R"("withoutReplacement":{"sampleSize":"10"})", R"("withReplacement":{"sampleSize":"10"})",
        R"("disjointBatches":{"batchesPerEpoch":"4"})",
        R"("randomAllocation":{"roundsPerEpoch":"4"})",
        R"("truncatedPoisson":{"probability":0.1,"maxSampleSize":"12"})"}) {
    for (const auto& adjacency : kAdjacencies) {
      const Told told = AskBoth(Rounds(scheme), adjacency);
      EXPECT_EQ(told.by_rulebook, told.by_accountant)
          << scheme << " " << AdjacencyName(adjacency.second);
    }
  }
}

TEST(Answerable, IsEveryMechanismOfATrainerThatTheAccountantAnswers) {
  const std::string rest = R"("noiseStddev":3,)",
                    once = R"("participation":{"maxParticipations":"1","minSeparation":"1"})";
  for (
      const std::string& kind :
      {R"("matrixMechanism":{)" + rest + R"("sensitivity":2})",
       R"("matrixMechanism":{)" + rest + R"("tree":{"steps":"8",)" + once + "}}",
       R"("matrixMechanism":{)" + rest + R"("toeplitz":{"steps":"8","coefficients":[1,0.5],)" +
           once + "}}",
       R"("matrixMechanism":{)" + rest +
           R"("toeplitz":{"steps":"8","coefficients":[1,0.5],"cyclicPoisson":{"period":"2","probability":0.5}}})",
       R"("matrixMechanism":{)" + rest +
           R"("toeplitz":{"steps":"8","coefficients":[1,0.5],"cyclicPoisson":{"period":"2","probability":0.5,"groups":"GROUPS_DRAWN_ONE_BY_ONE"}}})",
       R"("matrixMechanism":{)" + rest +
           R"("toeplitz":{"steps":"8","coefficients":[1,0.5],"ballsInBins":{"bins":"2"}}})",
       R"("matrixMechanism":{)" + rest + R"("tree":{"steps":"8","ballsInBins":{"bins":"2"}}})",
       R"("matrixMechanism":{)" + rest +
           R"("toeplitz":{"steps":"8","coefficients":[1,0.5],"minSeparationSampling":{"probability":0.5,"minSeparation":"2"}}})",
       std::string(R"("unsupported":{"description":"sparse vector"})")}) {
    for (const auto& adjacency : kAdjacencies) {
      const Told told = AskBoth(Mechanism(kind), adjacency);
      EXPECT_EQ(told.by_rulebook, told.by_accountant)
          << kind << " " << AdjacencyName(adjacency.second);
    }
  }
}

// Of other mechanisms the rulebook says nothing, so at least nothing wrong.
TEST(Answerable, RefusesNothingThatTheAccountantAnswers) {
  for (
      const char* kind :
      {R"("gaussian":{"noiseMultiplier":1})", R"("laplace":{"noiseMultiplier":1})",
       R"("discreteLaplace":{"noiseParameter":1,"sensitivity":"1"})",
       R"("discreteGaussian":{"sigma":2,"sensitivity":"1"})",
       R"("randomizedResponse":{"noiseParameter":0.5,"numBuckets":"2"})",
       R"("epsilonDelta":{"epsilon":1,"delta":0.001})", R"("zcdp":{"rho":1,"xi":0})",
       R"("exponentialMechanism":{"epsilon":1})", R"("permuteAndFlip":{"epsilon":1})",
       R"("reportNoisyMax":{"noiseMultiplier":1})", R"("shuffled":{"localEpsilon":1,"people":"9"})",
       R"("sparseVector":{"thresholdNoise":2,"queryNoise":4,"cutoff":"1"})",
       R"("mixtureOfGaussians":{"standardDeviation":1,"sensitivities":[0,1],"samplingProbs":[0.5,0.5]})",
       R"("truncatedSubsampledGaussian":{"datasetSize":"100","samplingProbability":0.1,"truncatedBatchSize":"12","noiseMultiplier":1})",
       R"("singleEpochTreeAggregation":{"noiseMultiplier":1,"stepCounts":["4"]})",
       R"("poissonSampled":{"samplingProbability":0.1,"event":{"laplace":{"noiseMultiplier":1}}})",
       R"("renyiCurve":{"orders":[2],"epsilons":[1]})", R"("noOp":{})", R"("nonPrivate":{})"}) {
    for (const auto& adjacency : kAdjacencies) {
      const Told told = AskBoth(Mechanism(kind), adjacency);
      EXPECT_TRUE(told.by_rulebook || !told.by_accountant)
          << kind << " " << AdjacencyName(adjacency.second);
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant
