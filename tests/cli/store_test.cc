// Ledgers at rest: every question, list and statement reads a folder or a bundle as a server would
// show it, and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// A store with three ledgers, two of them over one data set and one with a plan, that a server has
// left; bundles of two of them; and what the server answered.
class AtRest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    store_ = folder_->File("store");
    ServerProcess server(store_);
    const auto on = [&](Words words) {
      words.insert(words.end(), {"--server", server.address(), "--json"});
      const RunResult result = Dpledger(words);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return result.out;
    };
    const std::string run = folder_->Write("run.jsonl", PoissonRounds("0.01", "1", "100"));
    for (const auto& [name, dataset] : std::map<std::string, std::string>{
             {"first", "points"}, {"second", "points"}, {"other", "others"}}) {
      on(CreateLedger(
          name, dataset,
          {"--plan-independent", "--planned-rounds", name == "other" ? "10000" : "100"}));
      on({"ledger", "append", name, "--events", run});
    }
    for (const Words& words : Questions()) (*answers_)[words] = on(words);
    for (const char* name : {"first", "second"}) {
      on({"ledger", "export", name, "--output", Bundle(name)});
    }
    EXPECT_EQ(server.Stop(), 0);
  }
  static void TearDownTestSuite() {
    delete answers_;
    delete folder_;
  }

  static std::vector<Words> Questions() {
    return {{"epsilon", "--delta", "1e-5", "--ledger", "first"},
            {"epsilon", "--delta", "1e-5", "--ledger", "first", "--ledger", "second"},
            {"epsilon", "--delta", "1e-5", "--dataset", "points"},
            {"delta", "--epsilon", "1", "--ledger", "first"},
            {"profile", "--epsilons", "1,2", "--ledger", "first"},
            {"tuning", "--delta", "1e-5", "--trials", "poisson", "--mean-trials", "4", "--ledger",
             "other"},
            {"ledger", "show", "first"},
            {"ledger", "read", "first"}};
  }
  static std::string Bundle(const std::string& name) { return folder_->File(name + ".bundle"); }

  static RunResult Read(Words words, const Words& stores) {
    for (const std::string& store : stores) words.insert(words.end(), {"--store", store});
    words.push_back("--json");
    return Dpledger(words);
  }
  static JsonObject Ok(const Words& words, const Words& stores) {
    const RunResult result = Read(words, stores);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return JsonObject(result.out);
  }
  static void ExpectRefused(const RunResult& result, const std::string& message, int code = 1) {
    EXPECT_EQ(result.exit_code, code) << result.out;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  // Every file below the folder, with its bytes.
  static std::map<std::string, std::string> Files() {
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_->path())) {
      if (!file.is_regular_file()) continue;
      std::ostringstream bytes;
      bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
      files[file.path()] = bytes.str();
    }
    return files;
  }

  static TemporaryFolder* folder_;
  static std::string store_;
  static std::map<Words, std::string>* answers_;
};
TemporaryFolder* AtRest::folder_ = nullptr;
std::string AtRest::store_;
std::map<Words, std::string>* AtRest::answers_ = new std::map<Words, std::string>;

TEST_F(AtRest, AnswersAreThoseOfTheServer) {
  for (const Words& words : Questions()) {
    const RunResult read = Read(words, {store_});
    EXPECT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(read.out, (*answers_)[words]) << words[0];
  }
}

// Two runs of 100 rounds are over the data set; one of 300 more would make it 500.
TEST_F(AtRest, WhatMayBeDoneYetCountsWithWhatWasDone) {
  const auto upper = [](const Words& more, const Words& stores) {
    Words words = {"epsilon", "--delta", "1e-5"};
    words.insert(words.end(), more.begin(), more.end());
    return Ok(words, stores).Number("epsilon.upper");
  };
  const auto run = [](const char* steps) {
    return Words{"--noise-multiplier", "1", "--sampling-probability", "0.01", "--steps", steps};
  };
  Words planned = run("300");
  planned.insert(planned.end(), {"--dataset", "points"});
  EXPECT_EQ(upper(planned, {store_}), upper(run("500"), {}));
  EXPECT_EQ(upper({"--ledger", "first", "--events", folder_->File("run.jsonl")}, {store_}),
            upper(run("200"), {}));
  EXPECT_LT(upper({"--dataset", "points"}, {store_}), upper(run("500"), {}));
}

// A search that stops runs costs their plan, not what they came to: it was left out.
TEST_F(AtRest, TuningNamesThePlansCost) {
  const Words words = Questions()[5];
  const JsonObject answer = Ok(words, {store_});
  EXPECT_GT(answer.Number("plannedEpsilon.upper"), 5 * answer.Number("epsilon.upper"));
  Words text = words;
  text.insert(text.end(), {"--store", store_});
  EXPECT_THAT(Dpledger(text).out, HasSubstr("\nepsilon of plan    "));
}

