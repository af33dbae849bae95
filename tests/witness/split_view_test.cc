// One key and two histories, as real processes: the witness cosigns the one that it saw first, and
// the other's server says so. And a witness that is away holds nobody up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "connection/connection.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "tests/witness/witness_process.h"
#include "witness/state_folder.h"

namespace dpledger::witness {
namespace {

namespace fs = std::filesystem;
using ::dpledger::testing::BinaryPath;
using ::dpledger::testing::RunProgram;
using ::dpledger::testing::StartProgram;
using ::dpledger::testing::StopProgram;
using ::dpledger::testing::TemporaryFolder;
using ::dpledger::testing::WitnessProcess;
using ::testing::HasSubstr;

constexpr char kLedger[] = "projects/default/ledgers/adult";

// A server on files that outlive it, asked over gRPC.
class Server {
 public:
  Server(const std::string& files, std::vector<std::string> flags,
         const std::string& listen = "127.0.0.1:0")
      : files_(files) {
    fs::create_directories(files);
    const std::string port_file = files + "/port";
    std::vector<std::string> command = {BinaryPath("dpledger-server"),
                                        "--listen",
                                        listen,
                                        "--port-file",
                                        port_file,
                                        "--store",
                                        files + "/store",
                                        "--checkpoint-seconds",
                                        "0.1"};
    command.insert(command.end(), flags.begin(), flags.end());
    pid_ = StartProgram(command, files + "/log");
    std::string address;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0 &&
           !std::getline(std::ifstream(port_file), address)) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    EXPECT_FALSE(address.empty()) << Log();
    const auto channel = connection::Connect(address).value();
    ledgers_ = v1::LedgerService::NewStub(channel);
    audits_ = v1::AuditService::NewStub(channel);
  }
  ~Server() { EXPECT_EQ(StopProgram(pid_, SIGTERM), 0) << Log(); }

