// Verdicts on the accountant's own answers, and on those answers with a fault in them.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "certify/history.h"
#include "certify/selection.h"
#include "certify/verify.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger_accounting.h"
#include "tests/accounting/library_call.h"
#include "tests/certify/events_text.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::certify {
namespace {

// What the accountant says to `method`, of `given` and these events.
template <typename Response>
Response Ask(const char* method, const std::string& events, const std::string& given,
             const Neighbours& neighbours) {
  std::vector<std::string> lines = absl::StrSplit(events, '\n', absl::SkipEmpty());
  const std::string question = absl::StrFormat(
      "{%s,\"subject\":{\"events\":[%s]},\"options\":{\"adjacency\":\"%s\","
      "\"groupSize\":\"%d\"}}",
      given, absl::StrJoin(lines, ","), v1::Adjacency_Name(neighbours.adjacency),
      neighbours.group_size);
  const accounting::LibraryAnswer answer =
      accounting::AskLibrary(DPLEDGER_ACCOUNTING_JSON, method, question);
  EXPECT_EQ(answer.code, 0) << answer.bytes;
  Response response;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(answer.bytes, &response).ok());
  return response;
}
// The accountant's interval for ε at `delta`.
Claim Answer(const std::string& events, double delta, const Neighbours& neighbours) {
  const auto response = Ask<v1::ComputeEpsilonResponse>(
      "ComputeEpsilon", events, absl::StrFormat("\"delta\":%.17g", delta), neighbours);
  return {
      Claim::About::kEpsilon, delta, response.epsilon().lower(), response.epsilon().upper(), {}};
}
// Of the best of so many runs.
Claim TuningAnswer(const std::string& events, double delta, const std::string& trials,
                   const Neighbours& neighbours = {}) {
  const auto response = Ask<v1::ComputeTuningCostResponse>(
      "ComputeTuningCost", events,
      absl::StrFormat("\"delta\":%.17g,\"trials\":{%s}", delta, trials), neighbours);
  absl::StatusOr<Trials> read = TrialsOf(response.trials());
  EXPECT_TRUE(read.ok()) << read.status();
  return {Claim::About::kEpsilon, delta, response.epsilon().lower(), response.epsilon().upper(),
          *std::move(read)};
}

Claimed Read(const std::string& events, const Neighbours& neighbours = {},
             const Closeness& closeness = {}) {
  absl::StatusOr<Claimed> history = ReadHistory(events, neighbours, closeness);
  EXPECT_TRUE(history.ok()) << history.status();
  return *std::move(history);
}

void ExpectProved(const std::string& events, double delta, const Neighbours& neighbours = {},
                  long places = Closeness().places) {
  const Claim claim = Answer(events, delta, neighbours);
  const Claimed history = Read(events, neighbours, {claim.ClosenessAt(0).ignored, places});
  for (const Finding& found : {CheckUpper(history, claim), CheckLower(history, claim)})
    EXPECT_EQ(found.verdict, Verdict::kProved) << events << found.words;
}

class Settings {
 public:
  explicit Settings(uint64_t seed) : random_(seed) {}
  double LogUniform(double low, double high) {
    std::uniform_real_distribution<double> share(std::log(low), std::log(high));
    return std::exp(share(random_));
  }
  // One to three kinds of steps in the standard box.
  std::string Events() {
    std::string events;
    for (uint64_t left = 1 + random_() % 3; left > 0; --left) {
      const double q = LogUniform(1e-6, 1), sigma = LogUniform(0.2, 50);
      events += PoissonRounds(q, sigma, std::floor(LogUniform(1, 1e7)));
    }
    if (random_() % 8 == 0) events += GaussianEvent(LogUniform(0.5, 50));
    return events;
  }

 private:
  std::mt19937_64 random_;
};

// 20,000 settings, of which a run takes 40. No end is refuted; few are open (docs/certify.md).
TEST(Answers, OfRandomSettingsAreProved) {
  testing::SampledCases cases(500);
  int asked = 0, open = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    if (!cases.Next()) continue;
    Settings settings(i);
    const std::string events = settings.Events();
    const double delta = settings.LogUniform(1e-12, 1e-3);
    const Claim claim = Answer(events, delta, {});
    const Claimed history = Read(events);
    const Finding upper = CheckUpper(history, claim), lower = CheckLower(history, claim);
    EXPECT_NE(upper.verdict, Verdict::kRefuted) << events << upper.words;
    EXPECT_NE(lower.verdict, Verdict::kRefuted) << events << lower.words;
    ++asked;
    open += upper.verdict == Verdict::kOpen || lower.verdict == Verdict::kOpen;
  }
  EXPECT_LT(open, asked / 5) << "of " << asked;  // some 6 of 100 are
  std::cout << open << " open of " << asked << std::endl;
}

