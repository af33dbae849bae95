// Ledgers in a folder: what is in it, whose it is, and that a recorder and the programs take it as
// they take a server's.
#include "local/local_ledgers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "client/questions.h"
#include "client/recorder.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/embedded/keys.h"
#include "tests/cli/process.h"
#include "tests/events/field_rules.h"

namespace dpledger::local {
namespace {

namespace fs = std::filesystem;

using accountant::FromText;
using ::dpledger::testing::AwaitFirstLine;
using ::dpledger::testing::BinaryPath;
using ::dpledger::testing::Dpledger;
using ::dpledger::testing::StartProgram;
using ::dpledger::testing::StopProgram;
using ::dpledger::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kDelta = 1e-5;

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& part,
                 const std::string& reason) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  EXPECT_EQ(ReasonOf(status).reason, reason) << status;
}

unsigned ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 0777;
}

class LocalLedgers : public ::testing::Test {
 protected:
  std::string Path() const { return folder_.File("run.ledger"); }
  std::string In(const std::string& name) const { return absl::StrCat(Path(), "/", name); }

  client::RecorderOptions Options(const std::string& writer = "trainer") const {
    client::RecorderOptions options;
    options.connect = [path = Path()] { return OpenLedgers(path); };
    options.ledger = "adult";
    options.writer = writer;
    options.declaration.set_dataset("adult");
    options.declaration.set_unit_of_privacy("example");
    options.declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
    options.declaration.set_parameters(v1::FIXED);
    options.spool_folder = In("spool");
    return options;
  }

  static std::unique_ptr<client::PrivacyRecorder> Open(const client::RecorderOptions& options) {
    auto recorder = client::PrivacyRecorder::Open(options);
    if (!recorder.ok()) throw std::runtime_error(recorder.status().ToString());
    return *std::move(recorder);
  }

  // Rounds that were released.
  static void Release(client::PrivacyRecorder& recorder, int rounds) {
    v1::SamplingScheme scheme;
    scheme.mutable_poisson()->set_probability(0.1);
    v1::SumQuery query;
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(2);
    for (int i = 0; i < rounds; ++i) {
      const auto round = recorder.RecordRound(scheme, {query});
      ASSERT_TRUE(round.ok()) << round.status();
      ASSERT_EQ(recorder.AwaitReleasable(*round), absl::OkStatus());
    }
  }

  // A folder with a ledger of so many rounds, closed by nobody.
  void Keep(int rounds) { Release(*Open(Options()), rounds); }

  absl::Status OpenFails() const { return OpenLedgers(Path()).status(); }

  TemporaryFolder folder_;
};

// No server keeps what runs have spent: who asks about a budget has them counted.
TEST_F(LocalLedgers, ReadersLearnThatABudgetIsOverspent) {
  const std::string declared =
      "dataset: 'd' unit_of_privacy: 'u' adjacency: ADD_OR_REMOVE_ONE parameters: ADAPTIVE ";
  const std::string rounds =
      "rounds { scheme { full_batch {} } queries { l2_norm_bound: 1 noise_stddev: 1 } count: ";
  {
    const auto ledgers = v1::LedgerService::NewStub(*OpenLedgers(Path()));
    const auto good = [&](auto method, const auto& request, auto response) {
      grpc::Status status;
      do {
        grpc::ClientContext context;
        status = ((*ledgers).*method)(&context, request, &response);
      } while (absl::StrContains(status.error_message(), "send it again"));
      EXPECT_TRUE(status.ok()) << status.error_message();
    };
    using Stub = v1::LedgerService::Stub;
    const std::string filter = "filter { zcdp { rho: 2 } } ";
    good(&Stub::CreateLedger,
         FromText<v1::CreateLedgerRequest>(
             absl::StrCat("name: 'projects/default/ledgers/b' request_id: 'b' declaration { ",
                          declared, filter, "kind: BUDGET }")),
         v1::Ledger());
    good(&Stub::CreateLedger,
         FromText<v1::CreateLedgerRequest>(
             absl::StrCat("name: 'projects/default/ledgers/r' request_id: 'r' declaration { ",
                          declared, filter, "budget: 'projects/default/ledgers/b' }")),
         v1::Ledger());
    good(&Stub::GrantBudget,
         FromText<v1::GrantBudgetRequest>(
             absl::StrCat("budget: 'projects/default/ledgers/b' ledger: "
                          "'projects/default/ledgers/r' request_id: 'g' plan { ",
                          rounds, "1 } }")),
         v1::GrantBudgetResponse());
    for (const auto& [id, entry] :
         {std::pair("e", "event { "), std::pair("l", "late_event { event { ")}) {
      good(&Stub::AppendBatch,
           FromText<v1::AppendBatchRequest>(
               absl::StrCat("ledger: 'projects/default/ledgers/r' writer: 'w' request_id: '", id,
                            "' entries { ", entry, rounds, "1 } } }", *id == 'l' ? " }" : "")),
           v1::AppendBatchResponse());
    }
  }
  const absl::StatusOr<Reading> reading = OpenToRead({Path()});
  ASSERT_TRUE(reading.ok()) << reading.status();
  const auto accounting = v1::AccountingService::NewStub(reading->channel);
  grpc::ClientContext of_epsilon, of_budget;
  v1::ComputeEpsilonResponse epsilon;
  const grpc::Status refused = accounting->ComputeEpsilon(
      &of_epsilon,
      FromText<v1::ComputeEpsilonRequest>(
          "subject { ledgers: 'projects/default/ledgers/b' } delta: 1e-6"),
      &epsilon);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("projects/default/ledgers/r has spent more than it was granted"));
  v1::ComputeBudgetResponse budget;
  ASSERT_TRUE(accounting
                  ->ComputeBudget(
                      &of_budget,
                      FromText<v1::ComputeBudgetRequest>("budget: 'projects/default/ledgers/b'"),
                      &budget)
                  .ok());
  EXPECT_THAT(budget.overspent(), ElementsAre("projects/default/ledgers/r"));
  ASSERT_EQ(budget.runs_size(), 1);
  EXPECT_EQ(budget.runs(0).spent(), 1);
}

