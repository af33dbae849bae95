// Every command prints with --json the message that docs/json.md says, no more and no less; and an
// answer shows as text all that it stands on.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/answer_output.h"
#include "dpledger/v1/command.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"
#include "events/proto_json.h"
#include "tests/cli/events.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"
#include "tests/registry/signed_registry.h"

namespace dpledger::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// Runs every command against one server, and keeps which definitions were met.
class Answers : public ::testing::Test {
 protected:
  // The command prints such a message, with all that it holds.
  template <typename Message>
  Message Expect(Words arguments, int exit_code = 0) {
    arguments.push_back("--json");
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << ::testing::PrintToString(arguments) << result.err;
    Message message;
    const absl::Status parsed = events::MessageFromJson(result.out, "it", message);
    EXPECT_TRUE(parsed.ok()) << ::testing::PrintToString(arguments) << result.out << parsed;
    EXPECT_EQ(events::MessageToJson(message, events::Zeros::kPrinted) + "\n", result.out);
    EXPECT_GT(message.ByteSizeLong(), 0u) << ::testing::PrintToString(arguments);
    return message;
  }
  Words On(Words arguments) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return arguments;
  }
  // A question about each kind of subject.
  template <typename Message>
  void Ask(const Words& question) {
    for (const Words& subject : std::vector<Words>{{"--events", file_},
                                                   {"--noise-multiplier", "1", "--steps", "3"},
                                                   On({"--ledger", "run"}),
                                                   On({"--ledger", "run", "--ledger", "other"}),
                                                   On({"--ledger", "child"})}) {
      Words arguments = question;
      arguments.insert(arguments.end(), subject.begin(), subject.end());
      Expect<Message>(arguments);
    }
  }

  ServerProcess server_;
  TemporaryFolder folder_;
  const std::string file_ = folder_.Write("run.jsonl", PoissonRounds("0.01", "1", "100"));
};

