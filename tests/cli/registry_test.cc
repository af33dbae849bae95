// Watching a registry with the real programs: a server, its files mirrored and bent, and somebody
// who was handed the evidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"
#include "tests/registry/signed_registry.h"

namespace dpledger::testing {
namespace {

using ::dpledger::registry::SignedRegistry;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RegistryCommands : public ::testing::Test {
 protected:
  // A mirror of the registry's files.
  std::string Mirror(const std::string& name, const SignedRegistry& registry) {
    const std::string folder = folder_.File(name);
    for (const auto& [path, content] : registry.Files()) {
      const std::filesystem::path file = folder + "/" + path;
      std::filesystem::create_directories(file.parent_path());
      EXPECT_EQ(WriteFileDurably(file, content), absl::OkStatus());
    }
    return folder;
  }
  RunResult Follow(const std::string& mirror, const std::string& key = Key(1)) {
    return Dpledger({"registry", "follow", "--mirror", mirror, "--key", key, "--state",
                     folder_.File("state"), "--once", "--json"});
  }
  static std::string Key(int number) { return registry::TestVerifierKey(number).ToText(); }

  TemporaryFolder folder_;
};

TEST_F(RegistryCommands, FollowsAServer) {
  ServerProcess server;
  ASSERT_TRUE(server.running());
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address(), "--json"});
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  };
  run({"ledger", "create", "a", "--dataset", "d", "--unit", "example", "--adjacency",
       "add-or-remove-one", "--parameters", "fixed"});
  const std::string bundle = folder_.File("a.bundle");
  run({"ledger", "export", "a", "--output", bundle});
  const std::string keys =
      folder_.Write("keys", RunProgram({"/bin/tar", "-xOf", bundle, "keys"}).out);
  const std::vector<std::string> follow = {"registry", "follow",        "--key-file",
                                           keys,       "--state",       folder_.File("state"),
                                           "--once",   "--prove-growth"};
  const JsonObject first(run(follow).out);
  EXPECT_EQ(first.Number("size"), first.Number("newEntries"));
  EXPECT_EQ(first.Number("ledgers"), 1);
  EXPECT_EQ(first.Number("growthProofs"), 0);
  for (int i = 0; i < 3; ++i) {
    run({"ledger", "note", "a", "--writer", "w", "--text", absl::StrCat(i)});
    run({"ledger", "export", "a", "--output", folder_.File(absl::StrCat(i))});  // signs
  }
  const JsonObject second(run(follow).out);
  EXPECT_EQ(second.Number("newEntries"), 6);
  EXPECT_EQ(second.Number("growthProofs"), 3);
  EXPECT_EQ(JsonObject(run(follow).out).Number("newEntries"), 0);
  const RunResult witness =
      Dpledger({"registry", "follow", "--key",
                merkle::VerifierKey{"w", merkle::SignatureType::kCosignature, {}}.ToText(),
                "--state", folder_.File("other"), "--once", "--server", server.address()});
  EXPECT_NE(witness.exit_code, 0);
  EXPECT_THAT(witness.err, ::testing::HasSubstr("--key: must be a log's here"));
  EXPECT_EQ(server.Stop(), 0);
  const RunResult away = Dpledger({"registry", "follow", "--key-file", keys, "--state",
                                   folder_.File("state"), "--once", "--server", "127.0.0.1:1"});
  EXPECT_EQ(away.exit_code, 6) << away.err;
}

TEST_F(RegistryCommands, ContradictionIsKeptAndConvincesAStranger) {
  SignedRegistry honest, bent;
  honest.Key(1).Register("a", 5).MapRoot();
  bent.Key(1).Register("a", 5, v1::OPEN, 'x').MapRoot();
  ASSERT_EQ(Follow(Mirror("honest", honest)).exit_code, 0);
  const RunResult refused = Follow(Mirror("bent", bent));
  EXPECT_EQ(refused.exit_code, 3);
  const std::string evidence = folder_.File("state.contradiction");
  EXPECT_THAT(refused.err, HasSubstr("two roots are signed for its first 3 entries"));
  EXPECT_THAT(refused.err, HasSubstr(evidence));
  const RunResult checked = Dpledger({"registry", "check", evidence, "--key", Key(1), "--json"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(JsonObject(checked.out).Text("proved"), HasSubstr("signed two roots"));
  // Evidence is never overwritten, and proves nothing against another log.
  EXPECT_EQ(Follow(folder_.File("bent")).exit_code, 3);
  EXPECT_TRUE(std::filesystem::exists(evidence + "-2/checkpoint"));
  EXPECT_EQ(Dpledger({"registry", "check", evidence, "--key", Key(2)}).exit_code, 1);
  std::filesystem::remove(evidence + "/earlier-checkpoint");
  EXPECT_EQ(Dpledger({"registry", "check", evidence, "--key", Key(1)}).exit_code, 1);
}

// One of several servers may be behind; one that stays behind was put back.
TEST_F(RegistryCommands, OlderRegistryIsAskedForAgainAndThenRefused) {
  SignedRegistry registry;
  registry.Key(1).Register("a", 5).MapRoot();
  const std::string old = Mirror("old", registry);
  registry.Register("a", 6).MapRoot();
  ASSERT_EQ(Follow(Mirror("new", registry)).exit_code, 0);
  EXPECT_EQ(Follow(old).exit_code, 3);
  const RunResult refused = Dpledger({"registry", "follow", "--mirror", old, "--key", Key(1),
                                      "--state", folder_.File("state"), "--every", "1"});
  EXPECT_EQ(refused.exit_code, 3);
  size_t asked_again = 0;
  for (size_t at = 0; (at = refused.err.find("asked again", at)) != std::string::npos; ++at)
    ++asked_again;
  EXPECT_EQ(asked_again, 4u);
  EXPECT_THAT(refused.err, HasSubstr("an older registry was shown than before"));
}

TEST_F(RegistryCommands, TwoEntriesAreEvidenceToo) {
  SignedRegistry bent;
  bent.Key(1).Register("a", 5, v1::SEALED).Register("a", 3).MapRoot();
  EXPECT_EQ(Follow(Mirror("bent", bent)).exit_code, 3);
  const RunResult checked =
      Dpledger({"registry", "check", folder_.File("state.contradiction"), "--key", Key(1)});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("must stay SEALED"));
}

TEST_F(RegistryCommands, TellWhatIsWrong) {
  const auto expect = [](const std::vector<std::string>& arguments, int exit_code,
                         const std::string& message) {
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  const std::string state = folder_.File("state");
  expect({"registry", "follow", "--state", state}, 2, "--server");
  expect({"registry", "follow", "--state", state, "--mirror", "m", "--server", "s:1"}, 2,
         "only one of them");
  expect({"registry", "follow", "--mirror", "m", "--key", Key(1)}, 2, "--state");
  expect({"registry", "follow", "--mirror", "m", "--state", state, "--prove-growth"}, 2,
         "needs a --server");
  expect({"registry", "follow", "--mirror", "m", "--state", state}, 1, "a key of the log");
  expect({"registry", "follow", "--mirror", "absent", "--state", state, "--key", Key(1), "--once"},
         1, "No such file");
  SignedRegistry registry;
  registry.Key(1).MapRoot();
  EXPECT_THAT(Follow(Mirror("m", registry), Key(2)).err, HasSubstr("signed by none"));
  folder_.Write("state", "not a state");
  EXPECT_THAT(Follow(folder_.File("m")).err, HasSubstr("its checksum is another"));
  expect({"registry", "check", folder_.File("absent"), "--key", Key(1)}, 1, "No such file");
}

}  // namespace
}  // namespace dpledger::testing