TEST_F(AtRest, NothingIsChanged) {
  const auto before = Files();
  ASSERT_GT(before.size(), 5u);
  for (const Words& words : Questions()) Read(words, {store_});
  for (const Words& words :
       std::vector<Words>{{"ledger", "list"},
                          {"ledger", "datasets"},
                          {"ledger", "verify", "first", "--self-signed"},
                          {"statement", "--dataset", "points"},
                          {"audit", "--canaries", "100", "--guesses", "10", "--correct", "6",
                           "--delta", "1e-5", "--ledger", "first"}}) {
    const RunResult result = Read(words, {store_});
    EXPECT_EQ(result.exit_code, 0) << words[1] << result.err;
  }
  EXPECT_TRUE(Files() == before);
}

TEST_F(AtRest, ABundleAnswersAsTheLedgerThatItHolds) {
  for (const Words& question : std::vector<Words>{{"epsilon", "--delta", "1e-5"},
                                                  {"delta", "--epsilon", "1"},
                                                  {"profile", "--epsilons", "1,2"}}) {
    Words named = question;
    named.insert(named.end(), {"--ledger", "first"});
    JsonObject of_store = Ok(named, {store_}), of_bundle = Ok(question, {Bundle("first")});
    EXPECT_EQ(of_bundle.Keys(), of_store.Keys());
    EXPECT_EQ(of_bundle.Text("details.ledgers.0.rootHash"),
              of_store.Text("details.ledgers.0.rootHash"));
    EXPECT_EQ(of_bundle.Text("details.method"), of_store.Text("details.method"));
    EXPECT_THAT(of_bundle.Texts("details.assumptions"),
                ::testing::Contains(HasSubstr("a bundle agrees with itself")));
  }
  EXPECT_EQ(
      Ok({"epsilon", "--delta", "1e-5"}, {Bundle("first")}).Number("epsilon.upper"),
      Ok({"epsilon", "--delta", "1e-5", "--ledger", "first"}, {store_}).Number("epsilon.upper"));
  const RunResult shown = Read({"ledger", "show"}, {Bundle("first")});
  EXPECT_EQ(shown.out, Read({"ledger", "show", "first"}, {store_}).out);
  EXPECT_EQ(Read({"ledger", "read"}, {Bundle("first")}).out,
            Read({"ledger", "read", "first"}, {store_}).out);
  EXPECT_THAT(Dpledger({"statement", "--store", Bundle("first")}).out, HasSubstr("first"));
}

TEST_F(AtRest, SeveralBundlesAreComposed) {
  const double together =
      Ok({"epsilon", "--delta", "1e-5", "--dataset", "points"}, {store_}).Number("epsilon.upper");
  const Words both = {Bundle("first"), Bundle("second")};
  EXPECT_EQ(Ok({"epsilon", "--delta", "1e-5"}, both).Number("epsilon.upper"), together);
  EXPECT_EQ(Ok({"epsilon", "--delta", "1e-5", "--dataset", "points"}, both).Number("epsilon.upper"),
            together);
  EXPECT_EQ(Ok({"ledger", "list"}, both).Array("ledgers").size(), 2u);
  ExpectRefused(Read({"epsilon", "--delta", "1e-5"}, {Bundle("first"), Bundle("first")}),
                "must hold ledgers of different names");
}

TEST_F(AtRest, ListsShowWhatLedgersCost) {
  const JsonObject listed = Ok({"ledger", "list"}, {store_});
  EXPECT_EQ(listed.Array("ledgers").size(), 3u);
  EXPECT_EQ(
      listed.Number("summaries.0.epsilon.upper"),
      Ok({"epsilon", "--delta", "1e-5", "--ledger", "first"}, {store_}).Number("epsilon.upper"));
  EXPECT_EQ(Ok({"ledger", "list", "--filter", "dataset = points AND epsilon > 0"}, {store_})
                .Array("ledgers")
                .size(),
            2u);
}

TEST_F(AtRest, ALedgerNeedsItsNameWhereThereAreSeveral) {
  ExpectRefused(Read({"ledger", "show"}, {store_}),
                "NAME: must name one of the 3 ledgers here: projects/default/ledgers/first, ");
  ExpectRefused(Read({"epsilon", "--delta", "1e-5"}, {store_}), "data set");
  ExpectRefused(Read({"epsilon", "--delta", "1e-5", "--ledger", "none"}, {store_}), "none");
}

