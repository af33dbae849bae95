// The witness as users run it: over HTTP, killed between and during requests, and misused.
#include "tests/witness/witness_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "merkle/text_lines.h"
#include "tests/witness/signed_log.h"
#include "witness/state_folder.h"

namespace dpledger::witness {
namespace {

using ::dpledger::testing::HttpAnswer;
using ::dpledger::testing::HttpGet;
using ::dpledger::testing::HttpPost;
using ::dpledger::testing::RunProgram;
using ::dpledger::testing::RunResult;
using ::dpledger::testing::SendRaw;
using ::dpledger::testing::TemporaryFolder;
using ::dpledger::testing::WitnessProcess;
using ::testing::HasSubstr;

constexpr char kOrigin[] = "example.com/log";

class WitnessProgram : public ::testing::Test {
 protected:
  SignedLog log_{kOrigin};
  SignedLog fork_{kOrigin, 5};
};

TEST_F(WitnessProgram, CosignsOverHttp) {
  const WitnessProcess witness({log_.key()});
  const absl::Time before = absl::Now();
  const HttpAnswer answer = witness.AddCheckpoint(log_.Request(0, 7));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const merkle::Note note{log_.Checkpoint(7).text,
                          merkle::ParseSignatureLines(answer.body).value()};
  const std::vector<merkle::VerifierKey> known = {
      merkle::VerifierKey::Parse(witness.VerifierKey()).value()};
  EXPECT_EQ(known[0].name, WitnessProcess::kName);
  const auto signed_by = merkle::VerifyNote(note, known);
  ASSERT_TRUE(signed_by.ok()) << signed_by.status();
  const auto time = static_cast<int64_t>(signed_by->at(0).unix_seconds.value());
  EXPECT_GE(time, absl::ToUnixSeconds(before));
  EXPECT_LE(time, absl::ToUnixSeconds(absl::Now()));

  const HttpAnswer conflict = witness.AddCheckpoint(log_.Request(0, 9));
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.content_type, "text/x.tlog.size");
  EXPECT_EQ(conflict.body, "7\n");
  EXPECT_EQ(witness.AddCheckpoint(fork_.Request(7, 9)).status, 422);
  // What is refused is kept as evidence, where the operator looks.
  EXPECT_THAT(witness.Log(), HasSubstr("\"event\":\"refused\",\"status\":422"));
  EXPECT_THAT(witness.Log(), HasSubstr(merkle::HashToBase64(fork_.Root(9))));

  const HttpAnswer latest =
      HttpGet(witness.address(), absl::StrCat("/", OriginHash(kOrigin), "/checkpoint"));
  ASSERT_EQ(latest.status, 200);
  EXPECT_EQ(merkle::Note::Parse(latest.body)->text, log_.Checkpoint(7).text);
}

TEST_F(WitnessProgram, RefusesWhatIsNoRequest) {
  const WitnessProcess witness({log_.key()});
  const std::string& at = witness.address();
  EXPECT_EQ(HttpGet(at, "/").status, 404);
  EXPECT_EQ(HttpGet(at, "/checkpoint").status, 404);
  EXPECT_EQ(HttpGet(at, "/../state/checkpoint").status, 400);
  EXPECT_EQ(HttpGet(at, "/add-checkpoint").status, 405);
  EXPECT_EQ(HttpPost(at, absl::StrCat("/", OriginHash(kOrigin), "/checkpoint"), "").status, 405);
  EXPECT_EQ(HttpPost(at, "/add-checkpoint", "").status, 400);
  EXPECT_EQ(
      HttpPost(at, "/add-checkpoint", std::string(merkle::kMaxWitnessRequestBytes, 'a')).status,
      400);
  EXPECT_EQ(
      HttpPost(at, "/add-checkpoint", std::string(merkle::kMaxWitnessRequestBytes + 1, 'a')).status,
      413);
  EXPECT_EQ(
      SendRaw(at,
              "POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n")
          .status,
      413);
  EXPECT_EQ(
      SendRaw(at, absl::StrCat("GET / HTTP/1.1\r\nX: ", std::string(9000, 'x'), "\r\n\r\n")).status,
      431);
  EXPECT_EQ(SendRaw(at, "not http\r\n\r\n").status, 400);
  EXPECT_EQ(
      SendRaw(at, "POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n").status,
      400);
  EXPECT_EQ(SendRaw(at, "GET / HTTP/1.1\r\n").status, 0);  // and then nothing
  EXPECT_EQ(witness.AddCheckpoint(log_.Request(0, 7)).status, 200);
}

TEST_F(WitnessProgram, OutlivesBytesOfAnyKind) {
  const WitnessProcess witness({log_.key()});
  const std::string body = log_.Request(0, 7);
  const std::string valid = absl::StrCat("POST /add-checkpoint HTTP/1.1\r\nHost: x\r\n",
                                         "Content-Length: ", body.size(), "\r\n\r\n", body);
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    std::string bytes = valid;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(bytes.size() - random() % 2 * (random() % bytes.size()));
    SendRaw(witness.address(), bytes);
  }
  // Some of these may have been whole: it cosigns from where it stands.
  const HttpAnswer answer = witness.AddCheckpoint(log_.Request(0, 7));
  EXPECT_THAT(answer.status, ::testing::AnyOf(200, 409));
  EXPECT_EQ(witness.AddCheckpoint(log_.Request(7, 9)).status, 200) << witness.Log();
}

