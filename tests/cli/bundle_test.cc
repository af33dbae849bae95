// Bundles taken from a real server, verified without it, and copied to another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ReadAll(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

RunResult RunJson(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  return Dpledger(arguments);
}

JsonObject Ok(const std::vector<std::string>& arguments) {
  const RunResult result = RunJson(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return JsonObject(result.out);
}

// The error that the command ends with.
JsonObject Fails(const std::vector<std::string>& arguments, int exit_code) {
  const RunResult result = RunJson(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << result.err << result.out;
  return JsonObject(result.out);
}

class Bundle : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() {
    EXPECT_EQ(server_->Stop(), 0);
    delete server_;
  }
  void SetUp() override {
    ASSERT_TRUE(server_->running());
    name_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : name_) c = static_cast<char>(tolower(c));
    bundle_ = folder_.File("ledger.bundle");
  }

  static std::vector<std::string> OnServer(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_->address()});
    return arguments;
  }
  // A ledger of `rounds` rounds.
  void Make(int rounds) {
    Ok(OnServer(CreateLedger(name_, "mnist")));
    Append(0, rounds);
  }
  void Append(int first, int count) {
    std::string events;
    for (int round = first; round < first + count; ++round) {
      events += SamplingLine(round) + SumQueryLine(round);
    }
    Ok(OnServer({"ledger", "append", name_, "--events", folder_.Write("events.jsonl", events)}));
  }
  JsonObject Export(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"ledger", "export", name_, "--output", bundle_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Ok(OnServer(arguments));
  }
  // Writes the bundle with one byte changed; its path.
  std::string Damaged(size_t at) {
    std::string bytes = ReadAll(bundle_);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return folder_.Write("damaged.bundle", bytes);
  }
  // The content of a member.
  std::string Member(const std::string& name) {
    return RunProgram({"/bin/tar", "-xOf", bundle_, name}).out;
  }

  static ServerProcess* server_;
  TemporaryFolder folder_;
  std::string name_;
  std::string bundle_;
};
ServerProcess* Bundle::server_ = nullptr;

TEST_F(Bundle, IsExportedAndVerifiedOffline) {
  Make(300);
  const JsonObject exported = Export();
  EXPECT_EQ(exported.Number("size"), 601);
  EXPECT_EQ(exported.Number("bytes"), static_cast<double>(std::filesystem::file_size(bundle_)));
  const std::string key = Member("keys").substr(0, Member("keys").find('\n'));
  const JsonObject verified = Ok({"ledger", "verify", bundle_, "--key", key, "--delta", "1e-5"});
  EXPECT_EQ(verified.Text("origin"), exported.Text("origin"));
  EXPECT_THAT(verified.Text("origin"), HasSubstr("/projects/default/ledgers/" + name_));
  EXPECT_EQ(verified.Number("size"), 601);
  EXPECT_EQ(verified.Text("rootHash"), exported.Text("rootHash"));
  EXPECT_EQ(verified.Text("state"), "OPEN");
  EXPECT_THAT(verified.Texts("signedBy"), ElementsAre(key));
  EXPECT_THAT(verified.Texts("warnings"), IsEmpty());
  const JsonObject asked = Ok(OnServer({"epsilon", "--delta", "1e-5", "--ledger", name_}));
  EXPECT_EQ(verified.Number("answer.epsilon.upper"), asked.Number("epsilon.upper"));
  const RunResult second =
      RunProgram({"/usr/bin/python3",
                  absl::StrCat(std::getenv("DPLEDGER_SOURCE"), "/tests/bundle/verify_bundle.py"),
                  bundle_, "--key", key});
  EXPECT_EQ(second.exit_code, 0) << second.err << second.out;
  std::string root;
  ASSERT_TRUE(absl::Base64Unescape(exported.Text("rootHash"), &root));
  EXPECT_EQ(JsonObject(second.out).Text("root"), HexEncode(root));
  // Readable text for every entry.
  const std::string events = Member("events.jsonl");
  EXPECT_EQ(std::count(events.begin(), events.end(), '\n'), 601);
  EXPECT_THAT(Member("README"), HasSubstr("dpledger ledger verify"));
}

