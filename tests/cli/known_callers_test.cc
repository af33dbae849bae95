// A server that other machines could reach: TLS, identity, and every program that speaks to it. The
// walk of a team: an administrator, a trainer with a certificate, one with a token, an auditor, and
// somebody with curl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "client/recorder.h"
#include "tests/cli/process.h"
#include "tests/front/certificates.h"

namespace dpledger::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KnownCallers : public ::testing::Test {
 protected:
  KnownCallers() {
    const Credential server = authority_.Issue("DNS:localhost,IP:127.0.0.1");
    const Credential trainer = authority_.Issue("URI:spiffe://example.org/trainer");
    ca_ = folder_.Write("ca.pem", authority_.certificate());
    folder_.Write("server.pem", server.certificate);
    folder_.Write("server.key", server.key);
    folder_.Write("trainer.pem", trainer.certificate);
    folder_.Write("trainer.key", trainer.key);
    folder_.Write("policy", "spiffe://example.org/trainer trainer projects/default\n");
    chmod(folder_.File("policy").c_str(), 0600);
    const std::string port_file = folder_.File("port");
    pid_ = StartProgram({BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file",
                         port_file, "--store", folder_.File("store"), "--cert",
                         folder_.File("server.pem"), "--cert-key", folder_.File("server.key"),
                         "--client-ca", ca_, "--identity", "--policy", folder_.File("policy")},
                        folder_.File("log"));
    address_ = AwaitFirstLine(pid_, port_file, folder_.File("log"));
    admin_ = {"--token-file", folder_.File("store.tokens.first-admin")};
    trainer_ = {"--cert", folder_.File("trainer.pem"), "--cert-key", folder_.File("trainer.key")};
  }
  ~KnownCallers() override {
    EXPECT_EQ(StopProgram(pid_, SIGTERM), 0);
    // No secret is ever logged.
    const std::string log = *ReadFile(folder_.File("log"));
    EXPECT_THAT(log, Not(HasSubstr("dpl_")));
    for (const std::string& token : secrets_) EXPECT_THAT(log, Not(HasSubstr(token)));
  }

  RunResult Run(std::vector<std::string> arguments, const std::vector<std::string>& as) {
    arguments.insert(arguments.end(), {"--server", address_, "--ca", ca_});
    arguments.insert(arguments.end(), as.begin(), as.end());
    return Dpledger(arguments);
  }
  // A new token's file.
  std::string Token(const std::string& name, const std::string& grant) {
    const std::string file = folder_.File(name + ".token");
    const RunResult made =
        Run({"admin", "token", "create", name, "--grant", grant, "--out", file}, admin_);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    secrets_.push_back(*ReadFile(file));
    return file;
  }
  RunResult Create(const std::string& ledger, const std::vector<std::string>& as) {
    return Run({"ledger", "create", ledger, "--dataset", "d", "--unit", "example", "--adjacency",
                "add-or-remove-one", "--parameters", "fixed"},
               as);
  }
  RunResult Curl(const std::vector<std::string>& more, const std::string& path) {
    std::vector<std::string> arguments = {"/usr/bin/curl", "--silent", "--max-time", "30",
                                          "--cacert",      ca_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(absl::StrCat("https://", address_, path));
    return RunProgram(arguments);
  }

  TemporaryFolder folder_;
  TestAuthority authority_{"test authority"};
  std::string ca_, address_;
  std::vector<std::string> admin_, trainer_, secrets_;
  pid_t pid_ = 0;
};

TEST_F(KnownCallers, EachMayDoWhatWasGranted) {
  const RunResult nobody = Create("run", {});
  EXPECT_EQ(nobody.exit_code, 4);
  EXPECT_THAT(nobody.err, HasSubstr("show a token"));
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  const std::string events = folder_.Write(
      "events",
      R"({"rounds":{"scheme":{"poisson":{"probability":0.01}},"queries":[{"l2NormBound":1,"noiseStddev":1}],"count":"100"}})");
  ASSERT_EQ(Run({"ledger", "append", "run", "--events", events}, trainer_).exit_code, 0);

  const std::vector<std::string> auditor = {"--token-file",
                                            Token("auditor", "auditor projects/default")};
  const RunResult refused = Run({"ledger", "append", "run", "--events", events}, auditor);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("token:auditor has no right to append"),
                                 HasSubstr("token:auditor trainer projects/default/ledgers/run")));
  EXPECT_EQ(Run({"ledger", "seal", "run"}, auditor).exit_code, 4);
  const std::string bundle = folder_.File("run.bundle");
  const RunResult exported = Run({"ledger", "export", "run", "--output", bundle}, auditor);
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  const RunResult verified = Dpledger({"ledger", "verify", bundle, "--self-signed"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;

  // Another project's auditor sees nothing of this one, and lists nothing of it.
  const std::vector<std::string> stranger = {"--token-file",
                                             Token("stranger", "auditor projects/other")};
  EXPECT_EQ(Run({"ledger", "show", "run"}, stranger).exit_code, 4);
  EXPECT_EQ(Run({"ledger", "list", "--project", "default"}, stranger).exit_code, 4);
  // Whether it exists or not.
  EXPECT_EQ(Run({"ledger", "show", "none"}, stranger).exit_code, 4);
  EXPECT_EQ(Run({"ledger", "show", "none"}, auditor).exit_code, 1);
  EXPECT_EQ(Run({"admin", "token", "list"}, auditor).exit_code, 4);
}

TEST_F(KnownCallers, ListsHoldWhatTheCallerMaySee) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  ASSERT_EQ(Create("secret", admin_).exit_code, 0);
  const std::vector<std::string> one = {"--token-file",
                                        Token("one", "auditor projects/default/ledgers/ru*")};
  const RunResult list = Run({"ledger", "list"}, one);
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("ledgers/run"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Run({"ledger", "list"}, admin_).out, HasSubstr("secret"));
}