TEST(Answers, OfEveryKindCoveredAreProved) {
  const std::string gaussian = GaussianEvent(1.5), rounds = PoissonRounds(0.01, 1, 1000);
  const std::string laplace = Mechanism("\"laplace\":{\"noiseMultiplier\":2}");
  const std::string discrete =
      Mechanism("\"discreteLaplace\":{\"noiseParameter\":0.3,\"sensitivity\":\"2\"}");
  const std::string stated = Mechanism("\"epsilonDelta\":{\"epsilon\":0.2,\"delta\":1e-7}");
  const std::string response =
      Mechanism("\"randomizedResponse\":{\"noiseParameter\":0.5,\"numBuckets\":\"4\"}");
  const std::string zcdp = Mechanism("\"zcdp\":{\"rho\":0.05,\"xi\":0.01}");
  for (const std::string& events :
       {gaussian, rounds, laplace, discrete, stated, gaussian + laplace, rounds + discrete,
        gaussian + rounds + stated, PoissonRounds(0.3, 2, 1), discrete + discrete + stated,
        Mechanism("\"count\":\"3\",\"poissonSampled\":{\"samplingProbability\":0.5,\"event\":"
                  "{\"composed\":{\"events\":[{\"gaussian\":{\"noiseMultiplier\":2}},"
                  "{\"count\":\"2\",\"gaussian\":{\"noiseMultiplier\":3}}]}}}") +
            gaussian,
        std::string("{\"sampling\":{\"round\":\"3\",\"scheme\":{\"poisson\":{\"probability\":0.1}}"
                    "}}\n{\"sumQuery\":{\"round\":\"3\",\"query\":{\"l2NormBound\":1,"
                    "\"noiseStddev\":2}}}\n{\"sumQuery\":{\"round\":\"5\",\"query\":"
                    "{\"l2NormBound\":1,\"noiseStddev\":4}}}\n")}) {
    ExpectProved(events, 1e-5);
  }
  // Batches of a fixed size are a Poisson sample with half the noise, and with no more.
  const std::string fixed =
      "{\"rounds\":{\"scheme\":{\"populationSize\":\"1000\",\"withoutReplacement\":"
      "{\"sampleSize\":\"10\"}},\"queries\":[{\"l2NormBound\":1,\"noiseStddev\":2}],\"count\":"
      "\"500\"}}\n";
  ExpectProved(fixed, 1e-5);
  for (const double noise : {1.01, 0.99}) {
    const Claim claim = Answer(PoissonRounds(0.01, noise, 500), 1e-5, {});
    EXPECT_EQ((noise > 1 ? CheckUpper : CheckLower)(Read(fixed), claim).verdict, Verdict::kRefuted);
  }
  const Neighbours replace = {v1::REPLACE_ONE, 1}, zero = {v1::ZERO_OUT, 1};
  for (const std::string& events : {gaussian, rounds, laplace + gaussian, response + response})
    ExpectProved(events, 1e-5, replace);
  for (const std::string& events : {gaussian + rounds, response + gaussian, response})
    ExpectProved(events, 1e-5, zero);
  ExpectProved(gaussian + laplace, 1e-5, {v1::ADD_OR_REMOVE_ONE, 3});
  // At its own δ a stated mechanism's ε is the stated one, exactly.
  ExpectProved(stated, 1e-7);
  ExpectProved(laplace, 0);
  // Of sparse vectors the bound alone is proved: no mechanism is known that reaches it.
  const std::string sparse = Mechanism(
      "\"count\":\"2\",\"sparseVector\":{\"thresholdNoise\":3,\"queryNoise\":40,\"cutoff\":\"5\"}");
  const std::string one_way = Mechanism(
      "\"sparseVector\":{\"thresholdNoise\":3,\"queryNoise\":40,\"cutoff\":\"5\",\"monotonic\":"
      "true}");
  for (const std::string& events : {sparse, sparse + gaussian + sparse, one_way + rounds})
    ExpectProved(events, 1e-5);
  ExpectProved(one_way, 1e-5, {v1::ADD_OR_REMOVE_ONE, 2});
  ExpectProved(sparse, 0, replace);
  const double once = 1. / 3 + 10. / 40;  // the ends of one, at δ = 0
  for (const auto& [text, epsilon] :
       {std::pair(sparse, 2 * once), std::pair(one_way, once - .125)}) {
    const Claimed history = Read(text);
    const auto upper = [&](double by) {
      return CheckUpper(history, {Claim::About::kEpsilon, 0, 0, epsilon * by, {}}).verdict;
    };
    EXPECT_EQ(upper(1 + 1e-9), Verdict::kProved) << text;
    EXPECT_EQ(upper(1 - 1e-9), Verdict::kOpen) << text;
    EXPECT_EQ(CheckLower(history, {Claim::About::kEpsilon, 0, epsilon / 2, epsilon, {}}).verdict,
              Verdict::kOpen)
        << text;
  }
  // As are choices by noised scores.
  const auto choice = [](const std::string& noise) {
    return Mechanism("\"count\":\"3\",\"reportNoisyMax\":{\"noiseMultiplier\":5,\"noise\":\"" +
                     noise + "\"}");
  };
  const std::string exponential = Mechanism("\"exponentialMechanism\":{\"epsilon\":0.7}");
  const std::string flip = Mechanism("\"count\":\"4\",\"permuteAndFlip\":{\"epsilon\":0.3}");
  for (const auto& [text, to] :
       {std::pair(exponential, Neighbours()), std::pair(flip, Neighbours()),
        std::pair(flip + gaussian, Neighbours()), std::pair(exponential + gaussian, Neighbours()),
        std::pair(choice("LAPLACE_NOISE") + gaussian, Neighbours{v1::ADD_OR_REMOVE_ONE, 2}),
        std::pair(choice("EXPONENTIAL_NOISE") + gaussian, replace)}) {
    const Claim claim = Answer(text, 1e-5, to);
    const auto upper = [&](double by) {
      return CheckUpper(Read(text, to), {claim.about, claim.given, 0, claim.upper * by, {}})
          .verdict;
    };
    EXPECT_EQ(upper(1 + 1e-9), Verdict::kProved) << text;
    EXPECT_EQ(upper(1 - 1e-3), Verdict::kOpen) << text;
  }
  // The profile of bounded range, in closed form.
  for (const double epsilon : {0.1, 0.4}) {
    const double root = std::exp(0.35) - std::exp(epsilon / 2);
    const double delta = root * root / std::expm1(0.7);
    const auto upper = [&](double by) {
      return CheckUpper(Read(exponential), {Claim::About::kDelta, epsilon, 0, delta * by, {}})
          .verdict;
    };
    EXPECT_EQ(upper(1 + 1e-9), Verdict::kProved) << epsilon;
    EXPECT_EQ(upper(1 - 1e-9), Verdict::kOpen) << epsilon;
  }
  // Of a curve the checker's conversion is a little looser than the accountant's; below, a Gaussian
  // of the same curve is proved.
  Claim claim = Answer(zcdp, 1e-5, {});
  claim.upper *= 1 + 1e-4;
  EXPECT_EQ(CheckUpper(Read(zcdp), claim).verdict, Verdict::kProved);
  EXPECT_EQ(CheckLower(Read(zcdp), claim).verdict, Verdict::kProved);
}

