// dpledger-certify as a process: exit codes, words, and input of every bad kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/certify/events_text.h"

namespace dpledger::certify {
namespace {

using ::testing::HasSubstr;

struct Ended {
  int code;
  std::string output;
};
Ended RunProgram(const std::string& program, const std::string& arguments) {
  const std::string command =
      absl::StrCat(std::getenv("DPLEDGER_BIN"), "/", program, " ", arguments, " 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> part;
  while (const size_t read = std::fread(part.data(), 1, part.size(), pipe))
    output.append(part.data(), read);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}
std::string File(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/certify_" + name;
  std::ofstream(path) << content;
  return path;
}
Ended Certify(const std::string& events, const std::string& rest) {
  return RunProgram("dpledger-certify",
                    absl::StrCat("--events ", File("events", events), " ", rest));
}
const std::string kEnds = "--delta 1e-5 --lower 6.1877123 --upper 6.1877124";

TEST(Program, ProvesWhatTheCommandLineAnswers) {
  const std::string events = File("run", PoissonRounds(0.01, 1, 10000));
  for (const char* question : {"epsilon --delta 1e-5", "delta --epsilon 2"}) {
    const Ended asked =
        RunProgram("dpledger", absl::StrCat(question, " --events ", events, " --json 2>/dev/null"));
    ASSERT_EQ(asked.code, 0) << asked.output;
    const Ended checked = RunProgram(
        "dpledger-certify", absl::StrCat(File("answer", asked.output), " --events ", events));
    EXPECT_EQ(checked.code, 0) << checked.output;
    EXPECT_THAT(checked.output, HasSubstr("upper  proved: delta("));
    EXPECT_THAT(checked.output, HasSubstr("lower  proved: delta("));
  }
}
TEST(Program, ProvesTheCostOfASearch) {
  const std::string events = File("one_run", GaussianEvent(3));
  const Ended asked = RunProgram(
      "dpledger", absl::StrCat("tuning --trials poisson --mean-trials 10 --delta 1e-5 --events ",
                               events, " --json 2>/dev/null"));
  ASSERT_EQ(asked.code, 0) << asked.output;
  const Ended checked = RunProgram("dpledger-certify",
                                   absl::StrCat(File("cost", asked.output), " --events ", events));
  EXPECT_EQ(checked.code, 0) << checked.output;
  // More runs, and a number of them that is none.
  for (const auto& [mean, code] : {std::pair("11", 1), std::pair("-1", 2), std::pair("0", 2)}) {
    const std::string other = absl::StrReplaceAll(
        asked.output, {{"{\"mean\":10}", absl::StrCat("{\"mean\":", mean, "}")}});
    ASSERT_NE(other, asked.output);
    const Ended refused =
        RunProgram("dpledger-certify", absl::StrCat(File("other", other), " --events ", events));
    EXPECT_EQ(refused.code, code) << refused.output;
  }
}
TEST(Program, SaysWhichInequalityFails) {
  const Ended ended =
      Certify(PoissonRounds(0.01, 1, 10000), "--delta 1e-5 --lower 6.18 --upper 6.187");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.output, HasSubstr("upper  NOT proved, refuted: delta(6.187"));
  EXPECT_THAT(ended.output, HasSubstr("(remove: it is in [1.00"));
  EXPECT_THAT(ended.output, HasSubstr("lower  proved"));
}
TEST(Program, NamesWhatItDoesNotCover) {
  for (const auto& [kind, words] : std::vector<std::pair<std::string, std::string>>{
           {"\"unsupported\":{}", "unsupported"},
           {"\"shuffled\":{\"localEpsilon\":1,\"people\":\"9\"}", "shuffled"},
           {"\"count\":\"9007199254740992\",\"selfComposed\":{\"count\":\"9007199254740992\","
            "\"event\":{\"gaussian\":{\"noiseMultiplier\":1}}}",
            "2^53 runs"}}) {
    const Ended ended = Certify(Mechanism(kind), kEnds);
    EXPECT_EQ(ended.code, 3) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(words));
  }
  const auto round = [](int number, const char* population) {
    return absl::StrFormat(
        "{\"sampling\":{\"round\":\"%d\",\"scheme\":{\"populationSize\":\"%s\","
        "\"randomAllocation\":{"
        "\"roundsPerEpoch\":\"2\"}}}}\n{\"sumQuery\":{\"round\":\"%d\",\"query\":{\"l2NormBound\":"
        "1,"
        "\"noiseStddev\":1}}}\n",
        number, population, number);
  };
  const Ended begun = Certify(round(0, "100"), kEnds);
  EXPECT_EQ(begun.code, 3) << begun.output;
  EXPECT_THAT(begun.output, HasSubstr("an epoch that is not whole: not covered"));
  // Two populations, two draws: of neither the epoch is whole.
  EXPECT_THAT(Certify(round(0, "100") + round(1, "200"), kEnds).output,
              HasSubstr("an epoch of unequal rounds: not covered"));
  std::string fixed;
  for (const char* population : {"100", "200"}) {
    fixed += EpochRounds(absl::StrCat("\"populationSize\":\"", population,
                                      "\",\"randomAllocation\":{\"roundsPerEpoch\":\"16\","
                                      "\"fixedBins\":true}"),
                         1, 16);
  }
  EXPECT_THAT(Certify(fixed, kEnds).output, HasSubstr("fixed bins that change: not covered"));
}
TEST(Program, NamesTheFieldThatBreaksARule) {
  std::string deep = "\"gaussian\":{\"noiseMultiplier\":1}";
  for (int i = 0; i < 40; ++i) deep = "\"selfComposed\":{\"count\":\"1\",\"event\":{" + deep + "}}";
  std::string deeper = deep;
  for (int i = 0; i < 20000; ++i) deeper = "\"composed\":{\"events\":[{" + deeper + "}]}";
  for (const auto& [events, words] : std::vector<std::pair<std::string, std::string>>{
           {PoissonRounds(-0.1, 1, 10), "probability: must be in (0, 1], got -0.1"},
           {PoissonRounds(0.1, -1, 10), "queries[0].noise_stddev: must be finite and > 0, got -1"},
           {PoissonRounds(0.1, 1, 0), "rounds.count: must be"},
           {Mechanism("\"gaussian\":{\"noiseMultiplier\":\"NaN\"}"), "noise_multiplier: must be"},
           {Mechanism("\"composed\":{}"), "composed.events: must"},
           {Mechanism(""), "kind: must be set"},
           {Mechanism(deep), "32 levels deep"},
           {Mechanism(deeper), "line 1: "},
           {"{}", "kind: must be set"},
           {"nonsense", "line 1: no event in proto JSON"},
           {GaussianEvent(1) + "{\"rounds\":{\"counts\":1}}", "line 2: "}}) {
    const Ended ended = Certify(events, kEnds);
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(words));
  }
}
TEST(Program, RefusesEndsThatAreNone) {
  const std::string events = GaussianEvent(1);
  for (const auto& [ends, words] : std::vector<std::pair<std::string, std::string>>{
           {"--delta nan --lower 1 --upper 2", "delta: must be in [0, 1)"},
           {"--delta 2 --lower 1 --upper 2", "delta: must be in [0, 1)"},
           {"--delta 1e-5 --lower nan --upper 2", "lower: must be"},
           {"--delta 1e-5 --lower 3 --upper 2", "lower: must be at most upper"},
           {"--delta 1e-5 --lower -1 --upper 2", "lower: must be"},
           {"--epsilon 1 --lower 0 --upper 2", "upper: must be in [0, 1]"},
           {"--delta 1e-5 --upper 2", "--lower and --upper"},
           {"--lower 1 --upper 2", "--delta"},
           {"--delta 1e-5 --lower 1 --upper 2 --group-size 0", "group_size: must"}}) {
    const Ended ended = Certify(events, ends);
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(words));
  }
  EXPECT_THAT(RunProgram("dpledger-certify", "--evnts x").output, HasSubstr("--evnts"));
  const Ended no_file =
      RunProgram("dpledger-certify", "--events /nowhere --delta .1 --lower 0 --upper 1");
  EXPECT_EQ(no_file.code, 2);
  EXPECT_THAT(no_file.output, HasSubstr("--events: open /nowhere"));
  EXPECT_EQ(Certify(events, "--delta 1e-5 --lower 0 --upper 9 > /dev/full").code, 2);
  const Ended no_answer = Certify(events, File("answer", "{\"size\":\"3\"}"));
  EXPECT_EQ(no_answer.code, 2) << no_answer.output;
}
// 2^53 and one more run are 2^53 to a double: a claim without the last ones was proved.
TEST(Program, RoundsNoRunAway) {
  const auto stated = [](const std::string& count) {
    return Mechanism("\"count\":\"" + count +
                     "\",\"epsilonDelta\":{\"epsilon\":1.1368683772161603e-13,\"delta\":0}");
  };
  const std::string ends = "--delta 0 --lower 1024 --upper 1024";
  EXPECT_EQ(Certify(stated("9007199254740992"), ends).code, 0);
  EXPECT_EQ(Certify(stated("9007199254740992") + stated("1"), ends).code, 3);
  const Ended nested = Certify(
      Mechanism("\"count\":\"3002399751580331\",\"selfComposed\":{\"count\":\"3\",\"event\":{"
                "\"epsilonDelta\":{\"epsilon\":1,\"delta\":0}}}"),
      "--delta 0 --lower 1 --upper 9007199254740992");
  EXPECT_EQ(nested.code, 3) << nested.output;
}
TEST(Program, TakesALedgersEntriesAllOrNone) {
  const auto entry = [](int sequence, const std::string& writer, const std::string& body) {
    return absl::StrCat("{\"sequence\":\"", sequence, "\",\"writer\":\"", writer, "\",", body,
                        "}\n");
  };
  const std::string first = entry(0, "",
                                  "\"declaration\":{\"dataset\":\"x\",\"adjacency\":\"ADD_OR_"
                                  "REMOVE_ONE\",\"parameters\":\"FIXED\"}");
  const auto event = [&](int sequence, const std::string& writer, std::string of) {
    of.pop_back();
    return entry(sequence, writer, "\"event\":" + of);
  };
  const std::string sampling =
      "{\"sampling\":{\"round\":\"1\",\"scheme\":{\"poisson\":{\"probability\":0.001}}}}\n";
  const std::string sum =
      "{\"sumQuery\":{\"round\":\"1\",\"query\":{\"l2NormBound\":1,\"noiseStddev\":1}}}\n";
  const std::string ends = "--delta 1e-2 --lower 0 --upper 0.1";
  const std::string whole = first + event(1, "a", sampling) + event(2, "a", sum);
  EXPECT_EQ(Certify(whole, ends).code, 0) << Certify(whole, ends).output;
  // Of two writers, each has rounds of its own: what stands between one's sample and its sum is not
  // of that sample.
  const std::string both = first + event(1, "a", sampling) + event(2, "b", sampling) +
                           event(3, "b", sum) + event(4, "a", sum);
  EXPECT_EQ(Certify(both, ends).code, 0) << Certify(both, ends).output;
  const std::string mixed =
      first + event(1, "a", sampling) + event(2, "b", sum) + event(3, "a", sum);
  EXPECT_EQ(Certify(mixed, ends).code, 1) << Certify(mixed, ends).output;
  // Another opening of the writer begins its rounds anew: what it sums has no sample.
  const std::string opened = first + event(1, "a", sampling) +
                             entry(2, "a", "\"opened\":{\"incarnation\":\"z\"}") +
                             event(3, "a", sum);
  EXPECT_EQ(Certify(opened, ends).code, 1) << Certify(opened, ends).output;
  for (const auto& [events, code] :
       std::vector<std::pair<std::string, int>>{{first + event(2, "a", sum), 2},  // one is missing
                                                {event(0, "a", sum), 2},
                                                {first, 2},  // nothing was released
                                                {"", 2},
                                                {first + entry(1, "a", "\"lateEvent\":{}"), 3},
                                                {entry(0, "", "\"fork\":{\"parent\":\"x\"}"), 3}}) {
    EXPECT_EQ(Certify(events, ends).code, code) << events;
  }
}
TEST(Program, RefusesAnAnswerAboutOtherEvents) {
  const std::string one = PoissonRounds(0.01, 1, 10000);
  const Ended asked = RunProgram("dpledger", absl::StrCat("epsilon --delta 1e-5 --events ",
                                                          File("two", one + one), " --json"));
  ASSERT_EQ(asked.code, 0) << asked.output;
  const Ended checked = Certify(one, File("answer", asked.output));
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.output, HasSubstr("details.entries: must be as many as --events holds"));
}
TEST(Program, BearsExtremeNumbers) {
  for (const std::string& events : {PoissonRounds(1e-300, 1e-100, 9007199254740992),
                                    PoissonRounds(1, 1e100, 1), PoissonRounds(0.5, 1e-9, 1000000),
                                    PoissonRounds(0.5, 1e300, 1), Mechanism("\"nonPrivate\":{}"),
                                    Mechanism("\"epsilonDelta\":{\"epsilon\":1e300,\"delta\":1}"),
                                    Mechanism("\"laplace\":{\"noiseMultiplier\":1e-300}")}) {
    for (const char* ends : {"--delta 1e-5 --lower 0 --upper inf", "--delta 0 --lower 0 --upper 1",
                             "--delta 1e-300 --lower 1 --upper 1e300"}) {
      const Ended ended = Certify(events, ends);
      EXPECT_THAT(ended.code, ::testing::AnyOf(0, 1)) << events << ends << ended.output;
    }
  }
  EXPECT_EQ(Certify(Mechanism("\"nonPrivate\":{}"), "--delta 0.5 --lower 0 --upper 9").code, 1);
}

}  // namespace
}  // namespace dpledger::certify
