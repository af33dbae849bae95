// The words that people describe a run by: batch sizes, populations, epochs, quotients, and the
// names of other libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/json_object.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

JsonObject Ok(Words words) {
  words.push_back("--json");
  const RunResult result = Dpledger(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return JsonObject(result.out);
}

JsonObject Epsilon(Words words) {
  words.insert(words.begin(), {"epsilon", "--delta", "1e-5", "--noise-multiplier", "1.1"});
  return Ok(words);
}

void ExpectUsage(const Words& words, const std::string& message) {
  const RunResult result = Dpledger(words);
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr(message));
}

// TF Privacy's MNIST tutorial: 60 epochs of 256 of 60,000 at z = 1.1 are 14,063 steps, epsilon
// 2.381690.
TEST(RunWords, BatchesAndEpochsAreStepsAndAProbability) {
  const JsonObject answer =
      Epsilon({"--batch-size", "256", "--population", "60000", "--epochs", "60"});
  EXPECT_NEAR(answer.Number("epsilon.upper"), 2.381690, 1e-3);
  EXPECT_THAT(answer.Texts("details.assumptions"),
              Contains(HasSubstr("60 epochs are 14063 steps")));
  EXPECT_THAT(answer.Texts("details.assumptions"),
              Contains(HasSubstr("with probability 256/60000")));
  EXPECT_EQ(
      Epsilon({"--sampling-probability", "256/60000", "--steps", "14063"}).Number("epsilon.upper"),
      answer.Number("epsilon.upper"));
}

TEST(RunWords, CountsMayBeWrittenWithAnExponent) {
  EXPECT_EQ(Epsilon({"--sampling-probability", ".01", "--steps", "1e3"}).Number("epsilon.upper"),
            Epsilon({"--sampling-probability", ".01", "--steps", "1000"}).Number("epsilon.upper"));
  ExpectUsage({"epsilon", "--delta", "1e-5", "--noise-multiplier", "1", "--steps", "1.5"},
              "--steps: must be a whole number in [1, 2^53], got 1.5");
  ExpectUsage({"epsilon", "--delta", "1/0", "--noise-multiplier", "1", "--steps", "1"},
              "--delta: must be a number, or a quotient of two, got 1/0");
}

// 4,700 steps of 117 batches an epoch are 40 epochs and 20 steps of the next: as one step less
// costs no more, and one epoch more no less.
TEST(RunWords, StepsNeedBeNoWholeEpochs) {
  const auto epsilon = [](const std::string& steps) {
    return Epsilon({"--scheme", "disjoint-batches", "--batch-size", "512", "--population", "59904",
                    "--steps", steps, "--adjacency", "zero-out"})
        .Number("epsilon.upper");
  };
  EXPECT_NEAR(epsilon("4700"), epsilon("4797"), 1e-3);  // 41 epochs
  EXPECT_GT(epsilon("4700"), epsilon("4680") * 1.001);  // 40 epochs
}

// Where one number is sought the unfinished epoch counts as whole, and the answer says so.
TEST(RunWords, CalibrationFinishesTheLastEpoch) {
  const auto solve = [](const std::string& steps) {
    return Ok({"calibrate", "--epsilon", "8", "--delta", "1e-5", "--solve", "noise-multiplier",
               "--scheme", "disjoint-batches", "--batch-size", "512", "--population", "59904",
               "--steps", steps, "--adjacency", "zero-out"});
  };
  const JsonObject partial = solve("4700");
  EXPECT_EQ(partial.Number("noiseMultiplier"), solve("4797").Number("noiseMultiplier"));
  EXPECT_GT(partial.Number("noiseMultiplier"), solve("4680").Number("noiseMultiplier") * 1.001);
  EXPECT_THAT(
      partial.Texts("details.assumptions"),
      ::testing::Contains("the epoch that 4700 steps leave unfinished counts as whole, which "
                          "costs no less: 4797 steps"));
  ExpectUsage({"epsilon", "--delta", "1e-5", "--noise-multiplier", "1", "--scheme",
               "disjoint-batches", "--batch-size", "1", "--population", "1000000", "--steps",
               "1500000", "--adjacency", "zero-out"},
              "--steps 2000000, which finishes the last one, costs no less");
}

TEST(RunWords, SchemesOfBatchesAreAnswered) {
  const Words run = {"--batch-size", "512", "--population", "60000", "--epochs", "2"};
  const auto with = [&](const Words& more) {
    Words words = run;
    words.insert(words.end(), more.begin(), more.end());
    return Epsilon(words).Texts("details.schemes");
  };
  EXPECT_EQ(with({"--scheme", "random-allocation"}), Words{"random_allocation"});
  EXPECT_EQ(with({"--scheme", "without-replacement", "--adjacency", "replace-one"}),
            Words{"without_replacement"});
  EXPECT_EQ(Epsilon({"--scheme", "full-batch", "--steps", "3"}).Texts("details.schemes"),
            Words{"full_batch"});
}