const char kAllocated[] = "\"randomAllocation\":{\"roundsPerEpoch\":\"16\"}";

TEST(Answers, OfEpochsAreProved) {
  const Neighbours zero = {v1::ZERO_OUT, 1};
  testing::SampledCases cases(2);
  if (cases.Next()) ExpectProved(EpochRounds(kAllocated, 1, 16), 1e-5);
  if (cases.Next()) ExpectProved(EpochRounds(kAllocated, 2, 48) + GaussianEvent(4), 1e-5, zero);
  if (cases.Next()) {
    ExpectProved(
        EpochRounds("\"randomAllocation\":{\"roundsPerEpoch\":\"16\",\"fixedBins\":true}", 2, 48),
        1e-5);
  }
  // An epoch's batches are disjoint: three epochs, of which one is not whole.
  std::string batches =
      EpochRounds("\"disjointBatches\":{\"batchesPerEpoch\":\"16\"}", 2, 32) +
      "{\"sampling\":{\"round\":\"40\",\"scheme\":{\"disjointBatches\":{\"batchesPerEpoch\":"
      "\"16\",\"epoch\":\"2\"}}}}\n{\"sumQuery\":{\"round\":\"40\",\"query\":{\"l2NormBound\":1,"
      "\"noiseStddev\":2}}}\n";
  if (cases.Next()) ExpectProved(batches, 1e-5, zero);
  // One by one, both rounds of an epoch are one draw.
  std::string rounds;
  for (int i = 1; i <= 2; ++i) {
    rounds += absl::StrFormat(
        "{\"sampling\":{\"round\":\"%d\",\"scheme\":{\"randomAllocation\":{\"roundsPerEpoch\":"
        "\"2\"}}}}\n{\"sumQuery\":{\"round\":\"%d\",\"query\":{\"l2NormBound\":1,"
        "\"noiseStddev\":2}}}\n",
        i, i);
  }
  ExpectProved(rounds, 1e-5);
}

TEST(Answers, OfSeveralCopiesAreProved) {
  constexpr long kRough = 1 << 15;  // close enough here, and faster
  const std::string drawn =
      "{\"rounds\":{\"scheme\":{\"populationSize\":\"1000\",\"withReplacement\":{\"sampleSize\":"
      "\"10\"}},\"queries\":[{\"l2NormBound\":1,\"noiseStddev\":2}],\"count\":\"200\"}}\n";
  const std::string sampled = PoissonRounds(0.01, 1, 200) + GaussianEvent(20);
  testing::SampledCases cases(2);
  if (cases.Next()) ExpectProved(drawn, 1e-5, {}, kRough);
  if (cases.Next()) ExpectProved(sampled, 1e-5, {v1::ADD_OR_REMOVE_ONE, 3}, kRough);
  // Of two records less is known than of three.
  const Claim two = Answer(sampled, 1e-5, {v1::ADD_OR_REMOVE_ONE, 2});
  EXPECT_EQ(CheckUpper(Read(sampled, {v1::ADD_OR_REMOVE_ONE, 3}, {1e-12, kRough}), two).verdict,
            Verdict::kRefuted);
}