TEST_F(Answers, EveryCommandPrintsAMessage) {
  ASSERT_TRUE(server_.running());
  Expect<v1::Ledger>(
      On(CreateLedger("run", "d", {"--plan-independent", "--planned-rounds", "900"})));
  Expect<v1::Ledger>(On(CreateLedger("other", "d", {"--plan-independent"})));
  for (const auto& [name, filter] : std::map<std::string, std::string>{
           {"adaptive", "rdp:8:2"}, {"adaptive-z", "zcdp:0.5"}, {"adaptive-g", "gdp:1"}}) {
    Expect<v1::Ledger>(
        On(CreateLedger(name, "d", {"--parameters", "adaptive", "--filter", filter})));
  }
  for (const char* name : {"run", "other", "adaptive"}) {
    Expect<v1::Appended>(On({"ledger", "append", name, "--events", file_}));
  }
  Expect<v1::Appended>(On({"ledger", "note", "run", "--text", "moved"}));
  Expect<v1::Appended>(On({"ledger", "correct", "run", "--sequence", "1", "--text", "σ was 1.1"}));
  Expect<v1::Ledger>(On({"ledger", "fork", "run", "child", "--reason", "again"}));
  Expect<v1::Appended>(On({"ledger", "append", "child", "--events", file_}));
  Expect<v1::Ledger>(On({"ledger", "show", "child"}));
  Expect<v1::ListLedgersResponse>(On({"ledger", "list"}));
  Expect<v1::ListLedgersResponse>(
      On({"ledger", "list", "--filter", "rounds > 0", "--order-by", "size"}));
  Expect<v1::ListDatasetsResponse>(On({"ledger", "datasets", "--project", "-"}));
  Expect<v1::ListAttentionResponse>(On({"attention"}));
  v1::ListAttentionResponse attention;
  do {  // until all that was appended has been looked at
    const RunResult listed = Dpledger(On({"attention", "--json"}));
    attention.Clear();
    ASSERT_TRUE(events::MessageFromJson(listed.out, "it", attention).ok()) << listed.err;
  } while (attention.unexamined() > 0);
  ASSERT_GT(attention.items_size(), 0);
  Expect<v1::AttentionItem>(
      On({"acknowledge", attention.items(0).id(), "--text", "known", "--assign", "the night"}));
  Expect<v1::EntriesRead>(On({"ledger", "read", "run"}));

  Ask<v1::ComputeEpsilonResponse>({"epsilon", "--delta", "1e-5"});
  Ask<v1::ComputeDeltaResponse>({"delta", "--epsilon", "1"});
  Expect<v1::ComputeEpsilonResponse>(On({"epsilon", "--delta", "1e-5", "--ledger", "adaptive"}));
  Ask<v1::ComputeProfileResponse>({"profile", "--epsilons", "0.5,1"});
  Ask<v1::ComputeProfileResponse>({"profile", "--deltas", "1e-5,1e-4"});
  Expect<v1::ComputeProfileResponse>(
      {"profile", "--trade-off", "--priors", "0.5", "--gaussian-fit", "1e-9", "--events", file_});
  const Words one_run = {"audit",     "--canaries", "1000",    "--guesses", "100",
                         "--correct", "55",         "--delta", "1e-5"};
  const Words many_runs = {"audit", "--runs-with",    "50", "--detected-with",    "20", "--delta",
                           "1e-5",  "--runs-without", "50", "--detected-without", "19"};
  for (const Words& audit : {one_run, many_runs}) {
    Expect<v1::AuditClaimResponse>(audit);
    Words claim = audit;
    claim.insert(claim.end(), {"--events", file_});
    Expect<v1::AuditClaimResponse>(claim);
  }
  const Words target = {"calibrate", "--epsilon", "1", "--delta", "1e-6"};
  const auto calibrate = [&](const Words& more) {
    Words arguments = target;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  Expect<v1::CalibrateResponse>(calibrate({"--solve", "noise-multiplier", "--steps", "100",
                                           "--compare", "--sampling-probability", "0.01"}));
  Expect<v1::CalibrateResponse>(
      calibrate({"--solve", "steps", "--noise-multiplier", "2", "--sampling-probability", "0.01"}));
  Expect<v1::CalibrateResponse>(
      calibrate({"--solve", "sampling-probability", "--noise-multiplier", "2", "--steps", "100"}));
  Expect<v1::CalibrateResponse>(calibrate({"--events", file_, "--hole", "events[0].rounds.count"}));
  Expect<v1::CalibrationGrid>(calibrate({"--solve", "noise-multiplier", "--steps", "100", "--grid",
                                         "batch-size=10,100", "--population", "1000"}));
  Expect<v1::CalibrationGrid>(calibrate({"--solve", "noise-multiplier", "--sampling-probability",
                                         "0.1", "--grid", "steps=10", "--method", "gaussian"}));
  for (const Words& trials : std::vector<Words>{{"negative-binomial", "--eta", "1"},
                                                {"poisson"},
                                                {"fixed"},
                                                {"binomial", "--most-trials", "5"},
                                                {"least-cost"}}) {
    Words arguments = {"tuning", "--delta",  "1e-5", "--mean-trials",
                       "4",      "--events", file_,  "--trials"};
    arguments.insert(arguments.end(), trials.begin(), trials.end());
    Expect<v1::ComputeTuningCostResponse>(arguments);
  }

  const std::string bundle = folder_.File("run.bundle");
  Expect<v1::LedgerExported>(
      On({"ledger", "export", "run", "--output", bundle, "--delta", "1e-5"}));
  Expect<v1::LedgerVerified>({"ledger", "verify", "--self-signed", bundle, "--epsilon", "1",
                              "--delta", "1e-5", "--group-size", "2"});
  Expect<v1::LedgerVerified>(On({"ledger", "verify", "--self-signed", "child"}));
  Expect<v1::Ledger>(On({"ledger", "import", "--self-signed", bundle, "--as", "copy"}));
  Expect<v1::ComputeEpsilonResponse>(On({"epsilon", "--delta", "1e-5", "--ledger", "copy"}));
  Expect<v1::Ledger>(On({"ledger", "seal", "run"}));
  const std::string keys =
      folder_.Write("keys", RunProgram({"/bin/tar", "-xOf", bundle, "keys"}).out);
  Expect<v1::RegistryFollowed>(
      On({"registry", "follow", "--key-file", keys, "--state", folder_.File("state"), "--once"}));
  registry::SignedRegistry bent;
  bent.Key(1).Register("a", 5, v1::SEALED).Register("a", 3).MapRoot();
  for (const auto& [path, content] : bent.Files()) {
    const std::filesystem::path file = folder_.File("mirror/" + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  const std::string bent_key = registry::TestVerifierKey(1).ToText();
  Expect<v1::CommandFailed>({"registry", "follow", "--mirror", folder_.File("mirror"), "--key",
                             bent_key, "--state", folder_.File("bent"), "--once"},
                            3);
  Expect<v1::ContradictionProved>(
      {"registry", "check", folder_.File("bent.contradiction"), "--key", bent_key});

  // A trainer leaves a spool behind; of this one the server has everything.
  const std::string train = absl::StrCat("cd ", folder_.path(), " && ", BinaryPath("memorization"),
                                         " --ledger heart --target-epsilon 1 --population 100 ",
                                         "--batch-size 100 --steps 2 --server ", server_.address());
  ASSERT_EQ(RunProgram({"/bin/bash", "-c", train}).exit_code, 0);
  Expect<v1::SpoolsImported>(On({"spool", "import", folder_.File("spool-heart")}));

  Expect<v1::Statement>(On({"statement", "--ledger", "run"}));
  Expect<v1::FileWritten>(On({"statement", "--ledger", "run", "--output", folder_.File("s")}));
  const std::string issued = folder_.File("issued");
  Expect<v1::FileWritten>(On({"statement", "--ledger", "run", "--output", issued, "--issue",
                              "--organization", "o", "--issuer", "n", "--role", "r"}));
  Expect<v1::ListStatementsResponse>(On({"statements", "list"}));
  Expect<v1::StatementChecked>(On({"statements", "check", issued}));
  Expect<v1::IssuedStatement>(
      On({"statements", "withdraw", "1", "--ledger", "run", "--reason", "wrong"}));

  Expect<v1::Operation>(On({"recompute", "start", "--wait", "--request-id", "again"}));
  const RunResult begun = Dpledger(On({"recompute", "start", "--request-id", "again"}));
  const std::string operation = begun.out.substr(begun.out.find("operations/"), 43);
  Expect<v1::RecomputeResults>(On({"recompute", "show", operation, "--results"}));
  Expect<v1::Operation>(On({"recompute", "cancel", operation}));
  Expect<v1::ListOperationsResponse>(On({"recompute", "list"}));
  Expect<v1::ListAnswersResponse>(On({"recompute", "history", "run"}));

  Expect<v1::CommandFailed>({"epsilom"}, 2);
  Expect<v1::CommandFailed>({"epsilon", "--delta", "1e-5", "--events", folder_.File("none")}, 1);
  Expect<v1::CommandFailed>(On({"ledger", "show", "nobody"}), 1);
  std::ostringstream damaged;
  damaged << std::ifstream(bundle, std::ios::binary).rdbuf();
  std::string bytes = damaged.str();
  bytes[bytes.rfind("tile/entries/") + 512 + 40] ^= 1;
  Expect<v1::CommandFailed>({"ledger", "verify", folder_.Write("damaged.bundle", bytes)}, 3);
}

// ---- what an answer stands on ----

// A root of 32 such bytes.
std::string Repeated(const std::string& byte) {
  std::string text;
  for (int i = 0; i < 32; ++i) text += byte;
  return text;
}

v1::ComputeEpsilonResponse Example() {
  v1::ComputeEpsilonResponse answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        epsilon { lower: 0.5 upper: 1 }
        delta: 1e-5
        planned_epsilon { lower: 2 upper: inf }
        details {
          method: "pld"
          adjacency: ADD_OR_REMOVE_ONE
          parameters: FIXED
          regime: FIXED_PLAN
          schemes: "poisson"
          assumptions: "one"
          warnings: "two"
          entries: 12
          version: "9"
          group_size: 3
          declaration_source: DECLARED
          guarantee: "what it says in words"
          ledgers {
            name: "projects/p/ledgers/a"
            size: 7
            dataset: "mnist"
            unit_of_privacy: "user"
            state: SEALED
            rounds: 10
            planned_rounds: 40
            corrections { sequence: 6 corrected_sequence: 2 text: "sigma was really 0.3" }
            missing { writer: "w3" incarnation: 4 reason: "its spool was refused" }
            missing { writer: "w4" reason: "it has not closed" }
            fork { parent: "projects/p/ledgers/root" parent_size: 3 reason: "warm" }
            import { origin: "there.example/x" size: 6 }
          }
          ledgers {
            name: "projects/p/ledgers/b"
            size: 1
            dataset: "mnist"
            unit_of_privacy: "user"
            state: OPEN
            rounds: 2
          }
          filter_spending { ledger: "l" filter: "zcdp" bound: 0.5 spent: 0.25 }
        })pb",
      &answer));
  for (v1::LedgerReference& ledger : *answer.mutable_details()->mutable_ledgers()) {
    ledger.set_root_hash(std::string(32, '\x0f'));
    if (ledger.has_fork()) ledger.mutable_fork()->set_parent_root(std::string(32, '\x0e'));
    if (ledger.has_import()) ledger.mutable_import()->set_root_hash(std::string(32, '\x0d'));
  }
  return answer;
}