TEST_F(LocalLedgers, AreMadeForTheirOwnerAlone) {
  Keep(1);
  EXPECT_EQ(ModeOf(Path()), 0700u);
  EXPECT_EQ(ModeOf(In("store.signing-key")), 0600u);
  EXPECT_TRUE(fs::is_directory(In("store")));
  EXPECT_TRUE(fs::is_regular_file(In("store.checkpoint")));
}

TEST_F(LocalLedgers, AreMadeWithTheFoldersAboveThem) {
  const std::string below = folder_.File("runs/of/today/");
  ASSERT_EQ(OpenLedgers(below).status(), absl::OkStatus());
  EXPECT_EQ(ModeOf(below), 0700u);
  EXPECT_EQ(OpenLedgers(folder_.File("runs/of/../of/today")).status(), absl::OkStatus());
}

TEST_F(LocalLedgers, AnswerWhatTheyCostAsTheCommandLineDoes) {
  const auto recorder = Open(Options());
  Release(*recorder, 50);
  const auto cost =
      client::ComputeEpsilon(recorder->servers().channel(), recorder->ledger(), kDelta);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->details().ledgers(0).size(), 102u);  // the declaration, OPENED, two a round
  const auto program = Dpledger({"epsilon", "--noise-multiplier", "2", "--sampling-probability",
                                 "0.1", "--steps", "50", "--delta", "1e-5"});
  ASSERT_EQ(program.exit_code, 0) << program.err;
  EXPECT_THAT(program.out, HasSubstr(absl::StrCat(cost->epsilon().upper()).substr(0, 5)));
}

TEST_F(LocalLedgers, GoOnWithTheSameKeyAfterTheyWereClosed) {
  Keep(2);
  const std::string key = *ReadFile(In("store.signing-key"));
  auto again = Open(Options());
  EXPECT_NE(again->previous_incarnation(), "");
  Release(*again, 1);
  EXPECT_EQ(*ReadFile(In("store.signing-key")), key);
  ASSERT_EQ(again->Close(), absl::OkStatus());
  again.reset();
  ExpectError(client::PrivacyRecorder::Open(Options()).status(),
              absl::StatusCode::kFailedPrecondition, "trainer has closed", "");
}

TEST_F(LocalLedgers, AreSharedInOneProcess) {
  const auto one = Open(Options());
  const auto other = Open(Options("other"));
  Release(*one, 2);
  Release(*other, 2);
  const auto cost = client::ComputeEpsilon(one->servers().channel(), one->ledger(), kDelta);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->details().ledgers(0).size(), 11u);
}

TEST_F(LocalLedgers, AreOpenInOneProcessAtATime) {
  Keep(1);
  const std::string port = folder_.File("port"), log = folder_.File("log");
  const std::vector<std::string> serve = {BinaryPath("dpledger-server"),
                                          "--listen",
                                          "127.0.0.1:0",
                                          "--store",
                                          In("store"),
                                          "--port-file",
                                          port};
  {
    const auto channel = OpenLedgers(Path());
    ASSERT_TRUE(channel.ok()) << channel.status();
    const auto refused = testing::RunProgram(serve);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("another server has this store open"));
  }
  const pid_t server = StartProgram(serve, log);
  const std::string address = AwaitFirstLine(server, port, log);
  ExpectError(OpenFails(), absl::StatusCode::kFailedPrecondition,
              absl::StrCat("path: another process has ", Path(), " open"), "STORE_IN_USE");
  // The server shows what was written without one.
  const auto shown = Dpledger({"ledger", "show", "adult", "--server", address});
  EXPECT_THAT(shown.out, HasSubstr("projects/default/ledgers/adult"));
  EXPECT_EQ(StopProgram(server, SIGTERM), 0);
  EXPECT_EQ(OpenFails(), absl::OkStatus());
}