TEST(Answers, OfDiscreteNoiseOfOneDimensionAreProved) {
  const auto noise = [](const char* sigma, int sensitivity) {
    return Mechanism(
        absl::StrFormat("\"count\":\"10\",\"discreteGaussian\":{\"sigma\":%s,"
                        "\"sensitivity\":\"%d\",\"dimension\":\"1\"}",
                        sigma, sensitivity));
  };
  ExpectProved(noise("0.8", 1), 1e-6);
  ExpectProved(noise("20", 3) + GaussianEvent(5), 1e-6, {v1::REPLACE_ONE, 1});
  ExpectProved(noise("20", 3) + GaussianEvent(5), 1e-6, {v1::ADD_OR_REMOVE_ONE, 2});
  // Beside as much noise on half the distance, which is another pair.
  ExpectProved(noise("20", 3) + noise("40", 3) + GaussianEvent(5), 1e-6);
  EXPECT_EQ(CheckUpper(Read(noise("20", 3)), Answer(noise("20.1", 3), 1e-6, {})).verdict,
            Verdict::kRefuted);
}

TEST(Faults, OfEpochsAreRefuted) {
  const std::string events = EpochRounds(kAllocated, 1, 32);
  const Claim right = Answer(events, 1e-5, {});
  const Claimed history = Read(events, {}, right.ClosenessAt(0));
  const double width = right.upper - right.lower;
  Claim low = right, high = right;
  low.lower -= 3 * width, low.upper = right.lower - 2 * width;
  high.upper += 3 * width, high.lower = right.upper + 2 * width;
  EXPECT_EQ(CheckUpper(history, low).verdict, Verdict::kRefuted);
  EXPECT_EQ(CheckLower(history, low).verdict, Verdict::kProved);
  EXPECT_EQ(CheckLower(history, high).verdict, Verdict::kRefuted);
  EXPECT_EQ(CheckUpper(history, high).verdict, Verdict::kProved);
  // An epoch that is drawn again costs less than one whose bins are fixed.
  const std::string fixed =
      EpochRounds("\"randomAllocation\":{\"roundsPerEpoch\":\"16\",\"fixedBins\":true}", 1, 32);
  EXPECT_EQ(CheckUpper(Read(fixed, {}, right.ClosenessAt(0)), right).verdict, Verdict::kRefuted);
}

// Rounds one by one, each `{number, epoch, is released}`, of epochs of a scheme.
struct OneRound {
  int number, epoch;
  bool is_released = true;
};
std::string OneByOne(const char* scheme, const std::vector<OneRound>& rounds) {
  std::string events;
  for (const OneRound& round : rounds) {
    events +=
        absl::StrFormat("{\"sampling\":{\"round\":\"%d\",\"scheme\":{\"%s,\"epoch\":\"%d\"}}}}\n",
                        round.number, scheme, round.epoch);
    if (!round.is_released) continue;
    events += absl::StrFormat(
        "{\"sumQuery\":{\"round\":\"%d\",\"query\":{\"l2NormBound\":1,\"noiseStddev\":3}}}\n",
        round.number);
  }
  return events;
}
const char kFixed[] = "randomAllocation\":{\"roundsPerEpoch\":\"2\",\"fixedBins\":true";
const char kDrawn[] = "randomAllocation\":{\"roundsPerEpoch\":\"2\"";
const char kBatches[] = "disjointBatches\":{\"batchesPerEpoch\":\"2\"";