TEST_F(Bundle, IsTheSameBytesTwice) {
  Make(3);
  Export();
  const std::string first = ReadAll(bundle_);
  Export();
  EXPECT_EQ(ReadAll(bundle_), first);
}

// Whoever is handed a file must not take it for verified because its maker signed it.
TEST_F(Bundle, WithoutAKeyIsNotVerified) {
  Make(1);
  Export();
  const std::string key = Member("keys").substr(0, Member("keys").find('\n'));
  const JsonObject refused = Fails({"ledger", "verify", bundle_}, 3);
  EXPECT_EQ(refused.Text("error.class"), "trust");
  EXPECT_THAT(refused.Text("error.message"), HasSubstr("no key was given"));
  EXPECT_THAT(refused.Text("error.message"), HasSubstr(key));
  EXPECT_THAT(refused.Text("error.message"), HasSubstr("This means: "));
  EXPECT_THAT(refused.Text("error.message"), HasSubstr("What to do: "));
  Fails(OnServer({"ledger", "verify", name_}), 3);
  const JsonObject self_signed = Ok({"ledger", "verify", bundle_, "--self-signed"});
  EXPECT_FALSE(self_signed.Flag("verified"));
  const RunResult text = Dpledger({"ledger", "verify", bundle_, "--self-signed"});
  EXPECT_THAT(text.out, ::testing::StartsWith("SELF-SIGNED "));
  EXPECT_TRUE(Ok({"ledger", "verify", bundle_, "--key", key}).Flag("verified"));
}

TEST_F(Bundle, PinIsBelievedTheNextTime) {
  Make(2);
  Export();
  const std::string key = Member("keys").substr(0, Member("keys").find('\n'));
  const std::string pin = folder_.File("ledger.pin");
  Fails({"ledger", "verify", bundle_, "--pin", pin}, 3);
  EXPECT_FALSE(std::filesystem::exists(pin));
  Ok({"ledger", "verify", bundle_, "--self-signed", "--pin", pin});
  EXPECT_FALSE(std::filesystem::exists(pin)) << "nobody vouches for that key";
  Ok({"ledger", "verify", bundle_, "--key", key, "--pin", pin});
  Append(2, 3);
  Export();
  const JsonObject verified = Ok({"ledger", "verify", bundle_, "--pin", pin});
  EXPECT_TRUE(verified.Flag("verified"));
  EXPECT_EQ(verified.Number("older"), 1);
  // It moves on: the ledger as it was before is now an older one.
  const std::string newest = ReadAll(pin);
  EXPECT_THAT(newest, HasSubstr("\n11\n"));
  const std::string same_key_other_ledger = name_ + "-other";
  name_ = same_key_other_ledger;
  Make(9);
  Export();
  EXPECT_EQ(Fails({"ledger", "verify", bundle_, "--pin", pin}, 3).Text("error.class"), "older");
  EXPECT_EQ(ReadAll(pin), newest);
  const std::string no_pin = folder_.Write("no.pin", "text\n");
  EXPECT_THAT(Fails({"ledger", "verify", bundle_, "--pin", no_pin}, 1).Text("error.message"),
              HasSubstr("must be a pin"));
}

TEST_F(Bundle, IsRefusedByAnotherKey) {
  Make(1);
  Export();
  const std::string foreign = "example.com+6ab17b87+AZyPgnwFFfkSJRaYRGCuqxZ9sTy6qeYFFnRAKhLtVGWX";
  EXPECT_EQ(RunJson({"ledger", "verify", "--self-signed", bundle_, "--key", foreign}).exit_code,
            2);  // a wrong key id
  const std::string file = folder_.Write("keys", "not a key\n");
  EXPECT_THAT(Fails({"ledger", "verify", "--self-signed", bundle_, "--key-file", file}, 1)
                  .Text("error.message"),
              HasSubstr(file + ":1: "));
}