TEST_F(LocalLedgers, RefuseAFolderWithAnythingElseAndLeaveItAsItWas) {
  fs::create_directory(Path());
  std::ofstream(In("notes.txt")) << "mine";
  ExpectError(OpenFails(), absl::StatusCode::kInvalidArgument,
              absl::StrCat("path: must be the folder of a ledger, an empty one, or nothing yet; ",
                           Path(), " holds something else (notes.txt)"),
              "INVALID_FIELD");
  EXPECT_EQ(std::distance(fs::directory_iterator(Path()), {}), 1);
  fs::remove(In("notes.txt"));
  EXPECT_EQ(OpenFails(), absl::OkStatus()) << "an empty one is taken";
}

TEST_F(LocalLedgers, RefuseAFileAndAnEmptyName) {
  std::ofstream(Path()) << "mine";
  ExpectError(OpenFails(), absl::StatusCode::kInvalidArgument, "path: must be a folder",
              "INVALID_FIELD");
  ExpectError(OpenLedgers("").status(), absl::StatusCode::kInvalidArgument,
              "path: must name a folder", "INVALID_FIELD");
}

TEST_F(LocalLedgers, RefuseAKeyThatOthersMayReadOrThatIsGone) {
  Keep(1);
  fs::permissions(In("store.signing-key"), fs::perms(0644));
  ExpectError(OpenFails(), absl::StatusCode::kFailedPrecondition, "store.signing-key: group or",
              "KEY_FILE_EXPOSED");
  fs::permissions(In("store.signing-key"), fs::perms(0600));
  fs::rename(In("store.signing-key"), folder_.File("key"));
  ExpectError(OpenFails(), absl::StatusCode::kFailedPrecondition, "this store is signed already",
              "SIGNING_KEY_MISSING");
  fs::rename(folder_.File("key"), In("store.signing-key"));
  fs::rename(In("store.checkpoint"), folder_.File("checkpoint"));
  fs::remove(In("store.checkpoint.previous"));
  ExpectError(OpenFails(), absl::StatusCode::kFailedPrecondition, "store.checkpoint: is not there",
              "CHECKPOINT_COPY_MISSING");
  fs::rename(folder_.File("checkpoint"), In("store.checkpoint"));
  EXPECT_EQ(OpenFails(), absl::OkStatus());
}

TEST_F(LocalLedgers, ThatWereClosedCannotBeTakenBack) {
  Keep(1);
  ASSERT_EQ(OpenFails(),
            absl::OkStatus());  // an opening signs what is there: the next has nothing to sign
  fs::copy(In("store"), folder_.File("older"), fs::copy_options::recursive);
  Keep(1);
  fs::remove_all(In("store"));
  fs::copy(folder_.File("older"), In("store"), fs::copy_options::recursive);
  ExpectError(OpenFails(), absl::StatusCode::kDataLoss, "", ReasonOf(OpenFails()).reason);
}

TEST_F(LocalLedgers, SayThatARowWasChanged) {
  Keep(20);
  {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, In("store"), &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    const std::string prefix = embedded::TablePrefix(embedded::Table::kBatch);
    const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}));
    row->Seek(prefix);
    for (int i = 0; i < 10; ++i) row->Next();
    ASSERT_TRUE(row->Valid() && row->key().starts_with(prefix));
    std::string value = row->value().ToString();
    value[value.size() / 2] ^= 1;
    ASSERT_TRUE(db->Put({}, row->key(), value).ok());
  }
  const auto channel = OpenLedgers(Path());
  const absl::Status found =
      channel.ok()
          ? client::ComputeEpsilon(*channel, "projects/default/ledgers/adult", kDelta).status()
          : channel.status();
  EXPECT_EQ(found.code(), absl::StatusCode::kDataLoss) << found;
}

TEST_F(LocalLedgers, AreNotOpenedInAForkOfAProcessThatHasHadOne) {
  ASSERT_EQ(OpenFails(), absl::OkStatus());
  const pid_t child = ::fork();
  if (child == 0) {
    const absl::Status refused = OpenFails();
    ::_exit(absl::IsFailedPrecondition(refused) && ReasonOf(refused).reason == "FORKED" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dpledger::local