// The i-th round of every epoch of fixed bins has the same records: two halves are no epoch.
TEST(Faults, EpochsThatAreNotWholeAreNotCovered) {
  const std::vector<OneRound> whole = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
  testing::SampledCases cases(2);
  for (const char* scheme : {kFixed, kDrawn}) {
    if (cases.Next()) ExpectProved(OneByOne(scheme, whole), 1e-5);
    for (const std::vector<OneRound>& rounds : std::vector<std::vector<OneRound>>{
             {{0, 0}, {1, 1}},                                // a half of each
             {{0, 0}, {1, 0, false}, {2, 1}, {3, 1, false}},  // released
             {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 2}},        // the last one
             {{0, 0}, {1, 0}, {2, 0}, {3, 0}},                // more than there are
             {{0, 1}, {1, 1}, {2, 0}, {3, 0}}}) {             // going back
      EXPECT_EQ(ReadHistory(OneByOne(scheme, rounds), {}).status().code(),
                absl::StatusCode::kUnimplemented)
          << OneByOne(scheme, rounds);
    }
  }
  // Of an epoch's batches one may be missing; one of epoch 0 that comes after epoch 1 is not of
  // the same draw.
  const Neighbours zero = {v1::ZERO_OUT, 1};
  ExpectProved(OneByOne(kBatches, {{0, 0, false}, {1, 0}, {2, 1}, {3, 1}}), 1e-5, zero);
  // A batch that was drawn and released nothing has its place in the epoch: there is no third one.
  EXPECT_EQ(ReadHistory(OneByOne(kBatches, {{0, 0}, {1, 0, false}, {2, 0}}), zero).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ReadHistory(OneByOne(kBatches, {{0, 0}, {1, 1}, {2, 0}}), zero).status().code(),
            absl::StatusCode::kUnimplemented);
  // Nor does an epoch go on after one of another scheme.
  EXPECT_EQ(ReadHistory(OneByOne(kFixed, {{0, 0}}) + OneByOne(kDrawn, {{1, 1}, {2, 1}}) +
                            OneByOne(kFixed, {{3, 0}}),
                        {})
                .status()
                .code(),
            absl::StatusCode::kUnimplemented);
  // Nor are single rounds of the epochs that came together.
  EXPECT_EQ(ReadHistory(EpochRounds("\"disjointBatches\":{\"batchesPerEpoch\":\"2\"}", 1, 2) +
                            OneByOne(kBatches, {{0, 0}}),
                        zero)
                .status()
                .code(),
            absl::StatusCode::kUnimplemented);
}

TEST(Faults, EpochsOfFixedBinsAddUpWithUnequalNoise) {
  ExpectProved(
      EpochRounds("\"randomAllocation\":{\"roundsPerEpoch\":\"16\",\"fixedBins\":true}", 2, 32) +
          EpochRounds("\"randomAllocation\":{\"roundsPerEpoch\":\"16\",\"fixedBins\":true}", 3, 16),
      1e-5);
}

const char kDeclared[] =
    "{\"sequence\":\"0\",\"declaration\":{\"dataset\":\"x\",\"adjacency\":\"ADD_OR_REMOVE_ONE\","
    "\"parameters\":\"FIXED\"}}\n";

TEST(Faults, LedgersMeanWhatTheyDeclare) {
  const std::string event =
      "{\"sequence\":\"1\",\"writer\":\"w\",\"event\":{\"mechanism\":{"
      "\"epsilonDelta\":{\"epsilon\":1}}}}\n";
  EXPECT_TRUE(ReadHistory(kDeclared + event, {}).ok());
  const absl::Status other = ReadHistory(kDeclared + event, {v1::REPLACE_ONE, 1}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), ::testing::HasSubstr("declaration.adjacency"));
  std::string adaptive = kDeclared;
  adaptive.replace(adaptive.find("FIXED"), 5, "ADAPTIVE");
  EXPECT_EQ(ReadHistory(adaptive + event, {}).status().code(), absl::StatusCode::kUnimplemented);
  // Its epoch goes on, in the same partition.
  EXPECT_EQ(
      ReadHistory(std::string(kDeclared) +
                      "{\"sequence\":\"1\",\"writer\":\"w\",\"opened\":{\"incarnation\":\"b\","
                      "\"previous\":\"a\",\"carriesEpochs\":true}}\n",
                  {})
          .status()
          .code(),
      absl::StatusCode::kUnimplemented);
}

TEST(Faults, EventsThatBreakARuleAreRefused) {
  const auto rounds = [](const char* scheme, const char* query, const char* count) {
    return absl::StrFormat(
        "{\"rounds\":{\"scheme\":{%s},\"queries\":[{\"l2NormBound\":1%s}],\"count\":\"%s\"}}\n",
        scheme, query, count);
  };
  const char* full = "\"fullBatch\":{}";
  const char* noise = ",\"noiseStddev\":1";
  EXPECT_TRUE(ReadHistory(rounds(full, noise, "3"), {}).ok());
  for (const std::string& events :
       {rounds(full, ",\"noiseStddev\":1,\"noise_stddev\":9", "3"),
        rounds(full, ",\"noiseStddev\":1,noise_stddev:9", "3"),
        rounds(full, ",\"noiseStddev\":1,'noise_stddev':9", "3"),
        rounds(full, ",\"noiseStddev\":1,\"noise\\u005fstddev\":9", "3"),
        rounds(full, noise, "3\",\"count\":\"1"),
        rounds("\"disjointBatches\":{\"batchesPerEpoch\":\"10\"}", noise, "1"),
        rounds("\"randomAllocation\":{\"roundsPerEpoch\":\"2\"}", noise, "3"),
        rounds("\"populationSize\":\"5\",\"withReplacement\":{\"sampleSize\":\"6\"}", noise, "3"),
        rounds(full, ",\"noiseStddev\":1,\"noise\":\"ROUNDED_GAUSSIAN\"", "3"),
        rounds(full, ",\"noiseStddev\":1.5,\"noise\":\"ROUNDED_GAUSSIAN\",\"grid\":1", "3"),
        rounds(full, ",\"noiseStddev\":1,\"grid\":1", "3"),
        std::string(
            "{\"sampling\":{\"round\":\"9007199254740992\",\"scheme\":{\"fullBatch\":{}}}}\n")}) {
    const Neighbours to = {
        absl::StrContains(events, "disjoint") ? v1::ZERO_OUT : v1::ADD_OR_REMOVE_ONE, 1};
    EXPECT_EQ(ReadHistory(events, to).status().code(), absl::StatusCode::kInvalidArgument)
        << events;
  }
}