TEST_F(KnownCallers, WhoMayCorrectMayIssueAndIsNamedInTheStatement) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  const std::vector<std::string> auditor = {"--token-file",
                                            Token("auditor", "auditor projects/default")};
  const std::string file = folder_.File("run.md");
  const std::vector<std::string> issue = {
      "statement", "--ledger", "run",    "--issue", "--output",       file,
      "--issuer",  "n",        "--role", "r",       "--organization", "o"};
  const RunResult refused = Run(issue, auditor);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("has no right to correct"));
  EXPECT_FALSE(ReadFile(file).ok()) << "nothing is left of a refused call";
  EXPECT_EQ(Run({"statements", "list"}, auditor).out, "");
  ASSERT_EQ(Run(issue, trainer_).exit_code, 0);
  EXPECT_THAT(*ReadFile(file), HasSubstr("://example.org/trainer"));
  const RunResult found = Run({"statements", "check", file}, auditor);
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("by spiffe://example.org/trainer"));
  // Whoever may not ask about the run does not learn what was stated of it.
  const std::vector<std::string> stranger = {"--token-file",
                                             Token("stranger", "auditor projects/other")};
  EXPECT_EQ(Run({"statements", "list"}, stranger).out, "");
  EXPECT_EQ(
      Run({"statements", "withdraw", "1", "--ledger", "run", "--reason", "r"}, auditor).exit_code,
      4);
  // The register itself is read by administrators.
  const std::vector<std::string> read = {"ledger", "read", "projects/statements/ledgers/register"};
  EXPECT_EQ(Run(read, auditor).exit_code, 4);
  EXPECT_EQ(Run(read, trainer_).exit_code, 4);
  EXPECT_EQ(Run(read, admin_).exit_code, 0);
}