TEST_F(Bundle, DifferenceIsNamedWithExitCodeThree) {
  Make(2);
  Export();
  const std::string bytes = ReadAll(bundle_);
  const size_t entries = bytes.rfind("tile/entries/000.p/5") + 512;
  const JsonObject error = Fails({"ledger", "verify", Damaged(entries + 40)}, 3);
  EXPECT_EQ(error.Text("error.class"), "tile");
  EXPECT_THAT(error.Text("error.where"), HasSubstr("tile/0/000.p/5, hash 0 (entry 0)"));
  EXPECT_THAT(error.Text("error.message"), HasSubstr("as the entries say, found"));
  // Whichever command reads it says what that means.
  const JsonObject shown = Fails({"ledger", "show", "--store", Damaged(entries + 40)}, 3);
  EXPECT_EQ(shown.Text("error.class"), "tile");
  EXPECT_THAT(shown.Text("error.message"), HasSubstr("What to do: Get the file again"));
}

TEST_F(Bundle, ForeignFileIsRefused) {
  const JsonObject error =
      Fails({"ledger", "verify", folder_.Write("text", std::string(2000, 'x'))}, 1);
  EXPECT_EQ(error.Text("error.code"), "INVALID_ARGUMENT");
  EXPECT_EQ(error.Text("error.class"), "format");
  EXPECT_EQ(Fails({"ledger", "verify", folder_.File("absent")}, 1).Text("error.code"), "NOT_FOUND");
}

TEST_F(Bundle, CarriesOnAnOlderCheckpoint) {
  Make(2);
  Export();
  const std::string older = folder_.Write("older", Member("checkpoint"));
  Append(2, 5);
  Export();
  EXPECT_EQ(Ok({"ledger", "verify", "--self-signed", bundle_, "--older", older}).Number("older"),
            1);
  EXPECT_EQ(
      Ok(OnServer({"ledger", "verify", "--self-signed", name_, "--older", older})).Number("older"),
      1);
  // The other way round: the later checkpoint is not a prefix of the earlier bundle.
  const std::string later = folder_.Write("later", Member("checkpoint"));
  name_ += "-other";
  Make(9);
  Export();
  EXPECT_EQ(Fails({"ledger", "verify", "--self-signed", bundle_, "--older", later}, 3)
                .Text("error.class"),
            "older");
}

TEST_F(Bundle, LiveLedgerIsVerified) {
  Make(200);
  const JsonObject verified =
      Ok(OnServer({"ledger", "verify", "--self-signed", name_, "--delta", "1e-5"}));
  EXPECT_EQ(verified.Number("size"), 401);
  EXPECT_GT(verified.Number("answer.epsilon.upper"), 0);
  EXPECT_EQ(Fails(OnServer({"ledger", "verify", "absent"}), 1).Text("error.code"), "NOT_FOUND");
}

TEST_F(Bundle, StatementIsComparedWithTheEntries) {
  Make(50);
  Export({"--delta", "1e-6"});
  EXPECT_EQ(Ok({"ledger", "verify", "--self-signed", bundle_}).Number("statementDelta"), 1e-6);
  // What is false in it, one at a time; lengths stay as they are.
  const std::string bytes = ReadAll(bundle_);
  const size_t at = bytes.rfind(std::string("{\"epsilon\":{\"lower\""));
  ASSERT_NE(at, std::string::npos);
  const auto refused = [&](const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    std::string changed = bytes;
    const size_t place = changed.find(from, at);
    ASSERT_NE(place, std::string::npos) << from;
    changed.replace(place, from.size(), to);
    const JsonObject error =
        Fails({"ledger", "verify", "--self-signed", folder_.Write("claims.bundle", changed)}, 3);
    EXPECT_EQ(error.Text("error.class"), "statement") << from;
  };
  const size_t upper = bytes.find("\"upper\":", at) + 8;
  refused(bytes.substr(upper - 8, 13), "\"upper\":0.000");
  const size_t lower = bytes.find("\"lower\":", at) + 8;
  refused(bytes.substr(lower - 8, 13), "\"lower\":9e999");
  refused("\"ADD_OR_REMOVE_ONE\"", "\"REPLACE_ONE\"      ");
  refused("\"groupSize\":\"1\"", "\"groupSize\":\"9\"");
  refused("\"mnist\"", "\"other\"");
  refused("\"rounds\":\"50\"", "\"rounds\":\"49\"");
  refused("\"delta\":1e-06", "\"delta\":2e-06");
  // More than is true may be claimed.
  std::string more = bytes;
  more.replace(upper, 3, "9e9");
  size_t end = upper + 3;
  while (more[end] != '}') more[end++] = ' ';
  Ok({"ledger", "verify", "--self-signed", folder_.Write("claims-more.bundle", more)});
}