  std::string Log() const {
    std::ostringstream log;
    log << std::ifstream(files_ + "/log").rdbuf();
    return log.str();
  }
  void Create() {
    v1::CreateLedgerRequest request;
    request.set_name(kLedger);
    request.set_request_id("create");
    request.mutable_declaration()->set_dataset("adult");
    request.mutable_declaration()->set_unit_of_privacy("example");
    request.mutable_declaration()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
    request.mutable_declaration()->set_parameters(v1::FIXED);
    grpc::ClientContext context;
    v1::Ledger ledger;
    const grpc::Status status = ledgers_->CreateLedger(&context, request, &ledger);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Appends a note and has it signed; the registry's checkpoint after it.
  merkle::Note Append(const std::string& text) {
    v1::AppendBatchRequest request;
    request.set_ledger(kLedger);
    request.set_writer("writer");
    request.set_request_id(absl::StrReplaceAll(text, {{" ", "-"}}));
    request.add_entries()->mutable_note()->set_text(text);
    grpc::ClientContext context;
    v1::AppendBatchResponse response;
    const grpc::Status status = ledgers_->AppendBatch(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Checkpoint(kLedger, response.receipt().size());
    return Registry();
  }
  merkle::Note Registry() { return merkle::Note::Parse(Checkpoint("", 0).note()).value(); }
  merkle::VerifierKey Key() {
    return merkle::VerifierKey::Parse(*Checkpoint("", 0).verifier_keys().rbegin()).value();
  }
  // The registry's checkpoint, once this witness has cosigned it.
  merkle::Note AwaitCosigned(const merkle::VerifierKey& witness) {
    while (true) {
      merkle::Note note = Registry();
      if (IsSigned(note, witness)) return note;
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  void AwaitLog(const std::string& line) {
    while (Log().find(line) == std::string::npos) absl::SleepFor(absl::Milliseconds(10));
  }
  static bool IsSigned(const merkle::Note& note, const merkle::VerifierKey& key) {
    return merkle::VerifyNote(note, std::vector{key}).ok();
  }

 private:
  v1::GetCheckpointResponse Checkpoint(const std::string& log, uint64_t at_least) {
    v1::GetCheckpointRequest request;
    request.set_log(log);
    request.set_at_least(at_least);
    grpc::ClientContext context;
    v1::GetCheckpointResponse response;
    const grpc::Status status = audits_->GetCheckpoint(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  const std::string files_;
  pid_t pid_ = 0;
  std::unique_ptr<v1::LedgerService::Stub> ledgers_;
  std::unique_ptr<v1::AuditService::Stub> audits_;
};

merkle::Checkpoint Read(const merkle::Note& note) {
  return merkle::ParseCheckpoint(note.text).value();
}

class SplitView : public ::testing::Test {
 protected:
  // Files of a server with one ledger; its key.
  merkle::VerifierKey Begin() {
    Server server(folder_.File("begun"), {});
    server.Create();
    server.Append("the common beginning");
    return server.Key();
  }
  std::string CopyOfBegun(const std::string& name) {
    fs::copy(folder_.File("begun"), folder_.File(name), fs::copy_options::recursive);
    fs::remove(folder_.File(name) + "/log");
    return folder_.File(name);
  }
  static std::vector<std::string> Flags(const WitnessProcess& witness) {
    return {"--witness", witness.url(), "--witness-key", witness.VerifierKey()};
  }

  TemporaryFolder folder_;
};

TEST_F(SplitView, IsCosignedOnOneSideOnly) {
  const merkle::VerifierKey log = Begin();
  const std::string one_files = CopyOfBegun("one");
  const std::string other_files = CopyOfBegun("other");
  const std::string old_files = CopyOfBegun("old");
  const WitnessProcess witness({log});
  const merkle::VerifierKey witness_key = merkle::VerifierKey::Parse(witness.VerifierKey()).value();

  Server one(one_files, Flags(witness));
  one.Append("one history");
  const merkle::Note cosigned = one.AwaitCosigned(witness_key);

  // Control: the other history has a good checkpoint of the same size by the same key. Nobody who
  // sees only one of the two can tell.
  Server other(other_files, Flags(witness));
  const merkle::Note split = other.Append("another history");
  EXPECT_TRUE(Server::IsSigned(cosigned, log));
  EXPECT_TRUE(Server::IsSigned(split, log));
  EXPECT_EQ(Read(cosigned).origin, Read(split).origin);
  EXPECT_EQ(Read(cosigned).size, Read(split).size);
  EXPECT_NE(Read(cosigned).root, Read(split).root);

  // The witness can: it does not cosign it, whatever comes after, and both logs say why.
  other.AwaitLog("\"event\":\"split_view\"");
  EXPECT_FALSE(Server::IsSigned(other.Append("more of it"), witness_key));
  EXPECT_FALSE(Server::IsSigned(other.Registry(), witness_key));
  EXPECT_THAT(witness.Log(), HasSubstr("\"event\":\"refused\",\"status\":422"));

  // An older copy is behind what was cosigned.
  Server old(old_files, Flags(witness));
  old.AwaitLog("\"event\":\"witness_ahead\"");
  EXPECT_FALSE(Server::IsSigned(old.Registry(), witness_key));

  one.Append("more of one history");
  EXPECT_GT(Read(one.AwaitCosigned(witness_key)).size, Read(cosigned).size);
}

// An address that is free now.
std::string FreeAddress() {
  boost::asio::io_context io;
  const boost::asio::ip::tcp::acceptor taken(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
  return absl::StrCat("127.0.0.1:", taken.local_endpoint().port());
}

TEST_F(SplitView, EntriesAreReadFromTheServerBeforeTheyAreCosigned) {
  const merkle::VerifierKey log = Begin();
  const std::string address = FreeAddress();
  const WitnessProcess witness({log}, {"--log-server", absl::StrCat(log.name, "=", address)});
  const merkle::VerifierKey witness_key = merkle::VerifierKey::Parse(witness.VerifierKey()).value();
  Server server(CopyOfBegun("one"), Flags(witness), address);
  // Before it serves, nobody can read its entries: it is asked again.
  server.AwaitCosigned(witness_key);
  // From then on a checkpoint is cosigned before it is published: what is read is durable, and not
  // shown yet.
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(Server::IsSigned(server.Append(absl::StrCat("entry ", i)), witness_key));
  EXPECT_TRUE(fs::exists(witness.File("state/") + OriginHash(log.name) + ".registry"));
}

// What happens after an asynchronous failover: the key is there, the newest entries are not, and
// neither is the second place. Without a word it would sign a second history.
TEST_F(SplitView, LostSecondPlaceIsAskedForAmongWitnesses) {
  const merkle::VerifierKey log = Begin();
  const std::string one_files = CopyOfBegun("one");
  const std::string old_files = CopyOfBegun("old");
  for (const char* copy : {"/store.checkpoint", "/store.checkpoint.previous"})
    fs::remove(old_files + copy);
  WitnessProcess witness({log});
  const merkle::VerifierKey witness_key = merkle::VerifierKey::Parse(witness.VerifierKey()).value();
  {
    Server one(one_files, Flags(witness));
    one.Append("the newest entry");
    one.AwaitCosigned(witness_key);
  }
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& message) {
    std::vector<std::string> command = {BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0",
                                        "--store", old_files + "/store"};
    command.insert(command.end(), flags.begin(), flags.end());
    const testing::RunResult result = RunProgram(command);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  refused({}, "there is no --witness to ask");
  refused(Flags(witness), "the checkpoint in the witnesses says");
  // One that never saw this registry knows as little as none.
  WitnessProcess stranger({log});
  refused(Flags(stranger), "no witness has cosigned anything of this registry");
  witness.Stop(SIGKILL);
  refused(Flags(witness), "is not there beside a key that was made before");
  witness.Start();
  // The newest store needs no copy where a witness knows it.
  for (const char* copy : {"/store.checkpoint", "/store.checkpoint.previous"})
    fs::remove(one_files + copy);
  { Server one(one_files, Flags(witness)); }
  // Told, it starts; and the witness still says what it is.
  std::vector<std::string> told = Flags(witness);
  told.push_back("--accept-missing-checkpoint");
  Server old(old_files, told);
  old.AwaitLog("\"event\":\"witness_ahead\"");
}

TEST_F(SplitView, IsNotSeenWhileTheWitnessIsAwayAndNobodyWaitsForIt) {
  const merkle::VerifierKey log = Begin();
  const std::string files = CopyOfBegun("one");
  WitnessProcess witness({log});
  const merkle::VerifierKey witness_key = merkle::VerifierKey::Parse(witness.VerifierKey()).value();
  Server server(files, Flags(witness));
  server.AwaitCosigned(witness_key);
  witness.Stop(SIGKILL);
  const merkle::Note alone = server.Append("without a witness");
  EXPECT_TRUE(Server::IsSigned(alone, log));
  EXPECT_FALSE(Server::IsSigned(alone, witness_key));
  server.AwaitLog("\"event\":\"witness_failed\"");
  // Nothing new is appended: it is asked again for what it missed.
  witness.Start();
  EXPECT_EQ(Read(server.AwaitCosigned(witness_key)).size, Read(alone).size);
}

TEST_F(SplitView, IsNotWaitedForWhereTheWitnessHangs) {
  Begin();
  const std::string files = CopyOfBegun("one");
  // Connections are taken by the system, and nobody ever reads from them.
  boost::asio::io_context io;
  const boost::asio::ip::tcp::acceptor hanging(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
  const merkle::VerifierKey key{"w", merkle::SignatureType::kCosignature, {}};
  Server server(files,
                {"--witness", absl::StrCat("http://127.0.0.1:", hanging.local_endpoint().port()),
                 "--witness-key", key.ToText()});
  EXPECT_EQ(server.Append("on and on").signatures.size(), 1u);
  server.AwaitLog("\"event\":\"witness_failed\"");
}

TEST_F(SplitView, IsNoReasonToBelieveAFalseWitness) {
  const merkle::VerifierKey log = Begin();
  const std::string files = CopyOfBegun("one");
  const WitnessProcess witness({log});
  const WitnessProcess stranger({log});
  Server server(files, {"--witness", stranger.url(), "--witness-key", witness.VerifierKey()});
  server.AwaitLog("note: no known key signed it");
  EXPECT_EQ(server.Append("more").signatures.size(), 1u);
}

TEST(WitnessServerFlags, TellWhatIsWrong) {
  const TemporaryFolder folder;
  const WitnessProcess witness({merkle::VerifierKey{"x", merkle::SignatureType::kEd25519, {}}});
  const std::string key = witness.VerifierKey();
  const auto expect = [&](std::vector<std::string> flags, const std::string& message) {
    std::vector<std::string> command = {BinaryPath("dpledger-server"), "--store",
                                        folder.File("store")};
    command.insert(command.end(), flags.begin(), flags.end());
    const testing::RunResult result = RunProgram(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
  };
  expect({"--witness", "http://127.0.0.1:1"}, "--witness-key: must be given once for each");
  expect({"--witness-key", key}, "--witness-key: must be given once for each --witness, got 1");
  expect({"--witness", "http://127.0.0.1:1", "--witness-key", "k"}, "--witness-key: verifier key");
  const std::string log_key =
      merkle::VerifierKey{"x", merkle::SignatureType::kEd25519, {}}.ToText();
  expect({"--witness", "http://127.0.0.1:1", "--witness-key", log_key},
         "must be the key of a witness (type 4)");
  for (const char* url : {"127.0.0.1:1", "ftp://127.0.0.1", "http://", "https://:1",
                          "http://127.0.0.1:0", "http://127.0.0.1:65536", "http://a b:1",
                          "https://name@example.org", "http://[::1", "http://127.0.0.1:1/a?b"}) {
    expect({"--witness", url, "--witness-key", key},
           "must be http://HOST:PORT or https://HOST:PORT");
  }
  expect({"--witness", "https://127.0.0.1", "--witness-key", key, "--witness-ca",
          folder.File("none.pem")},
         "--witness: witness_ca: cannot be read as certificates");
  expect({"--witness", "", "--witness-key", key}, "--witness: must not be empty");
  EXPECT_FALSE(fs::exists(folder.File("store")));
}

}  // namespace
}  // namespace dpledger::witness