// Releases that may be missing come right below the bound that may be short for it.
TEST(AnswerText, ShowsAllThatItStandsOn) {
  EXPECT_EQ(cli::ToText(Example()),
            "epsilon            1   true value in [0.5, 1]\n"
            "MAY BE SHORT       projects/p/ledgers/a, writer w3, opened by entry 4: its spool was "
            "refused\n"
            "MAY BE SHORT       projects/p/ledgers/a, writer w4: it has not closed\n"
            "epsilon of plan    inf   true value in [2, inf]\n"
            "delta              1e-05\n"
            "method             pld\n"
            "adjacency          ADD_OR_REMOVE_ONE\n"
            "parameters         FIXED\n"
            "regime             FIXED_PLAN\n"
            "guarantee          what it says in words\n"
            "declaration        declared by the ledger\n"
            "group size         3 records\n"
            "schemes            poisson\n"
            "entries            12\n"
            "ledger             projects/p/ledgers/a at size 7\n"
            "  root             " +
                Repeated("0f") +
                "\n"
                "  data set         mnist\n"
                "  unit of privacy  user\n"
                "  state            SEALED\n"
                "  rounds           10 of 40 planned\n"
                "  fork of          projects/p/ledgers/root at size 3\n"
                "    root           " +
                Repeated("0e") +
                "\n"
                "    reason         warm\n"
                "  copy of          there.example/x at size 6\n"
                "    root           " +
                Repeated("0d") +
                "\n"
                "  correction       entry 6 of entry 2, changes no number: sigma was really 0.3\n"
                "ledger             projects/p/ledgers/b at size 1\n"
                "  root             " +
                Repeated("0f") +
                "\n"
                "  data set         mnist\n"
                "  unit of privacy  user\n"
                "  state            OPEN\n"
                "  rounds           2, no plan is stated\n"
                "filter             zcdp, bound 0.5: spent 0.25 by l\n"
                "assumes            one\n"
                "warning            two\n"
                "version            9\n");
}