TEST_F(AtRest, OneThatIsOpenIsRefusedInOneLine) {
  ServerProcess server(store_);
  const RunResult refused = Read({"epsilon", "--delta", "1e-5", "--ledger", "first"}, {store_});
  ExpectRefused(refused,
                "dpledger: --store: another process has " + store_ +
                    " open; read it once that has ended, or ask the server if it is one\n");
  EXPECT_EQ(JsonObject(refused.out).Text("error.reason"), "STORE_IN_USE");
  EXPECT_EQ(server.Stop(), 0);
  EXPECT_EQ(Read({"ledger", "list"}, {store_}).exit_code, 0);
}

TEST_F(AtRest, WhatIsNoLedgerIsRefused) {
  const Words question = {"epsilon", "--delta", "1e-5"};
  ExpectRefused(Read(question, {folder_->File("nothing")}), "--store: there is no ");
  const TemporaryFolder empty;
  ExpectRefused(Read(question, {empty.path()}),
                "--store: must be the folder of a recorder's ledgers or of a server's store, or a "
                "bundle; ");
  ExpectRefused(Read(question, {folder_->File("run.jsonl")}), "run.jsonl: ");
  ExpectRefused(Read(question, {store_, Bundle("first")}),
                "must be one folder, or several bundles");
  std::ostringstream bytes;
  bytes << std::ifstream(Bundle("first"), std::ios::binary).rdbuf();
  std::string changed = bytes.str();
  changed[changed.rfind("tile/entries/") + 512 + 40] ^= 1;
  ExpectRefused(Read(question, {folder_->Write("changed.bundle", changed)}), "changed.bundle: ", 3);
}

TEST_F(AtRest, AStoreAndAServerAreOneOrTheOther) {
  ExpectRefused(
      Read({"epsilon", "--delta", "1e-5", "--server", "127.0.0.1:1", "--ledger", "a"}, {store_}),
      "--store: must not be given with --server", 2);
  ExpectRefused(Dpledger({"ledger", "show", "--server", "127.0.0.1:1"}), "NAME", 2);
}