// They are drawn once, for all incarnations of their writer.
TEST(Faults, BinsStayFixedWhenTheirWriterIsOpenedAgain) {
  const auto epoch = [](const char* bins) {
    return EpochRounds(absl::StrFormat("\"randomAllocation\":{\"roundsPerEpoch\":\"16\"%s}", bins),
                       1, 16);
  };
  const auto ledger = [&](std::string event) {
    event.pop_back();
    const auto entry = [](int sequence, const std::string& body) {
      return absl::StrFormat("{\"sequence\":\"%d\",\"writer\":\"w\",%s}\n", sequence, body);
    };
    return kDeclared + entry(1, "\"opened\":{\"incarnation\":\"a\"}") +
           entry(2, "\"event\":" + event) + entry(3, "\"opened\":{\"incarnation\":\"b\"}") +
           entry(4, "\"event\":" + event);
  };
  const std::string again = epoch(""), fixed = epoch(",\"fixedBins\":true");
  const Claim apart = Answer(again + again, 1e-5, {}), together = Answer(fixed + fixed, 1e-5, {});
  ASSERT_LT(apart.upper, together.lower);
  const Claimed drawn_again = Read(ledger(again), {}, apart.ClosenessAt(0));
  EXPECT_EQ(CheckUpper(drawn_again, apart).verdict, Verdict::kProved);
  const Claimed drawn_once = Read(ledger(fixed), {}, apart.ClosenessAt(0));
  EXPECT_EQ(CheckUpper(drawn_once, apart).verdict, Verdict::kRefuted);
  EXPECT_EQ(CheckUpper(drawn_once, together).verdict, Verdict::kProved);
  EXPECT_EQ(CheckLower(drawn_once, together).verdict, Verdict::kProved);
}

// ---- The best of several runs ----

std::string NegativeBinomial(double eta, double mean) {
  return absl::StrFormat("\"negativeBinomial\":{\"eta\":%.17g,\"mean\":%.17g}", eta, mean);
}
const char kPoissonTrials[] = "\"poisson\":{\"mean\":10}";

TEST(BestOfRuns, AnswersAreProved) {
  const std::string gaussian = GaussianEvent(1.5), rounds = PoissonRounds(0.01, 1, 300);
  const Neighbours replace = {v1::REPLACE_ONE, 1};
  testing::SampledCases cases(2);
  for (const auto& [events, trials, to] :
       {std::tuple(gaussian, NegativeBinomial(0, 10), Neighbours()),
        std::tuple(gaussian, NegativeBinomial(-0.5, 3), Neighbours()),
        std::tuple(gaussian, std::string(kPoissonTrials), replace),
        std::tuple(gaussian, std::string("\"fixed\":{\"count\":\"30\"}"), Neighbours()),
        std::tuple(gaussian, std::string("\"fixed\":{\"count\":\"1\"}"), Neighbours()),
        std::tuple(gaussian, std::string("\"leastCost\":{\"mean\":20}"), Neighbours()),
        std::tuple(gaussian, std::string("\"binomial\":{\"trials\":\"40\",\"probability\":0.25}"),
                   Neighbours()),
        std::tuple(PoissonRounds(0.1, 1, 1), NegativeBinomial(2, 5), Neighbours()),
        std::tuple(rounds, NegativeBinomial(1, 10), Neighbours()),
        std::tuple(rounds + gaussian, std::string(kPoissonTrials), Neighbours())}) {
    if (!cases.Next()) continue;
    const Claim claim = TuningAnswer(events, 1e-6, trials, to);
    const Claimed history = Read(events, to);
    for (const Finding& found : {CheckUpper(history, claim), CheckLower(history, claim)})
      EXPECT_EQ(found.verdict, Verdict::kProved) << events << trials << found.words;
  }
}