// The number of an odometer is no interval that holds a true value.
TEST(AnswerText, SaysThatAnOdometerIsNoDifferentialPrivacy) {
  v1::ComputeEpsilonResponse answer = Example();
  answer.mutable_details()->set_regime(v1::ODOMETER);
  EXPECT_THAT(cli::ToText(answer),
              AllOf(HasSubstr("epsilon            1   by an odometer, which is no differential "
                              "privacy\n"),
                    HasSubstr("\nregime             ODOMETER\n")));
  v1::ComputeDeltaResponse delta;
  delta.mutable_delta()->set_upper(0.25);
  *delta.mutable_details() = answer.details();
  EXPECT_THAT(cli::ToText(delta), HasSubstr("delta              0.25   by an odometer, "));
  answer.mutable_details()->set_regime(v1::FILTER);
  EXPECT_THAT(cli::ToText(answer), HasSubstr("\nregime             FILTER\n"));
}

// Whatever is asked: the row stands right below the bound, above a profile's points.
TEST(AnswerText, SaysOfEveryQuestionThatItMayBeShort) {
  const v1::AnswerDetails details = Example().details();
  const auto row_of = [&](auto answer, const auto&... more) {
    *answer.mutable_details() = details;
    const std::vector<std::string> lines = absl::StrSplit(cli::ToText(answer, more...), '\n');
    const auto found = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
      return absl::StartsWith(line, "MAY BE SHORT       projects/p/ledgers/a, writer w3, ");
    });
    return found - lines.begin();
  };
  EXPECT_EQ(row_of(v1::ComputeDeltaResponse()), 1);
  EXPECT_EQ(row_of(v1::ComputeTuningCostResponse()), 1);
  EXPECT_EQ(row_of(v1::ComputeProfileResponse(), cli::Asked::kEpsilons), 0);
  v1::AuditClaimResponse audit;
  audit.mutable_claimed_epsilon();
  EXPECT_EQ(row_of(audit), 3);  // below the claimed epsilon
}

TEST(AnswerText, IsShortOnlyWhereReleasesMayBeMissing) {
  v1::ComputeEpsilonResponse answer = Example();
  answer.mutable_details()->mutable_ledgers(0)->clear_missing();
  EXPECT_THAT(cli::ToText(answer), Not(HasSubstr("MAY BE SHORT")));
}

// A grid once rounded to the nearest: 22.330001 of noise was needed, and 22.33 printed.
TEST(AnswerText, RoundsWhatACalibrationFoundToTheSafeSide) {
  v1::CalibrateResponse noise, probability;
  noise.set_noise_multiplier(22.3300010000001);
  probability.set_sampling_probability(0.00123456789);
  v1::CalibrationGrid grid;
  *grid.add_rows()->mutable_answer() = noise;
  *grid.add_rows()->mutable_answer() = probability;
  for (const std::string& text :
       {cli::ToText(noise) + cli::ToText(probability), cli::ToText(grid)}) {
    EXPECT_THAT(text, HasSubstr(" 22.33001"));
    EXPECT_THAT(text, HasSubstr(" 0.001234567"));
  }
}

}  // namespace
}  // namespace dpledger::testing