// A folder or a bundle becomes a sealed copy, as it is, of a server or in a folder.
TEST_F(AtRest, AFolderIsImportedAsItIs) {
  ServerProcess server;
  const std::string root = Ok({"ledger", "show", "first"}, {store_}).Text("rootHash");
  const std::string copies = folder_->File("copies");
  const auto copied = [&](Words command, const Words& place) {
    command.insert(command.end(), place.begin(), place.end());
    const RunResult result = Dpledger(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(JsonObject(result.out).Text("import.rootHash"), root);
  };
  for (const Words& place :
       {Words{"--server", server.address(), "--json"}, {"--store", copies, "--json"}}) {
    copied({"ledger", "import", store_, "--ledger", "first"}, place);
    copied({"ledger", "import", Bundle("first"), "--self-signed", "--as", "again"}, place);
  }
  EXPECT_EQ(
      Ok({"epsilon", "--ledger", "first", "--delta", "1e-5"}, {copies}).Number("epsilon.upper"),
      Ok({"epsilon", "--ledger", "first", "--delta", "1e-5"}, {store_}).Number("epsilon.upper"));
  ExpectRefused(Dpledger({"ledger", "import", store_, "--server", server.address()}),
                "--ledger: must name one of the 3 ledgers here");
  EXPECT_EQ(server.Stop(), 0);
}

TEST_F(AtRest, ExportWritesTheBundleOfAFolder) {
  const std::string bundle = folder_->File("again.bundle");
  Ok({"ledger", "export", "first", "--output", bundle}, {store_});
  EXPECT_EQ(Dpledger({"ledger", "verify", bundle, "--self-signed"}).exit_code, 0);
  ExpectRefused(Read({"ledger", "export", "--output", bundle}, {Bundle("first")}),
                "is a bundle already: copy it");
  std::filesystem::remove(bundle);
}

// "Noise for what is left": with a run more, the target is met and nearly reached.
TEST_F(AtRest, CalibratesWhatIsLeftOfATarget) {
  const Words common = {"calibrate",
                        "--epsilon",
                        "2",
                        "--delta",
                        "1e-5",
                        "--ledger",
                        "first",
                        "--sampling-probability",
                        "0.01",
                        "--solve",
                        "noise-multiplier",
                        "--steps",
                        "1000"};
  const JsonObject found = Ok(common, {store_});
  EXPECT_LE(found.Number("epsilon.upper"), 2);
  EXPECT_GT(found.Number("epsilon.upper"), 2 * (1 - 1e-3));
  EXPECT_LE(found.Number("optimum.lower"), found.Number("noiseMultiplier"));
  // The same run as an event with a hole; and by each method.
  const std::string run = folder_->Write(
      "run.jsonl", R"({"rounds":{"scheme":{"poisson":{"probability":0.01}},)"
                   R"("queries":[{"l2NormBound":1,"noiseStddev":1}],"count":"1000"}})"
                   "\n");
  const JsonObject by_hole =
      Ok({"calibrate", "--epsilon", "2", "--delta", "1e-5", "--ledger", "first", "--compare",
          "--events", run, "--hole", "events[0].rounds.queries[0].noise_stddev"},
         {store_});
  EXPECT_NEAR(by_hole.Number("value"), found.Number("noiseMultiplier"), 2e-4);
  // Without the ledger there is room for less noise.
  const Words alone = {"calibrate", "--epsilon", "2",
                       "--delta",   "1e-5",      "--sampling-probability",
                       "0.01",      "--solve",   "noise-multiplier",
                       "--steps",   "1000",      "--json"};
  EXPECT_GT(found.Number("noiseMultiplier"),
            JsonObject(Dpledger(alone).out).Number("noiseMultiplier"));
  Words little = common;
  little[2] = "0.001";
  ExpectRefused(Read(little, {store_}), "what was spent comes to an epsilon of ");
  const JsonObject steps =
      Ok({"calibrate", "--epsilon", "2", "--delta", "1e-5", "--ledger", "first",
          "--sampling-probability", "0.01", "--solve", "steps", "--noise-multiplier", "1"},
         {store_});
  EXPECT_GT(steps.Number("steps"), 10);
  EXPECT_LE(steps.Number("epsilon.upper"), 2);
}

// Commands that write take a recorder's folder as they take a server.
TEST(InAFolder, ABudgetIsMadeAndKept) {
  const TemporaryFolder folder;
  const std::string store = folder.File("runs.ledger");
  const auto run = [&](Words words) {
    words.insert(words.end(), {"--store", store});
    return Dpledger(words);
  };
  const auto good = [&](const Words& words) {
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const Words declared = {"--dataset", "visits",      "--unit",
                          "patient",   "--adjacency", "add-or-remove-one"};
  const auto create = [&](Words words) {
    words.insert(words.end(), declared.begin(), declared.end());
    return good(words);
  };
  create(
      {"budget", "create", "all", "--filter", "mixture:8:1e-6", "--block-assignment", "by year"});
  for (const auto& [name, blocks] : std::map<std::string, std::string>{{"a", "1-4"}, {"b", "5"}}) {
    create({"ledger", "create", name, "--parameters", "adaptive", "--budget", "all", "--blocks",
            blocks});
  }
  const auto plan = [](const std::string& name) {
    return Words{"budget", "grant",
                 "all",    "--for",
                 name,     "--noise-multiplier",
                 "1",      "--sampling-probability",
                 ".01",    "--steps",
                 "100"};
  };
  good(plan("a"));
  good({"budget", "retire", "all", "--blocks", "5", "--reason", "too old"});
  const RunResult refused = run(plan("b"));
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.err, HasSubstr("block 5 is retired"));
  good({"ledger", "append", "a", "--events",
        folder.Write("run.jsonl", PoissonRounds("0.01", "1", "100"))});
  EXPECT_EQ(run({"ledger", "append", "a", "--events", folder.File("run.jsonl")}).exit_code, 5);
  good({"ledger", "note", "a", "--text", "done"});
  good({"ledger", "seal", "a"});
  EXPECT_THAT(good({"budget", "show", "all"}),
              ::testing::AllOf(HasSubstr("retired blocks     5"), HasSubstr("to 1 ledger")));
  // It is a recorder's folder or none, and one place at a time.
  EXPECT_THAT(Dpledger({"ledger", "note", "a", "--text", "x", "--store", folder.path()}).err,
              HasSubstr("--store: "));
  // A name that was mistyped makes no folder and no key.
  const std::string typo = folder.File("typo");
  for (const Words& words :
       {Words{"ledger", "note", "a", "--text", "x"}, Words{"ledger", "seal", "a"},
        Words{"ledger", "append", "a", "--events", folder.File("run.jsonl")}, plan("a")}) {
    Words told = words;
    told.insert(told.end(), {"--store", typo});
    const RunResult refused_typo = Dpledger(told);
    EXPECT_NE(refused_typo.exit_code, 0);
    EXPECT_THAT(refused_typo.err, HasSubstr("typo: there is no such folder"));
    EXPECT_FALSE(std::filesystem::exists(typo));
  }
  EXPECT_EQ(
      Dpledger({"ledger", "note", "a", "--text", "x", "--store", store, "--server", "127.0.0.1:1"})
          .exit_code,
      2);
}

}  // namespace
}  // namespace dpledger::testing