TEST_F(Bundle, ReadableEventsAreComparedWithTheEntries) {
  Make(3);
  Export();
  EXPECT_TRUE(Ok({"ledger", "verify", "--self-signed", bundle_}).Flag("eventsAgree"));
  const std::string bytes = ReadAll(bundle_);
  const size_t at = bytes.find("{\"sequence\":\"2\"");
  ASSERT_NE(at, std::string::npos);
  const auto refused = [&](size_t place, char to, const char* where) {
    std::string changed = bytes;
    changed[place] = to;
    const JsonObject error =
        Fails({"ledger", "verify", "--self-signed", folder_.Write("reads.bundle", changed)}, 3);
    EXPECT_EQ(error.Text("error.class"), "events");
    EXPECT_THAT(error.Text("error.message"), HasSubstr(where));
  };
  const size_t noise = bytes.find("\"noise_stddev\":", at) + 15;
  refused(noise, '9', "events.jsonl, line 3: must be what entry 2 says");
  refused(bytes.find('\n', at), ' ', "events.jsonl, line 3");
  refused(bytes.rfind("}\n") + 1, ' ', "must end with a newline");
  // Another spelling of the same, as another version may print it.
  std::string spaced = bytes;
  const size_t comma = spaced.find(",\"writer\"", at);
  ASSERT_NE(comma, std::string::npos);
  spaced.replace(at, comma + 1 - at, "{\"sequence\":2  ,");
  Ok({"ledger", "verify", "--self-signed", folder_.Write("spaced.bundle", spaced)});
}

TEST_F(Bundle, DeltaIsRecomputedToo) {
  Make(20);
  Export();
  const JsonObject verified =
      Ok({"ledger", "verify", "--self-signed", bundle_, "--epsilon", "0.5"});
  const JsonObject asked = Ok(OnServer({"delta", "--epsilon", "0.5", "--ledger", name_}));
  EXPECT_EQ(verified.Number("deltaAnswer.delta.upper"), asked.Number("delta.upper"));
}

// The same question offline and of the server has the same answer.
TEST_F(Bundle, EpsilonIsAnsweredByMethodAdjacencyAndGroupSize) {
  Make(20);
  Export();
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{
           {"--group-size", "3"}, {"--method", "rdp"}, {"--adjacency", "replace-one"}}) {
    std::vector<std::string> verify = {"ledger", "verify",  "--self-signed",
                                       bundle_,  "--delta", "1e-5"};
    std::vector<std::string> ask = {"epsilon", "--delta", "1e-5", "--ledger", name_};
    verify.insert(verify.end(), how.begin(), how.end());
    ask.insert(ask.end(), how.begin(), how.end());
    const JsonObject verified = Ok(verify);
    const JsonObject asked = Ok(OnServer(ask));
    EXPECT_EQ(verified.Number("answer.epsilon.upper"), asked.Number("epsilon.upper")) << how[0];
    EXPECT_NE(
        asked.Number("epsilon.upper"),
        Ok(OnServer({"epsilon", "--delta", "1e-5", "--ledger", name_})).Number("epsilon.upper"))
        << how[0];
    EXPECT_EQ(verified.Text("answer.details.method"), asked.Text("details.method"));
    EXPECT_EQ(verified.Text("answer.details.adjacency"), asked.Text("details.adjacency"));
  }
}

TEST_F(Bundle, SealedLedgerIsVerified) {
  Make(2);
  Ok(OnServer({"ledger", "seal", name_}));
  Export();
  EXPECT_EQ(Ok({"ledger", "verify", "--self-signed", bundle_}).Text("state"), "SEALED");
}