// What no limit on headers and bodies counts: it would be kept until the memory is full.
TEST_F(WitnessProgram, RefusesEndlessChunkExtensionsAndTrailers) {
  const WitnessProcess witness({log_.key()});
  const std::string chunked =
      "POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string endless(size_t{65} << 10, 'x');
  EXPECT_EQ(SendRaw(witness.address(), chunked + "5;a=" + endless).status, 413);
  EXPECT_EQ(SendRaw(witness.address(), chunked + "0\r\nA: " + endless).status, 413);
  // The same in little is a request.
  const std::string body = log_.Request(0, 7);
  EXPECT_EQ(SendRaw(witness.address(), absl::StrCat(chunked, absl::Hex(body.size()), ";a=x\r\n",
                                                    body, "\r\n0\r\nA: x\r\n\r\n"))
                .status,
            200);
}

TEST_F(WitnessProgram, KnowsAfterKillsWhatItCosigned) {
  WitnessProcess witness({log_.key()});
  uint64_t size = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(witness.AddCheckpoint(log_.Request(size, size + 3)).status, 200);
    size += 3;
    witness.Stop(SIGKILL);
    witness.Start();
    if (size > 5) {
      EXPECT_EQ(witness.AddCheckpoint(fork_.Request(size, size + 1)).status, 422);
    }
    EXPECT_EQ(witness.AddCheckpoint(log_.Request(size + 1, size + 2)).body,
              absl::StrCat(size, "\n"));
  }
}

TEST_F(WitnessProgram, NeverForgetsACosignatureWhenKilledUnderLoad) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  WitnessProcess witness({log_.key()});
  std::atomic<uint64_t> cosigned = 0;  // what an answer has told
  for (int kills = 0; kills < 10; ++kills) {
    std::atomic<bool> killed = false;
    std::thread load([&] {
      for (uint64_t size = cosigned; !killed; ++size) {
        const HttpAnswer answer = witness.AddCheckpoint(log_.Request(size, size + 1));
        if (answer.status == 200) cosigned = size + 1;
        // Cosigned before the kill, and the answer was lost.
        if (answer.status == 409) cosigned = size + 1;
        if (answer.status == 0) return;
      }
    });
    const uint64_t enough = cosigned + 1 + random() % 20;
    while (cosigned < enough) std::this_thread::yield();
    const uint64_t told = cosigned;
    witness.Stop(SIGKILL);
    killed = true;
    load.join();
    witness.Start();
    uint64_t known = 0;
    const HttpAnswer conflict = witness.AddCheckpoint(log_.Request(900, 901));
    ASSERT_EQ(conflict.status, 409);
    known = std::stoull(conflict.body);
    EXPECT_GE(known, told);
    EXPECT_LE(known, cosigned + 1);
    cosigned = known;
  }
}

TEST_F(WitnessProgram, LetsOneOfTwoRacingHistoriesWin) {
  const WitnessProcess witness({log_.key()});
  ASSERT_EQ(witness.AddCheckpoint(log_.Request(0, 5)).status, 200);
  std::vector<int> statuses(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const std::string body = (i % 2 == 0 ? log_ : fork_).Request(5, 6 + i);
    threads.emplace_back(
        [&statuses, &witness, i, body] { statuses[i] = witness.AddCheckpoint(body).status; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 200), 1);
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 409), 7);
}

