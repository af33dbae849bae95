// Verdicts on the accountant's own answers, and on those answers with a fault in them.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "certify/history.h"
#include "certify/verify.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger_accounting.h"
#include "tests/accounting/library_call.h"
#include "tests/certify/events_text.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::certify {
namespace {

// The accountant's interval for ε at `delta`.
Claim Answer(const std::string& events, double delta, const Neighbours& neighbours) {
  std::vector<std::string> lines = absl::StrSplit(events, '\n', absl::SkipEmpty());
  const std::string question = absl::StrFormat(
      "{\"delta\":%.17g,\"subject\":{\"events\":[%s]},\"options\":{\"adjacency\":\"%s\","
      "\"groupSize\":\"%d\"}}",
      delta, absl::StrJoin(lines, ","), v1::Adjacency_Name(neighbours.adjacency),
      neighbours.group_size);
  const accounting::LibraryAnswer answer =
      accounting::AskLibrary(DPLEDGER_ACCOUNTING_JSON, "ComputeEpsilon", question);
  EXPECT_EQ(answer.code, 0) << answer.bytes;
  v1::ComputeEpsilonResponse response;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(answer.bytes, &response).ok());
  return {Claim::About::kEpsilon, delta, response.epsilon().lower(), response.epsilon().upper()};
}

Claimed Read(const std::string& events, const Neighbours& neighbours = {}) {
  absl::StatusOr<Claimed> history = ReadHistory(events, neighbours);
  EXPECT_TRUE(history.ok()) << history.status();
  return *std::move(history);
}

void ExpectProved(const std::string& events, double delta, const Neighbours& neighbours = {}) {
  const Claim claim = Answer(events, delta, neighbours);
  const Claimed history = Read(events, neighbours);
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

// 20,000 settings, of which a run takes 125. No end is refuted; few are open (docs/certify.md).
TEST(Answers, OfRandomSettingsAreProved) {
  testing::SampledCases cases(160);
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
      return CheckUpper(history, {Claim::About::kEpsilon, 0, 0, epsilon * by}).verdict;
    };
    EXPECT_EQ(upper(1 + 1e-9), Verdict::kProved) << text;
    EXPECT_EQ(upper(1 - 1e-9), Verdict::kOpen) << text;
    EXPECT_EQ(CheckLower(history, {Claim::About::kEpsilon, 0, epsilon / 2, epsilon}).verdict,
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
      return CheckUpper(Read(text, to), {claim.about, claim.given, 0, claim.upper * by}).verdict;
    };
    EXPECT_EQ(upper(1 + 1e-9), Verdict::kProved) << text;
    EXPECT_EQ(upper(1 - 1e-3), Verdict::kOpen) << text;
  }
  // The profile of bounded range, in closed form.
  for (const double epsilon : {0.1, 0.4}) {
    const double root = std::exp(0.35) - std::exp(epsilon / 2);
    const double delta = root * root / std::expm1(0.7);
    const auto upper = [&](double by) {
      return CheckUpper(Read(exponential), {Claim::About::kDelta, epsilon, 0, delta * by}).verdict;
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
    all.push_back({name, right, {Claim::About::kEpsilon, delta, lower, upper}});
  };
  ends("upper lowered", claim.lower - gap - 2 * more, claim.upper - gap - more);
  ends("lower raised", claim.lower + gap + more, claim.upper + gap + 2 * more);
  ends("digit of the upper end", 6.1877113, 6.1877122);
  const auto with = [&](const char* name, double other_q, double other_sigma, double other_count,
                        double other_delta) {
    all.push_back({name,
                   PoissonRounds(other_q, other_sigma, other_count),
                   {Claim::About::kEpsilon, other_delta, claim.lower, claim.upper}});
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

// δ does not fall past the greatest loss: an ε beyond it is too large a lower end.
TEST(Faults, ALowerEndPastTheGreatestLossIsRefuted) {
  const std::string stated = Mechanism("\"epsilonDelta\":{\"epsilon\":1,\"delta\":1e-6}");
  const Claim claim = {Claim::About::kEpsilon, 1e-6, 5, 6};
  EXPECT_EQ(CheckLower(Read(stated), claim).verdict, Verdict::kRefuted);
  EXPECT_EQ(CheckUpper(Read(stated), claim).verdict, Verdict::kProved);
  const Claim right = {Claim::About::kEpsilon, 1e-6, 1, 1};
  EXPECT_EQ(CheckLower(Read(stated), right).verdict, Verdict::kProved);
}

}  // namespace
}  // namespace dpledger::certify