TEST_F(KnownCallers, AdministratorsHearWhatEndsSoon) {
  ASSERT_EQ(Run({"admin", "token", "create", "short", "--grant", "analyst projects/default",
                 "--expires-in", "1d", "--out", folder_.File("short.token")},
                admin_)
                .exit_code,
            0);
  Token("long", "analyst projects/default");
  const RunResult all = Run({"attention"}, admin_);
  EXPECT_THAT(all.out,
              AllOf(HasSubstr("TOKEN_ENDS  this server: the token of token:short ends on"),
                    HasSubstr("CERTIFICATE_ENDS  this server"), Not(HasSubstr("token:long"))));
  EXPECT_THAT(Run({"attention"}, trainer_).out, Not(HasSubstr("this server")));
  const std::string id = all.out.substr(all.out.find('(') + 1, 16);
  EXPECT_EQ(Run({"acknowledge", id, "--text", "t"}, trainer_).exit_code, 1) << "not shown to it";
  const RunResult said = Run({"acknowledge", id, "--text", "renewed on Monday"}, admin_);
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(Run({"attention"}, admin_).out, HasSubstr("by token:first-admin: renewed on Monday"));
}

TEST_F(KnownCallers, GrantOfADataSetCoversItsLedgersAlone) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);  // over d
  const auto ask = [&](const std::string& token) {
    return Run({"epsilon", "--delta", "1e-5", "--ledger", "run"}, {"--token-file", token});
  };
  const RunResult allowed = ask(Token("ours", "analyst projects/default data-set=d"));
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_EQ(ask(Token("theirs", "analyst projects/default data-set=e")).exit_code, 4);
  // It may make ledgers over that one, and over no other.
  EXPECT_EQ(Create("mine", {"--token-file", Token("maker", "trainer projects/default data-set=d")})
                .exit_code,
            0);
  EXPECT_EQ(Create("other", {"--token-file", Token("alien", "trainer projects/default data-set=e")})
                .exit_code,
            4);
}

