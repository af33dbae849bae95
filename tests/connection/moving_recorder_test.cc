// Recorders, and the command line, of several servers over one database, which are killed, frozen
// and restarted under them: every round is released, and is in the ledger once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/recorder.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/connection/refusing_proxy.h"
#include "tests/fault/crashing_server.h"
#include "tests/front/certificates.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/support/await_that.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::AwaitThat;
using ::dpledger::testing::CrashingServer;
using ::dpledger::testing::Dpledger;
using ::dpledger::testing::ReadLedger;
using ::dpledger::testing::RefusingProxy;
using ::dpledger::testing::RunResult;
using ::dpledger::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kNobody[] = "127.0.0.1:1";

// Two servers over one database, which each test has for itself.
class MovingRecorder : public ::testing::Test {
 protected:
  MovingRecorder() {
    const std::string connection = folder_.Write("postgres", postgres_.Connection());
    chmod(connection.c_str(), 0600);
    for (int i = 0; i < 2; ++i) {
      servers_.push_back(std::make_unique<CrashingServer>(CrashingServer::Options{
          .flags = {"--postgres", connection, "--signing-key", folder_.File("key"),
                    "--checkpoint-seconds", "0.05", "--accept-missing-checkpoint"}}));
    }
  }

  std::string Both() const {
    return absl::StrCat(servers_[0]->address(), ",", servers_[1]->address());
  }
  RecorderOptions Options(const std::string& addresses) {
    RecorderOptions options = OptionsFor(addresses, folder_.File("spool"));
    options.stall_timeout = absl::Seconds(2);
    options.release_timeout = absl::Minutes(1);
    return options;
  }

  static absl::Status Release(PrivacyRecorder& recorder) {
    v1::SamplingScheme scheme;
    scheme.mutable_poisson()->set_probability(0.01);
    v1::SumQuery query;
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(1.5);
    const auto round = recorder.RecordRound(scheme, {query});
    return round.ok() ? recorder.AwaitReleasable(*round) : round.status();
  }
  // Releases `rounds` rounds; the longest that one of them took.
  static absl::Duration ReleaseMany(PrivacyRecorder& recorder, int rounds) {
    absl::Duration longest;
    for (int i = 0; i < rounds; ++i) {
      const absl::Time begun = absl::Now();
      EXPECT_EQ(Release(recorder), absl::OkStatus());
      longest = std::max(longest, absl::Now() - begun);
    }
    return longest;
  }
  // Closes the recorder. The ledger, as the second server shows it, has `rounds` rounds, each one
  // once and with its query.
  void ExpectLedger(PrivacyRecorder& recorder, uint64_t rounds) {
    EXPECT_EQ(recorder.Close(), absl::OkStatus());
    uint64_t samples = 0, queries = 0;
    for (const v1::LedgerEntry& entry : ReadLedger(servers_[1]->address(), recorder.ledger())) {
      if (entry.event().has_sampling()) {
        EXPECT_EQ(entry.event().sampling().round(), samples++);
      }
      if (entry.event().has_sum_query()) {
        EXPECT_EQ(entry.event().sum_query().round(), queries++);
      }
    }
    EXPECT_EQ(samples, rounds);
    EXPECT_EQ(queries, rounds);
  }

  const PostgresServer postgres_;
  const TemporaryFolder folder_;
  std::vector<std::unique_ptr<CrashingServer>> servers_;
};

TEST_F(MovingRecorder, LeavesAServerThatDies) {
  const auto recorder = OpenRecorder(Options(Both()));
  ReleaseMany(*recorder, 20);
  servers_[0]->Kill();
  std::cout << "killed: " << ReleaseMany(*recorder, 20) << "\n";
  // And comes back, when the other one dies.
  servers_[0]->Start();
  servers_[1]->Kill();
  std::cout << "killed: " << ReleaseMany(*recorder, 20) << "\n";
  servers_[1]->Start();
  ExpectLedger(*recorder, 60);
}

// A password that is changed every month: the file is read for each new connection.
TEST_F(MovingRecorder, ReadsTheConnectionStringAgain) {
  const auto recorder = OpenRecorder(Options(Both()));
  ReleaseMany(*recorder, 5);
  postgres_.Must("CREATE ROLE next_month SUPERUSER LOGIN");
  const std::string before = "usename = current_user AND pid <> pg_backend_pid()";
  // The control: what the file says counts for new connections alone, of which a server may open
  // one at any time.
  const std::string held =
      postgres_.Must("SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE " + before);
  const std::string file = folder_.Write("postgres", postgres_.Connection() + " user=next_month");
  ReleaseMany(*recorder, 5);
  EXPECT_NE(postgres_.Must("SELECT count(*) FROM pg_stat_activity WHERE pid IN (" + held + ")"),
            "0");
  postgres_.Must("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE " + before);
  ReleaseMany(*recorder, 20);
  postgres_.Await("SELECT count(*) FROM pg_stat_activity WHERE " + before, "0");
  EXPECT_NE(postgres_.Must("SELECT count(*) FROM pg_stat_activity WHERE usename = 'next_month'"),
            "0");
  const std::string logs = servers_[0]->Log() + servers_[1]->Log();
  EXPECT_THAT(logs, HasSubstr("\"event\":\"postgres_connection_read_again\",\"file\":\"" + file));
  EXPECT_EQ(logs.find("user=next_month"), std::string::npos);
  ExpectLedger(*recorder, 30);
}