TEST(RunWords, WordsThatContradictEachOtherAreRefused) {
  const Words run = {"epsilon", "--delta", "1e-5", "--noise-multiplier", "1"};
  const auto refuse = [&](const Words& more, const std::string& message) {
    Words words = run;
    words.insert(words.end(), more.begin(), more.end());
    ExpectUsage(words, message);
  };
  refuse({"--batch-size", "10", "--steps", "1"}, "--population: must be given with --batch-size");
  refuse({"--batch-size", "10", "--population", "5", "--steps", "1"},
         "--batch-size: must be at most --population, 5, got 10");
  refuse({"--batch-size", "1", "--population", "5", "--sampling-probability", ".1", "--steps", "1"},
         "--sampling-probability: must not be given with --batch-size");
  refuse({"--batch-size", "1", "--population", "5", "--epochs", "2", "--steps", "1"},
         "--epochs: must not be given with --steps");
  refuse({"--epochs", "2", "--sampling-probability", ".1"},
         "--batch-size: must be given with --epochs");
  refuse({"--scheme", "disjoint-batches", "--steps", "1"},
         "--batch-size: must be given with this --scheme");
  refuse({"--scheme", "full-batch", "--sampling-probability", ".1", "--steps", "1"},
         "--scheme: full-batch has every record");
}

TEST(RunWords, OtherLibrariesWordsAreTranslated) {
  ExpectUsage({"epsilon", "--target-delta", "1e-5"},
              "no flag --target-delta of epsilon; it is "
              "--delta here");
  ExpectUsage({"epsilon", "--delta", "1e-5", "--sigma", "1"}, "; it is --noise-multiplier here");
  ExpectUsage({"epsilon", "--delta", "1e-5", "--sample-rate", ".1"},
              "; it is --sampling-probability here");
  ExpectUsage({"epsilon", "--delta", "1e-5", "--n", "60000"}, "; it is --population here");
}

TEST(RunWords, CalibrateTakesThem) {
  const Words target = {"calibrate", "--epsilon",       "3", "--delta", "1e-5",
                        "--solve",   "noise-multiplier"};
  const auto noise = [&](const Words& more) {
    Words words = target;
    words.insert(words.end(), more.begin(), more.end());
    return Ok(words);
  };
  const JsonObject batches =
      noise({"--batch-size", "256", "--population", "60000", "--epochs", "15"});
  EXPECT_EQ(
      batches.Number("noiseMultiplier"),
      noise({"--sampling-probability", "256/60000", "--steps", "3516"}).Number("noiseMultiplier"));
  // As in epsilon, no probability is the full batch.
  const JsonObject full = noise({"--steps", "10"});
  EXPECT_EQ(full.Number("noiseMultiplier"),
            noise({"--sampling-probability", "1", "--steps", "10"}).Number("noiseMultiplier"));
  EXPECT_THAT(full.Texts("details.assumptions"), Contains(HasSubstr("full batch: no ")));
}

TEST(RunWords, CalibrateAnswersEverySchemeThatItLists) {
  // The noise is sought where it is not given.
  const Words run = {"calibrate", "--epsilon",    "8",     "--delta",  "1e-5", "--batch-size",
                     "5000",      "--population", "60000", "--epochs", "2"};
  for (const Words& more :
       std::vector<Words>{{"--scheme", "poisson"},
                          {"--scheme", "without-replacement", "--adjacency", "replace-one"},
                          {"--scheme", "disjoint-batches", "--adjacency", "zero-out"},
                          {"--scheme", "random-allocation"}}) {
    Words words = run;
    words.insert(words.end(), more.begin(), more.end());
    const JsonObject answer = Ok(words);
    EXPECT_GT(answer.Number("noiseMultiplier"), 0.1) << more[1];
    EXPECT_LE(answer.Number("epsilon.upper"), 8) << more[1];
  }
  // The words of the Python package say the same.
  const auto noise = [&](const char* scheme) {
    Words words = run;
    words.insert(words.end(), {"--scheme", scheme, "--adjacency", "zero-out"});
    return Ok(words).Number("noiseMultiplier");
  };
  EXPECT_EQ(noise("shuffled"), noise("disjoint-batches"));
  EXPECT_EQ(noise("allocated"), noise("random-allocation"));
  EXPECT_EQ(noise("fixed-size"), noise("without-replacement"));
  ExpectUsage({"calibrate", "--epsilon", "8", "--delta", "1e-5", "--solve", "noise-multiplier",
               "--steps", "10", "--scheme", "truncated-poisson"},
              "--scheme: must be one of allocated disjoint-batches fixed-size full-batch poisson "
              "random-allocation shuffled without-replacement, got truncated-poisson");
}

}  // namespace
}  // namespace dpledger::testing