TEST_F(Bundle, ForkIsVerifiedWithItsParent) {
  Make(20);
  const std::string parent = name_;
  Export();
  const std::string parent_bundle = folder_.File("parent.bundle");
  std::filesystem::rename(bundle_, parent_bundle);
  name_ += "-child";
  Ok(OnServer({"ledger", "fork", parent, name_}));
  Append(0, 5);
  Export();
  const std::vector<std::string> verify = {"ledger", "verify", "--self-signed", bundle_};
  EXPECT_THAT(Ok(verify).Texts("warnings"),
              ::testing::Contains(HasSubstr("a fork of projects/default/ledgers/" + parent)));
  EXPECT_EQ(Fails({"ledger", "verify", "--self-signed", bundle_, "--delta", "1e-5"}, 1)
                .Text("error.reason"),
            "PARENT_MISSING");
  const double asked =
      Ok(OnServer({"epsilon", "--delta", "1e-5", "--ledger", name_})).Number("epsilon.upper");
  const JsonObject offline =
      Ok({"ledger", "verify", "--self-signed", bundle_, parent_bundle, "--delta", "1e-5"});
  EXPECT_EQ(offline.Number("answer.epsilon.upper"), asked);
  EXPECT_EQ(offline.Number("parents"), 1);
  const JsonObject live =
      Ok(OnServer({"ledger", "verify", "--self-signed", name_, "--delta", "1e-5"}));
  EXPECT_EQ(live.Number("answer.epsilon.upper"), asked);
}

TEST_F(Bundle, IsImportedAsASealedCopyOnce) {
  Make(700);
  Export();
  ServerProcess other;
  ASSERT_TRUE(other.running());
  const std::vector<std::string> import = {"ledger",   "import",        "--self-signed", bundle_,
                                           "--server", other.address(), "--as",          "copy"};
  const JsonObject made = Ok(import);
  EXPECT_EQ(made.Text("state"), "SEALED");
  // Import, 1401 copies, the writer's end and SEAL.
  EXPECT_EQ(made.Number("size"), 1404);
  EXPECT_EQ(Ok(import).Text("rootHash"), made.Text("rootHash"));
  // The copy is verified on its server: its original within it, and the same epsilon.
  const JsonObject copy = Ok({"ledger", "verify", "--self-signed", "copy", "--server",
                              other.address(), "--delta", "1e-5"});
  const JsonObject original = Ok({"ledger", "verify", "--self-signed", bundle_, "--delta", "1e-5"});
  EXPECT_EQ(copy.Number("answer.epsilon.upper"), original.Number("answer.epsilon.upper"));
  EXPECT_EQ(other.Stop(), 0);
}

// Killed after its first batch, if it was not faster.
TEST_F(Bundle, InterruptedImportGoesOn) {
  Make(3000);
  Export();
  ServerProcess other;
  ASSERT_TRUE(other.running());
  const std::vector<std::string> import = {"ledger",   "import",        "--self-signed", bundle_,
                                           "--server", other.address(), "--as",          "copy"};
  std::vector<std::string> program = {BinaryPath("dpledger")};
  program.insert(program.end(), import.begin(), import.end());
  const pid_t pid = StartProgram(program, folder_.File("import.log"));
  const std::vector<std::string> show = {"ledger",   "show",          "copy",
                                         "--server", other.address(), "--json"};
  while (true) {
    const RunResult shown = Dpledger(show);
    if (shown.exit_code == 0 && JsonObject(shown.out).Number("size") > 1) break;
  }
  StopProgram(pid, SIGKILL);
  const JsonObject made = Ok(import);
  EXPECT_EQ(made.Number("size"), 6004);
  EXPECT_EQ(made.Text("state"), "SEALED");
  EXPECT_EQ(
      Ok({"ledger", "verify", "--self-signed", "copy", "--server", other.address()}).Number("size"),
      6004);
  EXPECT_EQ(other.Stop(), 0);
}

TEST_F(Bundle, DamagedBundleIsNotImported) {
  Make(2);
  Export();
  ServerProcess other;
  const size_t entries = ReadAll(bundle_).rfind("tile/entries/000.p/5") + 512;
  Fails({"ledger", "import", Damaged(entries + 40), "--server", other.address()}, 3);
  EXPECT_THAT(Ok({"ledger", "list", "--server", other.address()}).Array("ledgers"), IsEmpty());
  EXPECT_EQ(other.Stop(), 0);
}