// The control: with the one address, what is recorded waits for that server.
TEST_F(MovingRecorder, WaitsForTheOnlyServerThatItKnows) {
  RecorderOptions options = Options(servers_[0]->address());
  options.release_timeout = absl::Seconds(2);
  const auto recorder = OpenRecorder(options);
  ReleaseMany(*recorder, 5);
  servers_[0]->Kill();
  EXPECT_EQ(Release(*recorder).code(), absl::StatusCode::kDeadlineExceeded);
  servers_[0]->Start();
  AwaitThat([&] { return recorder->drain_status().undelivered_batches == 0; });
  ExpectLedger(*recorder, 6);
}

// It holds its connections, and takes what was sent to it when it goes on: by then another server
// has it too.
TEST_F(MovingRecorder, LeavesAServerThatStandsStill) {
  const auto recorder = OpenRecorder(Options(Both()));
  ReleaseMany(*recorder, 20);
  servers_[0]->Pause();
  std::cout << "frozen: " << ReleaseMany(*recorder, 20) << "\n";
  servers_[0]->Resume();
  ReleaseMany(*recorder, 20);
  servers_[1]->Pause();
  std::cout << "frozen: " << ReleaseMany(*recorder, 20) << "\n";
  servers_[1]->Resume();
  ExpectLedger(*recorder, 80);
}

// The servers restart one after the other, several times, as in an upgrade.
TEST_F(MovingRecorder, OutlivesRollingRestarts) {
  const auto recorder = OpenRecorder(Options(Both()));
  absl::Duration longest;
  for (int i = 0; i < 6; ++i) {
    CrashingServer& server = *servers_[static_cast<size_t>(i) % 2];
    server.Kill();
    longest = std::max(longest, ReleaseMany(*recorder, 10));
    server.Start();
    longest = std::max(longest, ReleaseMany(*recorder, 10));
  }
  std::cout << "restarted: " << longest << "\n";
  ExpectLedger(*recorder, 120);
}

TEST_F(MovingRecorder, OpensAtTheNextServer) {
  const RefusingProxy proxy("404");
  const auto recorder = OpenRecorder(
      Options(absl::StrCat(kNobody, ",", proxy.address(), ",", servers_[1]->address())));
  EXPECT_GT(proxy.answers(), 0);
  ReleaseMany(*recorder, 5);
  ExpectLedger(*recorder, 5);
}

// A route that is gone for a while, as the proxy says of it in the midst of a run.
TEST_F(MovingRecorder, TakesNoProxysWord) {
  for (const char* status : {"403", "404", "500", "502", "503"}) {
    const RefusingProxy proxy(status);
    RecorderOptions options = Options(
        absl::StrCat(servers_[0]->address(), ",", proxy.address(), ",", servers_[1]->address()));
    options.ledger = absl::StrCat("status-", status);
    const auto recorder = OpenRecorder(options);
    ReleaseMany(*recorder, 2);
    servers_[0]->Kill();
    std::cout << status << ": " << ReleaseMany(*recorder, 2) << "\n";
    EXPECT_GT(proxy.answers(), 0);
    servers_[0]->Start();
    ExpectLedger(*recorder, 4);
  }
}

TEST_F(MovingRecorder, NamesEachServerThatDoesNotAnswer) {
  RecorderOptions options = Options(Both());
  options.release_timeout = absl::Seconds(5);
  const auto recorder = OpenRecorder(options);
  servers_[0]->Kill();
  servers_[1]->Kill();
  const absl::Status late = Release(*recorder);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(
      std::string(late.message()),
      AllOf(HasSubstr("2 batches are not acknowledged; last error: UNAVAILABLE: no server has "
                      "answered:\n"),
            HasSubstr(absl::StrCat("\n  ", servers_[0]->address(), ": UNAVAILABLE: ")),
            HasSubstr(absl::StrCat("\n  ", servers_[1]->address(), ": UNAVAILABLE: "))));
  options.ledger = "other";
  options.open_timeout = absl::Seconds(2);
  EXPECT_THAT(std::string(PrivacyRecorder::Open(options).status().message()),
              AllOf(HasSubstr(absl::StrCat(servers_[0]->address(), ": UNAVAILABLE: ")),
                    HasSubstr(absl::StrCat(servers_[1]->address(), ": UNAVAILABLE: "))));
  servers_[1]->Start();
  AwaitThat([&] { return recorder->drain_status().undelivered_batches == 0; });
  ExpectLedger(*recorder, 1);
}