TEST_F(KnownCallers, OpenWritersAreCalledMissingByCreatorAndAdministratorsAlone) {
  for (const char* ledger : {"run", "second"}) {
    ASSERT_EQ(Create(ledger, trainer_).exit_code, 0);
  }
  const std::string events =
      folder_.Write("events", R"({"mechanism":{"gaussian":{"noiseMultiplier":1}}})");
  const std::vector<std::string> other = {"--token-file",
                                          Token("other", "trainer projects/default")};
  for (const char* ledger : {"run", "second"}) {
    // The command line's own writer, cli, is the trainer's too.
    for (const char* writer : {"w", "cli"}) {
      ASSERT_EQ(Run({"ledger", "append", ledger, "--events", events, "--writer", writer}, trainer_)
                    .exit_code,
                0);
    }
    const RunResult foreign = Run({"ledger", "append", ledger, "--events", events}, other);
    EXPECT_EQ(foreign.exit_code, 4);
    EXPECT_THAT(foreign.err, HasSubstr("writer: cli belongs to another caller in this ledger"));
    const std::vector<std::string> seal = {"ledger", "seal", ledger, "--yes"};
    const RunResult refused = Run(seal, other);
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_THAT(refused.err, HasSubstr("missing_writers: token:other has no right to seal"));
    const RunResult shown = Run({"ledger", "show", ledger}, other);
    EXPECT_THAT(shown.out, AllOf(HasSubstr("OPEN"), HasSubstr("spiffe://example.org/trainer")));
    const RunResult sealed = Run(seal, ledger == std::string("run") ? trainer_ : admin_);
    EXPECT_EQ(sealed.exit_code, 0) << sealed.err;
    EXPECT_THAT(Run({"ledger", "read", ledger}, admin_).out,
                HasSubstr(R"("caller":"spiffe://example.org/trainer")"));
  }
  const std::string bundle = folder_.File("run.bundle");
  ASSERT_EQ(Run({"ledger", "export", "run", "--output", bundle}, admin_).exit_code, 0);
  const RunResult verified = Dpledger({"ledger", "verify", bundle, "--self-signed"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
}

TEST_F(KnownCallers, CurlGetsTheAnswerOfTheCommandLine) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  const std::string token = Token("analyst", "analyst projects/default");
  const RunResult by_command =
      Run({"epsilon", "--delta", "1e-5", "--ledger", "run", "--json"}, {"--token-file", token});
  ASSERT_EQ(by_command.exit_code, 0) << by_command.err;
  const std::string header = absl::StrCat("Authorization: Bearer ",
                                          ReadFile(token)->substr(0, ReadFile(token)->find('\n')));
  const std::string question =
      R"({"subject":{"ledgers":["projects/default/ledgers/run"]},"delta":1e-5})";
  const std::string path = "/dpledger.v1.AccountingService/ComputeEpsilon";
  const RunResult by_curl = Curl(
      {"--header", header, "--header", "Content-Type: application/json", "--data", question}, path);
  EXPECT_THAT(by_curl.out, HasSubstr(R"("method":"gaussian")"));
  const RunResult without = Curl({"--header", "Content-Type: application/json", "--data", question,
                                  "--write-out", " %{http_code}"},
                                 path);
  EXPECT_THAT(without.out, AllOf(HasSubstr("unauthenticated"), HasSubstr(" 401")));
  const RunResult two =
      Curl({"--header", header, "--header", header, "--header", "Content-Type: application/json",
            "--data", question, "--write-out", " %{http_code}"},
           path);
  EXPECT_THAT(two.out, HasSubstr(" 400"));
  EXPECT_THAT(Curl({}, "/healthz").out, HasSubstr("ok"));
  EXPECT_THAT(Curl({}, "/metrics").out, HasSubstr("show a token"));
  EXPECT_THAT(Curl({"--header", header}, "/metrics").out, HasSubstr("grpc_server_handled_total"));
}

TEST_F(KnownCallers, RevokedTokenEndsARunAndARotatedOneDoesNot) {
  const std::string token = Token("run", "trainer projects/default");
  client::RecorderOptions options;
  options.server = address_;
  options.server.ca = ca_;
  options.server.token_file = token;
  options.ledger = "projects/default/ledgers/long";
  options.declaration.set_dataset("d");
  options.declaration.set_unit_of_privacy("example");
  options.declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  options.declaration.set_parameters(v1::FIXED);
  options.spool_folder = folder_.path();
  options.release_timeout = absl::Seconds(6);
  auto recorder = client::PrivacyRecorder::Open(options);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  const auto record = [&]() -> absl::Status {
    v1::SamplingScheme scheme;
    scheme.mutable_poisson()->set_probability(0.01);
    v1::SumQuery query;
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(1);
    const absl::StatusOr<uint64_t> round = (*recorder)->RecordRound(scheme, {query});
    if (!round.ok()) return round.status();
    return (*recorder)->AwaitReleasable(*round);
  };
  ASSERT_EQ(record(), absl::OkStatus());

  // The old token ends at once; the file has the next one only after a while.
  const std::string fresh = folder_.File("fresh");
  ASSERT_EQ(
      Run({"admin", "token", "rotate", "run", "--grace", "0s", "--out", fresh}, admin_).exit_code,
      0);
  secrets_.push_back(*ReadFile(fresh));
  absl::SleepFor(absl::Seconds(2));
  ASSERT_EQ(rename(fresh.c_str(), token.c_str()), 0);
  EXPECT_EQ(record(), absl::OkStatus());

  ASSERT_EQ(Run({"admin", "token", "revoke", "run"}, admin_).exit_code, 0);
  absl::SleepFor(absl::Seconds(2));
  const absl::Status refused = record();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDeadlineExceeded) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("revoked"));
  EXPECT_THAT(*ReadFile(folder_.File("log")), HasSubstr("REVOKED_TOKEN"));
}

// From the first token to the record of it all, on one server.
TEST_F(KnownCallers, WalkOfATeam) {
  const std::string analyst = Token("analyst", "analyst projects/default");
  const std::vector<std::string> auditor = {"--token-file",
                                            Token("auditor", "auditor projects/default")};
  const std::string second = Token("second", "trainer projects/default");

  // One trainer by its certificate, another one by a token, each with a stream of its own.
  const auto open = [&](const std::string& ledger, bool by_certificate) {
    client::RecorderOptions options;
    options.server = address_;
    options.server.ca = ca_;
    if (by_certificate) {
      options.server.certificate = folder_.File("trainer.pem");
      options.server.key = folder_.File("trainer.key");
    } else {
      options.server.token_file = second;
    }
    options.ledger = absl::StrCat("projects/default/ledgers/", ledger);
    options.declaration.set_dataset("d");
    options.declaration.set_unit_of_privacy("example");
    options.declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
    options.declaration.set_parameters(v1::FIXED);
    options.spool_folder = folder_.File(ledger);
    mkdir(options.spool_folder.c_str(), 0700);
    options.release_timeout = absl::Seconds(5);
    return client::PrivacyRecorder::Open(options);
  };
  const auto train = [](client::PrivacyRecorder& recorder, int rounds) -> absl::Status {
    v1::SamplingScheme scheme;
    scheme.mutable_poisson()->set_probability(0.01);
    v1::SumQuery query;
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(1);
    for (int i = 0; i < rounds; ++i) {
      const absl::StatusOr<uint64_t> round = recorder.RecordRound(scheme, {query});
      if (!round.ok()) return round.status();
      if (absl::Status released = recorder.AwaitReleasable(*round); !released.ok()) return released;
    }
    return absl::OkStatus();
  };
  auto first_run = open("first", true), second_run = open("second", false);
  ASSERT_TRUE(first_run.ok() && second_run.ok()) << first_run.status() << second_run.status();
  ASSERT_EQ(train(**first_run, 20), absl::OkStatus());
  ASSERT_EQ(train(**second_run, 20), absl::OkStatus());

  // curl and the command line are told the same.
  const std::string bearer = ReadFile(analyst)->substr(0, ReadFile(analyst)->find('\n'));
  const RunResult curl =
      Curl({"--header", absl::StrCat("Authorization: Bearer ", bearer), "--header",
            "Content-Type: application/json", "--data",
            R"({"subject":{"ledgers":["projects/default/ledgers/first"]},"delta":1e-5})"},
           "/dpledger.v1.AccountingService/ComputeEpsilon");
  const RunResult command =
      Run({"epsilon", "--delta", "1e-5", "--ledger", "first", "--json"}, {"--token-file", analyst});
  // The number behind `"name":` in the interval; as a number, for JSON may write it in two ways.
  const auto end = [](const std::string& json, const std::string& name) {
    const size_t interval = json.find("\"epsilon\":{");
    const size_t at = json.find(absl::StrCat("\"", name, "\":"), interval);
    if (interval == std::string::npos || at == std::string::npos) return 0.0;
    return std::strtod(json.c_str() + at + name.size() + 3, nullptr);
  };
  EXPECT_GT(end(curl.out, "lower"), 0.4);
  EXPECT_EQ(end(curl.out, "lower"), end(command.out, "lower"));
  EXPECT_EQ(end(curl.out, "upper"), end(command.out, "upper"));

  const std::string bundle = folder_.File("first.bundle");
  ASSERT_EQ(Run({"ledger", "export", "first", "--output", bundle}, auditor).exit_code, 0);
  EXPECT_EQ(Dpledger({"ledger", "verify", bundle, "--self-signed"}).exit_code, 0);
  EXPECT_EQ(Run({"ledger", "note", "first", "--text", "mine"}, auditor).exit_code, 4);

  ASSERT_EQ(Run({"admin", "token", "revoke", "second"}, admin_).exit_code, 0);
  absl::SleepFor(absl::Seconds(1));
  EXPECT_FALSE(train(**second_run, 1).ok());
  EXPECT_EQ(train(**first_run, 1), absl::OkStatus()) << "the other one's stream goes on";

  absl::SleepFor(absl::Seconds(2));
  const std::string record = Run({"admin", "access", "--json"}, admin_).out;
  for (const char* said :
       {"CreateToken\",\"about\":\"analyst", "CreateToken\",\"about\":\"auditor",
        "CreateToken\",\"about\":\"second", "RevokeToken\",\"about\":\"second",
        "\"permission\":\"append\",\"resource\":\"projects/default/ledgers/first\"",
        "the token of second was revoked"}) {
    EXPECT_THAT(record, HasSubstr(said));
  }
  // Who wrote is in the ledgers.
  EXPECT_THAT(Run({"ledger", "read", "first"}, admin_).out,
              HasSubstr(R"("caller":"spiffe://example.org/trainer")"));
  EXPECT_THAT(Run({"ledger", "read", "second"}, admin_).out,
              HasSubstr(R"("caller":"token:second")"));
}

// All of it is in the access record, and only administrators see that.
TEST_F(KnownCallers, WhoDidWhatIsRecorded) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  const std::vector<std::string> auditor = {"--token-file", Token("auditor", "auditor *")};
  ASSERT_EQ(Run({"ledger", "show", "run"}, auditor).exit_code, 0);
  EXPECT_EQ(Run({"ledger", "note", "run", "--text", "mine"}, auditor).exit_code, 4);
  EXPECT_EQ(Run({"ledger", "list"}, {}).exit_code, 4) << "without any credentials";
  EXPECT_EQ(Run({"admin", "access"}, auditor).exit_code, 4);
  EXPECT_EQ(Run({"budget", "create", "pot", "--dataset", "d", "--unit", "user", "--adjacency",
                 "add-or-remove-one", "--filter", "zcdp:1"},
                trainer_)
                .exit_code,
            4);

  absl::SleepFor(absl::Seconds(2));
  const RunResult shown = Run({"admin", "access"}, admin_);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("token:first-admin at 127.0.0.1"));
  EXPECT_THAT(shown.out, HasSubstr("administers: CreateToken auditor\n"));
  EXPECT_THAT(shown.out, HasSubstr("refused append projects/default/ledgers/run"));
  EXPECT_THAT(shown.out, HasSubstr("refused administer projects/default/ledgers/pot"));
  const RunResult refused = Run({"admin", "access", "--refused", "--json"}, admin_);
  EXPECT_THAT(refused.out, HasSubstr("\"caller\":\"token:auditor\""));
  EXPECT_THAT(refused.out, Not(HasSubstr("administers")));
  EXPECT_THAT(Run({"admin", "access", "--month", "2026-13"}, admin_).err,
              HasSubstr("must be YYYY-MM"));

  // Who exported the ledger is one question; the others that looked at it are not in its answer.
  const std::string run = folder_.File("run.bundle");
  ASSERT_EQ(Run({"ledger", "export", "run", "--output", run}, auditor).exit_code, 0);
  ASSERT_EQ(Run({"ledger", "read", "run"}, trainer_).exit_code, 0);
  const auto exports = [&] {
    return Run({"admin", "access", "run", "--permission", "export"}, admin_).out;
  };
  const absl::Time until = absl::Now() + absl::Seconds(90);  // reads are recorded by the minute
  while (exports().empty() && absl::Now() < until) absl::SleepFor(absl::Seconds(1));
  EXPECT_THAT(exports(),
              AllOf(HasSubstr("token:auditor  export projects/default/ledgers/run  1 time"),
                    HasSubstr(" entries"), Not(HasSubstr("spiffe"))));
  const std::string reads = Run({"admin", "access", "run"}, admin_).out;
  EXPECT_THAT(reads, AllOf(HasSubstr("read_entries"), HasSubstr("refused append")));
  EXPECT_THAT(reads, Not(HasSubstr("administers: CreateToken")));

  // It is evidence like any other ledger.
  const std::string month = absl::FormatTime("%Y-%m", absl::Now(), absl::UTCTimeZone());
  const std::string ledger = absl::StrCat("projects/access-record/ledgers/", month);
  const std::string bundle = folder_.File("access.bundle");
  const RunResult exported = Run({"ledger", "export", ledger, "--output", bundle}, admin_);
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(Dpledger({"ledger", "verify", bundle, "--self-signed"}).exit_code, 0);
  EXPECT_EQ(Run({"ledger", "note", ledger, "--text", "not me"}, admin_).exit_code, 4);
}

TEST_F(KnownCallers, WitnessReadsTheRegistryOverTlsWithItsToken) {
  ASSERT_EQ(Create("run", trainer_).exit_code, 0);
  const std::string auditor = Token("witness", "auditor *");
  const std::string bearer = ReadFile(auditor)->substr(0, ReadFile(auditor)->find('\n'));
  const std::string note =
      Curl({"--header", absl::StrCat("Authorization: Bearer ", bearer)}, "/tlog/checkpoint").out;
  ASSERT_THAT(note, HasSubstr("\n\n"));
  EXPECT_THAT(Curl({"--include"}, "/tlog/checkpoint").out,
              AllOf(HasSubstr(" 401"), HasSubstr("www-authenticate: Bearer")));
  EXPECT_THAT(Curl({"--include", "--header", absl::StrCat("Authorization: Bearer ", bearer)},
                   "/tlog/tile/0/000.p/1")
                  .out,
              HasSubstr("cache-control: private"));
  const std::string log = *ReadFile(folder_.File("log"));
  const std::string field = "\"verifier_key\":\"";
  const size_t key_at = log.find(field) + field.size();
  const std::string key = log.substr(key_at, log.find('"', key_at) - key_at);
  const std::string origin = key.substr(0, key.find('+'));
  const std::string request = folder_.Write("request", absl::StrCat("old 0\n\n", note));

  int count = 0;
  const auto cosign = [&](const std::vector<std::string>& more) {
    const std::string name = absl::StrCat("witness-", ++count);
    const std::string port_file = folder_.File(absl::StrCat(name, ".port"));
    std::vector<std::string> command = {BinaryPath("dpledger-witness"),
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--port-file",
                                        port_file,
                                        "--signing-key",
                                        folder_.File(absl::StrCat(name, ".key")),
                                        "--name",
                                        "example.org/w",
                                        "--state",
                                        folder_.File(absl::StrCat(name, ".state")),
                                        "--log-key",
                                        key,
                                        "--log-server",
                                        absl::StrCat(origin, "=https://", address_)};
    command.insert(command.end(), more.begin(), more.end());
    const pid_t pid = StartProgram(command, folder_.File(absl::StrCat(name, ".log")));
    const std::string at = AwaitFirstLine(pid, port_file, folder_.File(absl::StrCat(name, ".log")));
    const RunResult answer =
        RunProgram({"/usr/bin/curl", "--silent", "--max-time", "30", "--data-binary",
                    absl::StrCat("@", request), "--write-out", " %{http_code}",
                    absl::StrCat("http://", at, "/add-checkpoint")});
    EXPECT_EQ(StopProgram(pid, SIGTERM), 0);
    return answer.out;
  };
  EXPECT_THAT(cosign({"--ca", ca_, "--token-file", auditor}),
              AllOf(HasSubstr("example.org/w"), HasSubstr(" 200")));
  // Controls: without the token it may not read, and by the system's list nobody is that server.
  EXPECT_THAT(cosign({"--ca", ca_}), AllOf(HasSubstr("show a token"), HasSubstr(" 503")));
  EXPECT_THAT(cosign({"--token-file", auditor}), HasSubstr(" 503"));
}

TEST_F(KnownCallers, ServerWithAnotherCertificateIsNotSpokenTo) {
  const TestAuthority other("another authority");
  const RunResult refused =
      Dpledger({"ledger", "list", "--server", address_, "--ca",
                folder_.Write("other.pem", other.certificate()), "--token-file", admin_[1]});
  EXPECT_EQ(refused.exit_code, 6) << refused.err;
  // Nor is a token shown to a server without TLS on another machine.
  const RunResult plain =
      Dpledger({"ledger", "list", "--server", "http://192.0.2.1:7070", "--token-file", admin_[1]});
  EXPECT_EQ(plain.exit_code, 2);
  EXPECT_THAT(plain.err, HasSubstr("must be https://"));
}

TEST_F(KnownCallers, EnvironmentAndConfigNameTheServer) {
  const std::vector<std::string> list = {BinaryPath("dpledger"), "ledger", "list"};
  const RunResult by_environment = RunProgram(
      list,
      {{"DPLEDGER_SERVER", address_}, {"DPLEDGER_CA", ca_}, {"DPLEDGER_TOKEN_FILE", admin_[1]}});
  EXPECT_EQ(by_environment.exit_code, 0) << by_environment.err;
  mkdir(folder_.File("dpledger").c_str(), 0700);
  folder_.Write("dpledger/client.conf",
                absl::StrCat("# ours\nserver = ", address_, "\nca = ../ca.pem\ntoken-file = \"",
                             admin_[1], "\"\n"));
  const std::map<std::string, std::string> home = {{"XDG_CONFIG_HOME", folder_.path()}};
  const RunResult by_file = RunProgram(list, home);
  EXPECT_EQ(by_file.exit_code, 0) << by_file.err;
  // The file's token is its server's alone: another one does not get it.
  std::vector<std::string> elsewhere = list;
  elsewhere.insert(elsewhere.end(), {"--server", absl::StrCat("https://", address_), "--ca", ca_});
  EXPECT_EQ(RunProgram(elsewhere, home).exit_code, 4);
  EXPECT_THAT(RunProgram(list, {{"DPLEDGER_SERVER", "127.0.0.1:1"}}).err,
              HasSubstr("server 127.0.0.1:1: "));
  folder_.Write("dpledger/client.conf", "server = a:1\nport = 7\n");
  const RunResult wrong = RunProgram(list, home);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("client.conf line 2"));
  // One that cannot be read may demand a signature: it is not as if it were not there.
  std::filesystem::remove(folder_.File("dpledger/client.conf"));
  mkdir(folder_.File("dpledger/client.conf").c_str(), 0700);
  std::vector<std::string> named = list;
  named.insert(named.end(), {"--server", address_, "--ca", ca_, "--token-file", admin_[1]});
  const RunResult unread = RunProgram(named, home);
  EXPECT_NE(unread.exit_code, 0);
  EXPECT_THAT(unread.err, HasSubstr("dpledger/client.conf"));
  // The control: where nobody can look there is none, as in a HOME that is another user's.
  folder_.Write("home", "no folder");
  EXPECT_EQ(RunProgram(named, {{"XDG_CONFIG_HOME", folder_.File("home")}}).exit_code, 0);
  // A token where its file belongs is not shown.
  named.back() = "dpl_secretsecretsecret";
  const RunResult secret = RunProgram(named);
  EXPECT_NE(secret.exit_code, 0);
  EXPECT_THAT(secret.err, HasSubstr("and not the token itself"));
  EXPECT_THAT(secret.err, Not(HasSubstr("secretsecret")));
  const RunResult none = RunProgram(list, {{"XDG_CONFIG_HOME", folder_.File("nothing")}});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("DPLEDGER_SERVER"));
}

TEST(ServerFlags, AddressesOfOthersNeedTlsAndIdentity) {
  const auto refusal = [](std::vector<std::string> more) {
    more.insert(more.begin(), {BinaryPath("dpledger-server"), "--listen", "0.0.0.0:0"});
    const RunResult result = RunProgram(more);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(refusal({}), HasSubstr("give --cert and --cert-key for TLS"));
  EXPECT_THAT(refusal({"--cert", "c", "--cert-key", "k"}), HasSubstr("give --identity"));
  EXPECT_THAT(refusal({"--identity"}), HasSubstr("give --cert and --cert-key for TLS"));
  EXPECT_THAT(refusal({"--cert", "c"}), HasSubstr("--cert: must be given with --cert-key"));
  EXPECT_THAT(refusal({"--client-ca", "c"}), HasSubstr("--client-ca: must be given with --cert"));
  EXPECT_THAT(refusal({"--policy", "p"}), HasSubstr("--identity: must be given"));
  EXPECT_THAT(refusal({"--identity", "--jwt-issuer", "a,b"}), HasSubstr("ISSUER,AUDIENCE"));
}

}  // namespace
}  // namespace dpledger::testing
