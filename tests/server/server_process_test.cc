// The program itself: its flags, its signals, its port file, its log.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "merkle/ed25519.h"
#include "tests/cli/process.h"
#include "tests/events/field_rules.h"
#include "tests/front/certificates.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::server {
namespace {

using dpledger::testing::BinaryPath;
using dpledger::testing::RunProgram;
using dpledger::testing::RunResult;
using dpledger::testing::StartProgram;
using dpledger::testing::StopProgram;
using dpledger::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ServerProgram : public ::testing::Test {
 protected:
  ~ServerProgram() override {
    if (pid_ > 0) StopProgram(pid_, SIGKILL);
  }

  std::vector<std::string> Command(const std::vector<std::string>& flags) {
    std::vector<std::string> command = {BinaryPath("dpledger-server")};
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }

  // Starts the program on the test's store; returns its address. `limits` is shell code that its
  // process runs first.
  std::string Start(const std::string& limits = ":", const std::vector<std::string>& flags = {}) {
    std::vector<std::string> command =
        Command({"--listen", "127.0.0.1:0", "--port-file", folder_.File("port"), "--store",
                 folder_.File("deep/er/store")});
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.begin(), {"/bin/sh", "-c", limits + "; exec \"$@\"", "sh"});
    pid_ = StartProgram(command, folder_.File("log"));
    std::string address;
    int status = 0;
    while (!(std::ifstream(folder_.File("port")) >> address)) {
      if (waitpid(pid_, &status, WNOHANG) != 0) {
        pid_ = 0;
        ADD_FAILURE() << Slurp(folder_.File("log"));
        return "";
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return address;
  }

  // Waits for the program to end by itself; its exit code.
  int AwaitExit() {
    int status = 0;
    EXPECT_GT(waitpid(std::exchange(pid_, 0), &status, 0), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int Stop(int signal) { return StopProgram(std::exchange(pid_, 0), signal); }

  static std::unique_ptr<v1::LedgerService::Stub> Connect(const std::string& address) {
    return v1::LedgerService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }

  TemporaryFolder folder_;
  pid_t pid_ = 0;
};

// Entries name units and callers; and the folder beside holds tokens and the signing key.
TEST_F(ServerProgram, StoreIsItsOwnersAlone) {
  using std::filesystem::perms;
  const auto rights = [this](const char* place) {
    return std::filesystem::status(folder_.File(place)).permissions();
  };
  Start("umask 022");
  EXPECT_EQ(rights("deep/er/store"), perms::owner_all);
  EXPECT_EQ(Stop(SIGTERM), 0);
  // One that somebody has made for it stays as they made it.
  std::filesystem::permissions(folder_.File("deep/er/store"), perms(0750));
  Start();
  EXPECT_EQ(rights("deep/er/store"), perms(0750));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServerProgram, SigtermDrainsStreamsAndKeepsWhatWasAcknowledged) {
  const std::string address = Start();
  {
    const auto stub = Connect(address);
    grpc::ClientContext create_context;
    v1::Ledger ledger;
    ASSERT_TRUE(stub->CreateLedger(&create_context, CreateRequest(kLedger), &ledger).ok());
    grpc::ClientContext context;
    const auto stream = stub->Append(&context);
    v1::AppendRequest request;
    *request.mutable_batch() = RoundBatch(kLedger, "w", "r1", 1);
    ASSERT_TRUE(stream->Write(request));
    v1::AppendResponse response;
    ASSERT_TRUE(stream->Read(&response));
    // The stream is still open: the server ends it.
    ASSERT_EQ(kill(pid_, SIGTERM), 0);
    ASSERT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_EQ(AwaitExit(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("port")));
  EXPECT_THAT(
      Slurp(folder_.File("log")),
      AllOf(HasSubstr("\"event\":\"starting\""), HasSubstr("fsync before every acknowledgement"),
            HasSubstr(folder_.File("deep/er/store")),
            HasSubstr("\"event\":\"serving\",\"address\":\"" + address),
            HasSubstr("\"event\":\"draining\",\"signal\":\"SIGTERM\""),
            HasSubstr("\"event\":\"stopped\"")));

  const auto stub = Connect(Start());
  grpc::ClientContext context;
  v1::GetLedgerRequest get;
  get.set_name(kLedger);
  v1::Ledger ledger;
  ASSERT_TRUE(stub->GetLedger(&context, get, &ledger).ok());
  EXPECT_EQ(ledger.size(), 3u);
  EXPECT_EQ(Stop(SIGINT), 0);
}

// A terminal that was closed, or an init system's "reload": it must not end in the middle.
TEST_F(ServerProgram, SighupDrainsIt) {
  Start();
  EXPECT_EQ(Stop(SIGHUP), 0);
  EXPECT_THAT(Slurp(folder_.File("log")),
              AllOf(HasSubstr("\"event\":\"draining\",\"signal\":\"SIGHUP\""),
                    HasSubstr("\"event\":\"stopped\"")));
}

// Clients whose certificates were taken back, or that should move to another server, come anew.
TEST_F(ServerProgram, ConnectionsHaveAGreatestAge) {
  const auto leaves_within = [](const std::string& address, std::chrono::milliseconds most) {
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    EXPECT_TRUE(
        channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
    return channel->WaitForStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now() + most);
  };
  EXPECT_TRUE(
      leaves_within(Start(":", {"--max-connection-age-seconds", "0.5"}), std::chrono::seconds(20)));
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_FALSE(leaves_within(Start(), std::chrono::milliseconds(1500)));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServerProgram, EncryptedTlsKeyIsRefusedWithoutAPrompt) {
  const Credential own = TestAuthority("ours").Issue("DNS:localhost");
  const std::string certificate = folder_.Write("certificate.pem", own.certificate);
  const std::string key = folder_.Write("key.pem", Encrypted(own.key, "SECRET"));
  ASSERT_EQ(chmod(key.c_str(), 0600), 0);
  const RunResult refused =
      RunProgram(Command({"--listen", "127.0.0.1:0", "--store", folder_.File("store"), "--cert",
                          certificate, "--cert-key", key}));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("must not be encrypted"));
  EXPECT_THAT(refused.err + refused.out, Not(HasSubstr("pass phrase")));
}

// What comes to a socket that stands for a proxy; empty: nothing in that time.
std::string HeardBy(int listener, int milliseconds) {
  pollfd waiting = {listener, POLLIN, 0};
  if (poll(&waiting, 1, milliseconds) != 1) return "";
  const int caller = accept(listener, nullptr, nullptr);
  char text[256] = {};
  const ssize_t size = read(caller, text, sizeof(text));
  close(caller);
  return std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
}

TEST_F(ServerProgram, NoProxyStandsBeforeThisMachinesOwnAddresses) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string proxy = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const auto list = [&](const std::string& server) {
    return RunProgram({BinaryPath("dpledger"), "ledger", "list", "--server", server},
                      {{"http_proxy", proxy}, {"grpc_proxy", proxy}, {"https_proxy", proxy}});
  };
  const std::string server = Start();
  const RunResult listed = list(server);
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(HeardBy(listener, 0), "");
  // The control: another machine's is asked for there.
  std::string heard;
  std::thread away([&] { heard = HeardBy(listener, 20'000); });
  EXPECT_NE(list("http://192.0.2.1:7070").exit_code, 0);
  away.join();
  EXPECT_THAT(heard, HasSubstr("CONNECT 192.0.2.1:7070"));
  close(listener);
  EXPECT_EQ(Stop(SIGTERM), 0);
}

// A limit on the size of files stands for a disk that fails.
TEST_F(ServerProgram, ErrorOfTheDiskEndsItAndLosesNothingAcknowledged) {
  uint64_t acknowledged = 0;
  {
    const auto stub = Connect(Start("trap '' XFSZ; ulimit -f 400"));
    grpc::ClientContext create_context;
    v1::Ledger ledger;
    ASSERT_TRUE(stub->CreateLedger(&create_context, CreateRequest(kLedger), &ledger).ok());
    grpc::Status status;
    for (uint64_t round = 1; status.ok(); ++round) {
      v1::AppendBatchRequest batch = Batch(kLedger, "w", std::to_string(round));
      AddNote(batch, std::string(4000, 'x'));
      grpc::ClientContext context;
      v1::AppendBatchResponse response;
      status = stub->AppendBatch(&context, batch, &response);
      if (status.ok()) acknowledged = response.receipt().size();
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("acknowledges nothing more"));
  }
  EXPECT_GT(acknowledged, 10u);
  EXPECT_EQ(AwaitExit(), 1);
  EXPECT_THAT(Slurp(folder_.File("log")),
              AllOf(HasSubstr("\"level\":\"error\",\"event\":\"store_failed\""),
                    HasSubstr("\"event\":\"stopped\"")));

  const auto stub = Connect(Start());
  grpc::ClientContext context;
  v1::GetLedgerRequest get;
  get.set_name(kLedger);
  v1::Ledger ledger;
  ASSERT_TRUE(stub->GetLedger(&context, get, &ledger).ok());
  EXPECT_GE(ledger.size(), acknowledged);
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServerProgram, SaysThatOneSnapshotWouldTakeBackStoreAndSecondPlace) {
  Start();
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_THAT(Slurp(folder_.File("log")), AllOf(HasSubstr("\"event\":\"places_share_a_volume\""),
                                                HasSubstr("\"signing_key_too\":true")));
  struct stat here = {}, memory = {};
  if (stat(folder_.File("log").c_str(), &here) != 0 || stat("/dev/shm", &memory) != 0 ||
      here.st_dev == memory.st_dev) {
    GTEST_SKIP() << "there is no other volume";
  }
  char elsewhere[] = "/dev/shm/dpledger-places-XXXXXX";
  ASSERT_NE(mkdtemp(elsewhere), nullptr);
  std::filesystem::remove(folder_.File("log"));
  std::filesystem::copy(folder_.File("deep/er/store.checkpoint"),
                        std::string(elsewhere) + "/checkpoint");
  Start(":", {"--checkpoint-copy", std::string(elsewhere) + "/checkpoint"});
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_THAT(Slurp(folder_.File("log")), Not(HasSubstr("places_share_a_volume")));
  std::filesystem::remove_all(elsewhere);
}

// Counted by the allocator that the program is linked with.
TEST_F(ServerProgram, QuestionThatTakesTooMuchMemoryEnds) {
  const auto question = accountant::FromText<v1::ComputeEpsilonRequest>(
      "subject { events { rounds { scheme { poisson { probability: 0.01 } } queries { "
      "l2_norm_bound: 1 noise_stddev: 1 } count: 100000 } } } delta: 1e-6 options { method: PLD }");
  const auto ask = [&](const std::vector<std::string>& flags) {
    const auto stub = v1::AccountingService::NewStub(
        grpc::CreateChannel(Start(":", flags), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::ComputeEpsilonResponse answer;
    const grpc::Status status = stub->ComputeEpsilon(&context, question, &answer);
    Stop(SIGTERM);
    return status;
  };
  EXPECT_TRUE(ask({}).ok());
  const grpc::Status refused = ask({"--max-question-mebibytes", "1"});
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("more memory than one question may"));
}

TEST_F(ServerProgram, SecondServerOnTheSameStoreIsRefused) {
  Start();
  const RunResult second =
      RunProgram(Command({"--listen", "127.0.0.1:0", "--store", folder_.File("deep/er/store")}));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another server has this store open"));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServerProgram, SecondServerOnTheSamePortIsRefused) {
  const std::string address = Start();
  const RunResult second =
      RunProgram(Command({"--listen", address, "--store", folder_.File("another")}));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("cannot listen on " + address));
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(ServerProgram, CheckTellsWhetherItServes) {
  const std::string address = Start();
  const RunResult serving = RunProgram(Command({"--check", address}));
  EXPECT_EQ(serving.exit_code, 0);
  EXPECT_THAT(serving.err, HasSubstr("SERVING"));
  EXPECT_EQ(Stop(SIGTERM), 0);
  EXPECT_EQ(RunProgram(Command({"--check", address})).exit_code, 1);
}

TEST_F(ServerProgram, WrongFlagsExitWithTwo) {
  const struct {
    std::vector<std::string> flags;
    std::string message;
  } cases[] = {
      {{"--nonsense"}, "--nonsense"},
      {{"--listen", "7070"}, "must be HOST:PORT"},
      {{"--listen", "127.0.0.1:65536"}, "must be HOST:PORT"},
      {{"--listen", "::1:7070"}, "must be HOST:PORT"},
      {{"--listen", "0.0.0.0:0"}, "--insecure-listen-anywhere"},
      {{"--listen", "[::]:0"}, "--insecure-listen-anywhere"},
      {{"--listen", "127.0.0.1.example.org:0"}, "--insecure-listen-anywhere"},
      {{"--max-message-bytes", "0"}, "--max-message-bytes"},
      {{"--query-timeout-seconds", "0"}, "--query-timeout-seconds"},
      {{"--query-threads", "0"}, "--query-threads"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--config", folder_.File("none")}, "none"},
      {{"--config", folder_.Write("bad", "lisen = \"127.0.0.1:0\"\n")}, "--config: no flag lisen"},
      // What "$UNSET" leaves of a flag: a server without its list of revoked certificates, say.
      {{"--client-crl", ""}, "--client-crl: must not be empty"},
      {{"--store", ""}, "--store: must not be empty"},
      {{"--check", ""}, "--check: must not be empty"},
      {{"--http-host", "a", "--http-host", ""}, "--http-host: must not be empty"},
      {{"--config", ""}, "--config: must not be empty"},
      {{"--config", folder_.Write("empty", "policy = \"\"\n")}, "--policy: must not be empty"},
      {{"--http-files", "", "--log-level", "loud"}, "--log-level"},  // "": no page
      {{"--config", folder_.Write("open", "# ours\nstore = \"led\n")},
       "line 2: must be FLAG = VALUE"},
      {{"--config", folder_.Write("bare", "store\n")}, "line 1: must be FLAG = VALUE"},
      {{"--config", folder_.Write("section", "[http]\n")}, "line 1: must be FLAG = VALUE"},
      {{"--http-origin", "https://page.example/"}, "--http-origin: must be as browsers send it"},
      {{"--http-origin", "*"}, "--http-origin: must be as browsers send it"},
      {{"--http-host", "https://ledger.example"}, "--http-host: must be a name"},
      {{"--http-host", "ledger.example:7070"}, "--http-host: must be a name"},
      {{"--http-prefix", "/a/../b/"}, "without the parts . and .."},
      {{"fsck", "--store", folder_.path(), "--checkpoint-copy", folder_.File("typo")}, "typo"},
  };
  for (const auto& wrong : cases) {
    const RunResult result = RunProgram(Command(wrong.flags));
    EXPECT_EQ(result.exit_code, 2) << wrong.flags[0];
    EXPECT_THAT(result.err, HasSubstr(wrong.message));
  }
}

// A line of the log in a file of the store would be the end of it.
TEST_F(ServerProgram, WritesNoMessageIntoAFileWhereItsOutputIsClosed) {
  const std::string store = folder_.File("closed"), port = folder_.File("closed-port");
  const std::string script = BinaryPath("dpledger-server") + " --listen 127.0.0.1:0 --store " +
                             store + " --port-file " + port + " <&- >&- 2>&- & server=$!; " +
                             "for i in $(seq 200); do [ -s " + port +
                             " ] && break; sleep .05; done; " +
                             "kill $server; wait $server; grep -rl '\"event\"' " + store;
  const RunResult result = RunProgram({"/bin/sh", "-c", script});
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(std::filesystem::is_empty(store));
}

TEST_F(ServerProgram, KeepsAConnectionStringOutOfItsLog) {
  const RunResult result =
      RunProgram({BinaryPath("dpledger-server"), "--postgres", "host=db1 password=S3CRET",
                  "--signing-key", folder_.File("k"), "--checkpoint-copy", folder_.File("c")});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("postgres: must be the path of a file"));
  EXPECT_THAT(result.err, Not(HasSubstr("S3CRET")));
}

TEST_F(ServerProgram, ConfigFileSetsFlags) {
  const std::string config = folder_.Write(
      "config", "\xEF\xBB\xBFlisten = \"0.0.0.0:0\"\nstore = \"" + folder_.File("store") + "\"\n");
  EXPECT_THAT(RunProgram(Command({"--config", config})).err, HasSubstr("0.0.0.0:0 can be reached"));
}

TEST_F(ServerProgram, HelpLeadsWithExamples) {
  const RunResult help = RunProgram(Command({"--help"}));
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_LT(help.out.find("Examples:"), help.out.find("--listen"));
}

TEST_F(ServerProgram, StoreThatCannotBeMadeIsAClearFailure) {
  const std::string file = folder_.Write("file", "");
  const RunResult result =
      RunProgram(Command({"--listen", "127.0.0.1:0", "--store", file + "/store"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("\"event\":\"start_failed\""));
  EXPECT_THAT(result.err, HasSubstr("Not a directory"));
}

// ---- What lies beside the store: docs/operating.md, "Keys and the second place" ----

class SignedProgram : public ServerProgram {
 protected:
  // Makes a ledger on a new store, and ends the server.
  void MakeStore() {
    const auto stub = Connect(Start());
    grpc::ClientContext context;
    v1::Ledger ledger;
    ASSERT_TRUE(stub->CreateLedger(&context, CreateRequest(kLedger), &ledger).ok());
    EXPECT_EQ(Stop(SIGTERM), 0);
  }
  // Starts it on that store, where it must end at once.
  std::string Refused(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> command = {"--listen", "127.0.0.1:0", "--store", Beside("")};
    command.insert(command.end(), flags.begin(), flags.end());
    const RunResult result = RunProgram(Command(command));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, AnyOf(HasSubstr("\"level\":\"error\",\"event\":\"start_failed\""),
                                  HasSubstr("\"level\":\"error\",\"event\":\"store_failed\"")));
    return result.err;
  }
  std::string Beside(const std::string& suffix) { return folder_.File("deep/er/store" + suffix); }
};

TEST_F(SignedProgram, AnotherStoresKeyIsSaidToBeThatAndNotDamage) {
  MakeStore();
  const auto other = merkle::Ed25519PrivateKey::Generate();
  ASSERT_TRUE(other.ok());
  const std::string wrong = folder_.Write("wrong-key", other->ToPem());
  chmod(wrong.c_str(), 0600);
  const std::string refused = Refused({"--signing-key", wrong});
  EXPECT_THAT(refused, HasSubstr("this store's registry is signed with"));
  EXPECT_THAT(refused, HasSubstr("give the file of that key"));
  EXPECT_THAT(refused, Not(HasSubstr("DATA_LOSS")));
  // With its own it goes on as if nothing had been.
  Start();
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(SignedProgram, MakesItsKeyOnceAndNeverSaysIt) {
  MakeStore();
  const std::string log = Slurp(folder_.File("log"));
  EXPECT_THAT(log, HasSubstr("\"event\":\"signing_key_made\""));
  EXPECT_THAT(log, HasSubstr("back this file up"));
  std::istringstream lines(Slurp(Beside(".signing-key")));
  std::string head, secret;
  ASSERT_TRUE(std::getline(lines, head) && std::getline(lines, secret));
  EXPECT_EQ(head, "-----BEGIN PRIVATE KEY-----");
  EXPECT_EQ(log.find(secret), std::string::npos);
  EXPECT_NE(Slurp(Beside(".checkpoint")), "");
  std::filesystem::remove(folder_.File("log"));
  Start();
  EXPECT_EQ(Slurp(folder_.File("log")).find("signing_key_made"), std::string::npos);
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(SignedProgram, MissingKeyIsNotReplaced) {
  MakeStore();
  std::filesystem::rename(Beside(".signing-key"), Beside(".kept"));
  EXPECT_THAT(Refused(), HasSubstr("put the key back from its backup"));
  EXPECT_FALSE(std::filesystem::exists(Beside(".signing-key")));
  EXPECT_THAT(Refused({"--previous-signing-key", Beside(".kept")}),
              HasSubstr("put the key back from its backup"));
  std::filesystem::rename(Beside(".kept"), Beside(".signing-key"));
  Start();
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(SignedProgram, KeyThatOthersMayReadIsRefused) {
  MakeStore();
  std::filesystem::permissions(Beside(".signing-key"), std::filesystem::perms(0640));
  EXPECT_THAT(Refused(), HasSubstr("group or others may use the secret; say chmod 600"));
}

TEST_F(SignedProgram, StoreThatIsGoneIsNotBegunAnew) {
  MakeStore();
  std::filesystem::rename(Beside(""), Beside(".gone"));
  EXPECT_THAT(Refused(), AllOf(HasSubstr("\"code\":\"DATA_LOSS\""),
                               HasSubstr("the store holds less than what was signed of it"),
                               HasSubstr("dpledger-server recover")));
  std::filesystem::remove_all(Beside(""));
  std::filesystem::remove(Beside(".signing-key"));
  EXPECT_THAT(Refused(), HasSubstr("the store holds less than what was signed of it"));
  EXPECT_FALSE(std::filesystem::exists(Beside(".signing-key")));
  std::filesystem::remove(Beside(".checkpoint"));
  std::filesystem::remove(Beside(".checkpoint.previous"));
  Start();
  EXPECT_EQ(Stop(SIGTERM), 0);
}

TEST_F(SignedProgram, KeyIsChangedByFlagAndOriginIsKept) {
  MakeStore();
  const std::string old_key = Beside(".old-key");
  std::filesystem::rename(Beside(".signing-key"), old_key);
  const std::string elsewhere = folder_.File("elsewhere");
  pid_ = StartProgram(Command({"--listen", "127.0.0.1:0", "--store", elsewhere, "--port-file",
                               folder_.File("other-port")}),
                      folder_.File("other-log"));
  while (Slurp(folder_.File("other-port")).empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Stop(SIGTERM), 0);
  std::filesystem::rename(elsewhere + ".signing-key", Beside(".signing-key"));
  EXPECT_THAT(Refused(), HasSubstr("to change keys, give that file as --previous-signing-key"));
  EXPECT_THAT(Refused({"--previous-signing-key", old_key, "--log-origin", "other"}),
              HasSubstr("that name cannot change"));
  Connect(Start(":", {"--previous-signing-key", old_key}));
  EXPECT_THAT(Slurp(folder_.File("log")), HasSubstr("\"keys\":2"));
  EXPECT_EQ(Stop(SIGTERM), 0);
  Start();
  EXPECT_EQ(Stop(SIGTERM), 0);
}

}  // namespace
}  // namespace dpledger::server