TEST_F(MovingRecorder, CommandsAskTheFirstThatAnswers) {
  const std::string addresses = absl::StrCat(kNobody, ",", Both());
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", addresses});
    return Dpledger(arguments);
  };
  const RunResult created = run({"ledger", "create", "a", "--dataset", "d", "--unit", "example",
                                 "--adjacency", "add-or-remove-one", "--parameters", "fixed"});
  EXPECT_EQ(created.exit_code, 0) << created.err;
  servers_[0]->Pause();
  EXPECT_THAT(run({"ledger", "list"}).out, HasSubstr("projects/default/ledgers/a"));
  servers_[0]->Resume();
  servers_[0]->Kill();
  EXPECT_THAT(run({"ledger", "list"}).out, HasSubstr("projects/default/ledgers/a"));
  servers_[1]->Kill();
  const RunResult none = run({"ledger", "list"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, AllOf(HasSubstr(absl::StrCat("\n  ", kNobody, ": ")),
                              HasSubstr(absl::StrCat("\n  ", servers_[0]->address(), ": ")),
                              HasSubstr(absl::StrCat("\n  ", servers_[1]->address(), ": "))));
  const RunResult wrong = Dpledger({"ledger", "list", "--server", "a:1,b"});
  EXPECT_THAT(wrong.err, HasSubstr("--server: must be host:port, got b"));
}

// ---- Certificates ----

// A server of another authority, and one's own certificate of that one: both are taken as the files
// are at each handshake, so that a run outlives what is renewed each day.
class RenewedCertificates : public ::testing::Test {
 protected:
  RenewedCertificates() {
    folder_.Write("policy", "spiffe://example.org/trainer trainer projects/default\n");
    chmod(folder_.File("policy").c_str(), 0600);
    RenewServer();
    RenewClient();
  }
  // The server's files, by an authority of today.
  void RenewServer() {
    authority_ = std::make_unique<TestAuthority>("authority");
    const Credential server = authority_->Issue("IP:" + host_);
    folder_.Write("server-ca.pem", authority_->certificate());
    folder_.Write("server.pem", server.certificate);
    folder_.Write("server.key", server.key);
  }
  // The client's, by the same one.
  void RenewClient() {
    const Credential client = authority_->Issue("URI:spiffe://example.org/trainer");
    folder_.Write("ca.pem", authority_->certificate());
    folder_.Write("trainer.pem", client.certificate);
    folder_.Write("trainer.key", client.key);
  }
  CrashingServer::Options ServerOptions() {
    return {.flags = {"--cert", folder_.File("server.pem"), "--cert-key",
                      folder_.File("server.key"), "--client-ca", folder_.File("server-ca.pem"),
                      "--identity", "--policy", folder_.File("policy")},
            .host = host_};
  }

  const std::string host_ = testing::OwnLoopbackAddress();
  TemporaryFolder folder_;
  std::unique_ptr<TestAuthority> authority_;
};

TEST_F(RenewedCertificates, AreReadAgainByARecorder) {
  CrashingServer server(ServerOptions());
  RecorderOptions options = OptionsFor("https://" + server.address(), folder_.File("spool"));
  options.server.ca = folder_.File("ca.pem");
  options.server.certificate = folder_.File("trainer.pem");
  options.server.key = folder_.File("trainer.key");
  options.release_timeout = absl::Seconds(8);
  const auto recorder = OpenRecorder(options);
  v1::MechanismEvent mechanism;
  mechanism.mutable_gaussian()->set_noise_multiplier(2);
  const auto record = [&] { return recorder->RecordMechanism(mechanism).value(); };
  ASSERT_EQ(recorder->AwaitReleasable(record()), absl::OkStatus());
  server.Kill();
  RenewServer();
  server.Start();
  // The control: with the files of yesterday nothing gets through, longer than files are looked at.
  const uint64_t number = record();
  EXPECT_EQ(recorder->AwaitReleasable(number).code(), absl::StatusCode::kDeadlineExceeded);
  RenewClient();
  absl::Status released;
  AwaitThat(
      [&] { return !absl::IsDeadlineExceeded(released = recorder->AwaitReleasable(number)); });
  EXPECT_EQ(released, absl::OkStatus());
}

}  // namespace
}  // namespace dpledger::client