TEST_F(Bundle, FailedExportLeavesNoFile) {
  EXPECT_EQ(
      Fails(OnServer({"ledger", "export", "absent", "--output", bundle_}), 1).Text("error.code"),
      "NOT_FOUND");
  EXPECT_FALSE(std::filesystem::exists(bundle_));
  EXPECT_FALSE(std::filesystem::exists(bundle_ + ".partial"));
  Make(1);
  const std::string nowhere = folder_.File("nowhere/ledger.bundle");
  Fails(OnServer({"ledger", "export", name_, "--output", nowhere}), 1);
}

// "--output /dev/null" as root made a file of the machine's device, and a link was replaced.
TEST_F(Bundle, IsWrittenToWhatIsNoFileAndThroughLinks) {
  Make(1);
  const std::string real = folder_.File("real.bundle");
  folder_.Write("real.bundle", "before");
  std::filesystem::create_symlink(real, bundle_);
  Export();
  EXPECT_TRUE(std::filesystem::is_symlink(bundle_));
  // The registry may go on between two exports, and so they differ.
  const auto is_bundle = [](const std::string& bytes) {
    return bytes.starts_with("README") && bytes.size() % 512 == 0 && bytes.size() > 1024;
  };
  EXPECT_TRUE(is_bundle(ReadAll(real)));

  // Where a link leads there need be nothing yet.
  const std::string dangling = folder_.File("dangling"), target = folder_.File("target.bundle");
  std::filesystem::create_symlink("target.bundle", dangling);
  Ok(OnServer({"ledger", "export", name_, "--output", dangling}));
  EXPECT_TRUE(std::filesystem::is_symlink(dangling));
  EXPECT_TRUE(is_bundle(ReadAll(target)));
  const std::string lost = folder_.File("lost");
  std::filesystem::create_symlink("nowhere/target", lost);
  Fails(OnServer({"ledger", "export", name_, "--output", lost}), 1);
  EXPECT_TRUE(std::filesystem::is_symlink(lost));

  const std::string pipe = folder_.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = ReadAll(pipe); });
  Ok(OnServer({"ledger", "export", name_, "--output", pipe}));
  reader.join();
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(is_bundle(read));

  EXPECT_THAT(
      Fails(OnServer({"ledger", "export", name_, "--output", "-"}), 1).Text("error.message"),
      ::testing::StartsWith("--output: must be a file with --json"));
  const RunResult out = Dpledger(OnServer({"ledger", "export", name_, "--output", "-"}));
  EXPECT_EQ(out.exit_code, 0);
  EXPECT_TRUE(is_bundle(out.out));
  // Through a link to what has no name, as /dev/stdout is to a pipe.
  const RunResult linked =
      Dpledger(OnServer({"ledger", "export", name_, "--output", "/dev/stdout"}));
  EXPECT_EQ(linked.exit_code, 0) << linked.err;
  EXPECT_TRUE(is_bundle(linked.out));
  EXPECT_THAT(out.err, ::testing::HasSubstr("wrote"));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(Bundle, UsageErrors) {
  EXPECT_EQ(RunJson({"ledger", "verify"}).exit_code, 2);
  const RunResult no_key = RunJson({"ledger", "verify", "x", "--key", "not-a-key"});
  EXPECT_EQ(no_key.exit_code, 2);
  EXPECT_THAT(JsonObject(no_key.out).Text("error.message"),
              ::testing::StartsWith("--key: verifier key: must be "));
  EXPECT_EQ(RunJson({"ledger", "verify", "x", "--delta", "2"}).exit_code, 2);
  EXPECT_EQ(RunJson({"ledger", "verify", "x", "y", "--server", "127.0.0.1:1"}).exit_code, 2);
  EXPECT_EQ(RunJson({"ledger", "export", "x", "--server", "127.0.0.1:1"}).exit_code, 2);
  EXPECT_EQ(
      RunJson({"ledger", "export", "x", "--server", "127.0.0.1:1", "--output", "f"}).exit_code, 6);
}

}  // namespace
}  // namespace dpledger::testing