TEST_F(WitnessProgram, ClosesMoreConnectionsThanItTakes) {
  const WitnessProcess witness({log_.key()}, {"--max-connections", "2"});
  boost::asio::io_context io;
  const size_t colon = witness.address().rfind(':');
  const boost::asio::ip::tcp::endpoint endpoint(
      boost::asio::ip::make_address(witness.address().substr(0, colon)),
      static_cast<uint16_t>(std::stoi(witness.address().substr(colon + 1))));
  {
    boost::asio::ip::tcp::socket first(io), second(io);
    first.connect(endpoint);
    second.connect(endpoint);
    EXPECT_EQ(witness.AddCheckpoint(log_.Request(0, 7)).status, 0);
    EXPECT_THAT(witness.Log(), HasSubstr("too_many_connections"));
  }
  // Once it has seen that these are gone.
  int status = 0;
  while ((status = witness.AddCheckpoint(log_.Request(0, 7)).status) == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(status, 200);
}

TEST_F(WitnessProgram, EndsCleanlyOnASignal) {
  WitnessProcess witness({log_.key()});
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EQ(witness.AddCheckpoint(log_.Request(0, 7)).status, signal == SIGTERM ? 200 : 409);
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket idle(io);  // must not hold it up
    const size_t colon = witness.address().rfind(':');
    idle.connect({boost::asio::ip::make_address(witness.address().substr(0, colon)),
                  static_cast<uint16_t>(std::stoi(witness.address().substr(colon + 1)))});
    EXPECT_EQ(witness.Stop(signal), 0);
    EXPECT_THAT(witness.Log(), HasSubstr("\"event\":\"stopped\""));
    EXPECT_FALSE(std::filesystem::exists(witness.File("port")));
    witness.Start();
  }
}

TEST_F(WitnessProgram, IsAloneInItsFolder) {
  const WitnessProcess witness({log_.key()});
  std::vector<std::string> command = witness.Command();
  command[2] = "127.0.0.1:0";
  const RunResult second = RunProgram(command);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("is held by another witness"));
}

TEST_F(WitnessProgram, KeepsItsKeyToItself) {
  WitnessProcess witness({log_.key()});
  const std::string key_file = witness.File("key.pem");
  struct stat status;
  ASSERT_EQ(stat(key_file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string key = witness.VerifierKey();
  EXPECT_EQ(witness.VerifierKey(), key);
  EXPECT_THAT(witness.Log(), HasSubstr(key));
  EXPECT_EQ(witness.Stop(SIGTERM), 0);
  ASSERT_EQ(chmod(key_file.c_str(), 0640), 0);
  const RunResult exposed = RunProgram(witness.Command());
  EXPECT_EQ(exposed.exit_code, 1);
  EXPECT_THAT(exposed.err, HasSubstr("group or others may use the secret"));
  ASSERT_EQ(chmod(key_file.c_str(), 0600), 0);
  witness.Start();
}

TEST(WitnessFlags, TellsWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string key = SignedLog(kOrigin).key().ToText();
  const auto run = [&](std::vector<std::string> flags) {
    std::vector<std::string> command = {testing::BinaryPath("dpledger-witness"), "--signing-key",
                                        folder.File("key.pem"), "--state", folder.File("state")};
    command.insert(command.end(), flags.begin(), flags.end());
    return RunProgram(command);
  };
  const auto expect = [&](const std::vector<std::string>& flags, int exit_code,
                          const std::string& message) {
    const RunResult result = run(flags);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  expect({"--log-key", key}, 2, "--name is required");
  expect({"--name", "w"}, 2, "--log-key: must name at least one log");
  expect({"--name", "w", "--log-key", "x"}, 2, "--log-key: verifier key");
  const std::string only = "--consistency-only";
  expect({"--name", "w", "--log-key", key}, 2, "--log-server: must be given for");
  expect({"--name", "w", "--log-key", key, "--log-server", "127.0.0.1:1"}, 2, "ORIGIN=HOST:PORT");
  expect({"--name", "w", "--log-key", key, "--log-server", "other=127.0.0.1:1"}, 2,
         "where ORIGIN is the name of a --log-key");
  expect({"--name", "w", "--log-key", key, "--log-key", key, only}, 1, "is given twice");
  expect({"--name", "a b", "--log-key", key, only}, 1, "name: must be UTF-8");
  expect({"--name", "w", "--log-key", key, only, "--listen", "here"}, 1, "listen: must be IP:PORT");
  expect({"--name", "w", "--log-key", key, only, "--listen", "127.0.0.1:70000"}, 1,
         "listen: must be IP:PORT");
  expect({"--name", "w", "--log-key", key, only, "--listen", "192.0.2.1:0"}, 1,
         "listen 192.0.2.1:0: ");
}

}  // namespace
}  // namespace dpledger::witness