// E[K] (1-x)^{K-1} and its like against sums over the masses of K.
TEST(BestOfRuns, WeightsAreTheDerivativesOfTheGeneratingFunctions) {
  const auto read = [](const std::string& text) {
    v1::Trials trials;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage("{" + text + "}", &trials).ok());
    absl::StatusOr<Trials> result = TrialsOf(trials);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  };
  const auto expect = [](const Trials& trials, auto log_mass) {
    for (const double x : {0., 0.1, 0.7, 0.99}) {
      double sum = 0, slope = 0, whole = 0;
      for (double k = 0; k < 3000; ++k) {
        const double mass = std::exp(log_mass(k));
        whole += mass, sum += mass * k * std::pow(1 - x, k - 1);
        if (k >= 2) slope += mass * k * (k - 1) * std::pow(1 - x, k - 2);
      }
      EXPECT_NEAR(whole, 1, 1e-9);
      EXPECT_NEAR(trials.Weight(x).Middle() / sum, 1, 1e-9) << x;
      EXPECT_NEAR((trials.Decay(x) * trials.Weight(x)).Middle() / slope, 1, 1e-9) << x;
      for (const double width : {(1 - x) / 1000, (1 - x) / 2, 1 - x}) {
        double selected = 0;
        for (double k = 1; k < 3000; ++k) {
          const double before = std::pow(1 - x, k), after = std::pow(1 - x - width, k);
          selected += std::exp(log_mass(k)) * (before - after);
        }
        EXPECT_NEAR(trials.Selected(x, width).Middle() / selected, 1, 1e-9) << x << " " << width;
      }
    }
  };
  expect(read(kPoissonTrials),
         [](double k) { return k * std::log(10.) - 10 - std::lgamma(k + 1); });
  expect(read("\"fixed\":{\"count\":\"7\"}"), [](double k) { return k == 7 ? 0 : -HUGE_VAL; });
  expect(read("\"binomial\":{\"trials\":\"9\",\"probability\":0.3}"), [](double k) {
    return k > 9 ? -HUGE_VAL
                 : std::lgamma(10) - std::lgamma(k + 1) - std::lgamma(10 - k) + k * std::log(0.3) +
                       (9 - k) * std::log(0.7);
  });
  // The geometric distribution of mean 8; the logarithmic one with γ = 1/16.
  expect(read(NegativeBinomial(1, 8)),
         [](double k) { return k == 0 ? -HUGE_VAL : (k - 1) * std::log(7. / 8) - std::log(8.); });
  expect(read(NegativeBinomial(0, 15 / std::log(16.))), [](double k) {
    return k == 0 ? -HUGE_VAL : k * std::log(15. / 16) - std::log(k * std::log(16.));
  });
}

// Orders of Gaussian results whose δ is known: those below a place s are best, and those above t
// follow at once. No bound from above may be below any of them, whatever the lattice, and none from
// below above all of them.
TEST(BestOfRuns, BoundsHoldWhateverTheLattice) {
  const double mu = 0.7, mean = 10;
  const Trials trials = {mean, 0.0, mean, false, {}};  // Poisson: E[s^K] = e^{10(s-1)}
  Composition run;
  run.variance = Ball(mu) * mu;
  const auto known = [&](double epsilon) {
    // That one between x and x + m is released.
    const auto chosen = [&](double x, double m) {
      return std::exp(-mean * x) * -std::expm1(-mean * m);
    };
    const auto tail = [](double t) { return std::erfc(t / std::sqrt(2.)) / 2; };
    double most = 0;
    for (double s = -6; s < 2; s += 0.02) {
      for (double t = s; t < 8; t += 0.02) {
        most = std::fmax(most, chosen(tail(mu - s), tail(t - mu)) -
                                   std::exp(epsilon) * chosen(tail(-s), tail(t)));
      }
    }
    return most;
  };
  for (const double epsilon : {1., 3., 6.}) {
    const double exact = known(epsilon);
    double least = HUGE_VAL, greatest = 0;
    for (const long count : {3, 10, 50, 400}) {
      for (const double end : {0.1, 1., 6., 30.}) {
        Lattice lattice = {end / static_cast<double>(count), {}, {}};
        for (long i = 0; i < count; ++i) {
          const Ball delta =
              ClosedDelta(run, Direction::kRemove, lattice.spacing * static_cast<double>(i));
          lattice.remove.push_back({delta, delta});
        }
        lattice.add = lattice.remove;
        for (const double cell : {0.5, 0.02}) {
          least = std::fmin(
              least,
              SelectedAbove(trials, lattice, Direction::kRemove, epsilon, {cell, 1e-12}).Middle());
        }
        greatest = std::fmax(greatest,
                             SelectedBelow(trials, lattice, Direction::kRemove, epsilon).Middle());
      }
    }
    EXPECT_GE(least, exact) << epsilon;
    EXPECT_LE(greatest, exact * (1 + 1e-3)) << epsilon;
    EXPECT_GE(greatest, (epsilon < 6 ? 0.7 : 0.98) * exact) << epsilon;
  }
}

// ---- Controls: answers with a fault ----

struct Fault {
  std::string name, events;
  Claim claim;
  Neighbours neighbours = {};
};
std::vector<Fault> Faults() {
  const double q = 0.01, sigma = 1, count = 10000, delta = 1e-5;
  const std::string right = PoissonRounds(q, sigma, count);
  const Claim claim = Answer(right, delta, {});
  const double gap = claim.upper - claim.lower, more = 1e-6 * claim.upper;
  std::vector<Fault> all;
  const auto ends = [&](const char* name, double lower, double upper) {
    all.push_back({name, right, {Claim::About::kEpsilon, delta, lower, upper, {}}});
  };
  ends("upper lowered", claim.lower - gap - 2 * more, claim.upper - gap - more);
  ends("lower raised", claim.lower + gap + more, claim.upper + gap + 2 * more);
  ends("digit of the upper end", 6.1877113, 6.1877122);
  const auto with = [&](const char* name, double other_q, double other_sigma, double other_count,
                        double other_delta) {
    all.push_back({name,
                   PoissonRounds(other_q, other_sigma, other_count),
                   {Claim::About::kEpsilon, other_delta, claim.lower, claim.upper, {}}});
  };
  for (const double f : {0.999, 1.001}) {
    with("q", q * f, sigma, count, delta);
    with("sigma", q, sigma * f, count, delta);
    with("count", q, sigma, count * f, delta);
    with("delta", q, sigma, count, delta * f);
  }
  all.push_back({"adjacency", right, claim, {v1::REPLACE_ONE, 1}});
  const Claim replaced = Answer(right, delta, {v1::REPLACE_ONE, 1});
  all.push_back({"the other adjacency", right, replaced});
  return all;
}

TEST(Faults, AreRefuted) {
  ExpectProved(PoissonRounds(0.01, 1, 10000), 1e-5);
  for (const Fault& fault : Faults()) {
    const Claimed history = Read(fault.events, fault.neighbours);
    const Finding upper = CheckUpper(history, fault.claim);
    const Finding lower = CheckLower(history, fault.claim);
    EXPECT_TRUE(upper.verdict == Verdict::kRefuted || lower.verdict == Verdict::kRefuted)
        << fault.name << "\n"
        << upper.words << "\n"
        << lower.words;
  }
}

// Of the best of several runs the truth lies between two bounds: what is not above the one or below
// the other is never proved.
TEST(Faults, OfTheBestOfRunsAreNeverProved) {
  const std::string events = GaussianEvent(1.5), trials = NegativeBinomial(0, 10);
  const Claim right = TuningAnswer(events, 1e-6, trials);
  const auto never = [&](const char* name, const std::string& of, const Claim& claim,
                         const Neighbours& to = {}) {
    const Claimed history = Read(of, to);
    const Finding upper = CheckUpper(history, claim), lower = CheckLower(history, claim);
    EXPECT_TRUE(upper.verdict != Verdict::kProved || lower.verdict != Verdict::kProved)
        << name << "\n"
        << upper.words << "\n"
        << lower.words;
  };
  const auto upper_at = [&](double epsilon) {
    Claim claim = right;
    claim.upper = epsilon, claim.lower = 0;
    return CheckUpper(Read(events), claim).verdict;
  };
  EXPECT_EQ(upper_at(right.upper), Verdict::kProved);
  EXPECT_EQ(upper_at(right.upper * 1.01), Verdict::kProved);
  EXPECT_NE(upper_at(right.upper * 0.99), Verdict::kProved);
  EXPECT_EQ(upper_at(right.lower * 0.99), Verdict::kRefuted);
  Claim claim = right;
  claim.lower = claim.upper * 1.01, claim.upper *= 1.02;
  EXPECT_EQ(CheckLower(Read(events), claim).verdict, Verdict::kRefuted);
  claim = right;
  claim.lower = 0, claim.trials.reset();  // as if one run had been asked about
  EXPECT_EQ(CheckUpper(Read(events), claim).verdict, Verdict::kProved);
  claim.upper = Answer(events, 1e-6, {}).upper, claim.trials = right.trials;
  never("one run's", events, claim);
  never("less noise", GaussianEvent(1.485), right);
  never("smaller delta", events, {right.about, 0.9e-6, 0, right.upper, right.trials});
  never("the other adjacency", events, right, {v1::REPLACE_ONE, 1});
  never("fewer trials", events,
        {right.about, 1e-6, 0, TuningAnswer(events, 1e-6, NegativeBinomial(0, 9)).upper,
         right.trials});
  never("another law of trials", events,
        {right.about, 1e-6, 0, right.upper, TuningAnswer(events, 1e-6, kPoissonTrials).trials});
}

// δ does not fall past the greatest loss: an ε beyond it is too large a lower end.
TEST(Faults, ALowerEndPastTheGreatestLossIsRefuted) {
  const std::string stated = Mechanism("\"epsilonDelta\":{\"epsilon\":1,\"delta\":1e-6}");
  const Claim claim = {Claim::About::kEpsilon, 1e-6, 5, 6, {}};
  EXPECT_EQ(CheckLower(Read(stated), claim).verdict, Verdict::kRefuted);
  EXPECT_EQ(CheckUpper(Read(stated), claim).verdict, Verdict::kProved);
  const Claim right = {Claim::About::kEpsilon, 1e-6, 1, 1, {}};
  EXPECT_EQ(CheckLower(Read(stated), right).verdict, Verdict::kProved);
}

}  // namespace
}  // namespace dpledger::certify
