// The ledger commands, and questions about ledgers, against a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One server for all tests of this file; each test has its own ledger.
class Ledger : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerProcess(); }
  static void TearDownTestSuite() {
    EXPECT_EQ(server_->Stop(), 0);
    delete server_;
  }
  void SetUp() override {
    ASSERT_TRUE(server_->running());
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (char& c : test) c = static_cast<char>(tolower(c));
    name_ = test;
  }

  static RunResult OnServer(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_->address(), "--json"});
    return Dpledger(arguments);
  }
  static JsonObject Ok(const std::vector<std::string>& arguments) {
    const RunResult result = OnServer(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return JsonObject(result.out);
  }
  static void ExpectError(const std::vector<std::string>& arguments, const std::string& code,
                          const std::string& message) {
    const RunResult result = OnServer(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    const JsonObject error(result.out);
    EXPECT_EQ(error.Text("error.code"), code) << result.err;
    EXPECT_THAT(error.Text("error.message"), HasSubstr(message));
  }

  JsonObject Create(const std::vector<std::string>& more = {}) {
    return Ok(CreateLedger(name_, name_, more));
  }
  std::vector<std::string> Append(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"ledger", "append", name_, "--events", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  double Size() { return Ok({"ledger", "show", name_}).Number("size"); }

  static ServerProcess* server_;
  TemporaryFolder folder_;
  std::string name_;
};
ServerProcess* Ledger::server_ = nullptr;

TEST_F(Ledger, CreateShowsTheDeclaration) {
  const JsonObject made = Create(
      {"--planned-rounds", "100", "--adjacency", "replace-one", "--description", "first \"try\""});
  EXPECT_EQ(made.Text("name"), "projects/default/ledgers/" + name_);
  EXPECT_EQ(made.Text("state"), "OPEN");
  EXPECT_EQ(made.Number("size"), 1);
  EXPECT_EQ(made.Text("rootHash").size(), 44u);
  EXPECT_EQ(made.Text("declaration.adjacency"), "REPLACE_ONE");
  EXPECT_EQ(made.Text("declaration.parameters"), "FIXED");
  EXPECT_EQ(made.Number("declaration.plannedRounds"), 100);
  EXPECT_EQ(made.Text("declaration.description"), "first \"try\"");
  EXPECT_EQ(Ok({"ledger", "show", name_}).Text("rootHash"), made.Text("rootHash"));
}

// Both decide whether the ledger can be answered, alone and with others.
TEST_F(Ledger, ShowTellsTheFilterAndWhetherThePlanIsIndependent) {
  Create({"--plan-independent"});
  const auto text = [&] {
    return Dpledger({"ledger", "show", name_, "--server", server_->address()}).out;
  };
  EXPECT_THAT(text(), HasSubstr("\nplan independent   yes"));
  EXPECT_THAT(OnServer({"ledger", "show", name_}).out, HasSubstr("\"planIndependent\":true"));
  EXPECT_THAT(text(), Not(HasSubstr("\nfilter ")));

  name_ += "-adaptive";
  Create({"--parameters", "adaptive", "--filter", "rdp:8:2.5"});
  EXPECT_THAT(
      text(),
      HasSubstr("\nfilter             rdp at order 8, epsilon at most 2.5; the server refuses "
                "what would cross it\n"));
  const JsonObject shown = Ok({"ledger", "show", name_});
  EXPECT_EQ(shown.Number("declaration.filter.rdp.order"), 8);
  EXPECT_EQ(shown.Number("declaration.filter.rdp.epsilon"), 2.5);
  EXPECT_THAT(text(), Not(HasSubstr("\nplan independent ")));

  name_ += "-fixed";
  Create();
  EXPECT_THAT(text(), HasSubstr("\nplan independent   not said: "));
}

TEST_F(Ledger, CreateAgainIsRefusedUnlessItIsTheSameRequest) {
  Create({"--request-id", "make"});
  EXPECT_EQ(Create({"--request-id", "make"}).Number("size"), 1);
  ExpectError(CreateLedger(name_, "other"), "ALREADY_EXISTS", name_);
}

TEST_F(Ledger, AppendPrintsTheReceipt) {
  Create();
  const std::string file = folder_.Write("f.jsonl", SamplingLine(0) + SumQueryLine(0));
  const JsonObject receipt = Ok(Append(file));
  EXPECT_EQ(receipt.Number("receipt.firstSequence"), 1);
  EXPECT_EQ(receipt.Number("receipt.count"), 2);
  EXPECT_EQ(receipt.Number("receipt.size"), 3);
  const JsonObject shown = Ok({"ledger", "show", name_});
  EXPECT_EQ(shown.Number("size"), 3);
  EXPECT_EQ(shown.Text("rootHash"), receipt.Text("receipt.rootHash"));
}

// 2500 events are three requests; each is stored once however often the command runs.
TEST_F(Ledger, RepeatedAppendIsStoredOnce) {
  Create();
  std::string events;
  for (int round = 0; round < 2500; ++round) absl::StrAppend(&events, SumQueryLine(round));
  const std::string file = folder_.Write("many.jsonl", events);
  const JsonObject first = Ok(Append(file, {"--request-id", "run-1"}));
  EXPECT_EQ(first.Number("receipt.count"), 2500);
  EXPECT_EQ(first.Number("receipt.size"), 2501);
  const JsonObject again = Ok(Append(file, {"--request-id", "run-1"}));
  EXPECT_EQ(again.Text("receipt.rootHash"), first.Text("receipt.rootHash"));
  EXPECT_EQ(again.Number("receipt.firstSequence"), first.Number("receipt.firstSequence"));
  EXPECT_EQ(Size(), 2501);
}

TEST_F(Ledger, RequestIdWithOtherEventsIsRefused) {
  Create();
  Ok(Append(folder_.Write("a.jsonl", SumQueryLine(0)), {"--request-id", "r"}));
  ExpectError(Append(folder_.Write("b.jsonl", SumQueryLine(1)), {"--request-id", "r"}),
              "INVALID_ARGUMENT", "request_id");
  EXPECT_EQ(Size(), 2);
}

TEST_F(Ledger, WrongExpectedSequenceIsAbortedAndStoresNothing) {
  Create();
  const std::string file = folder_.Write("f.jsonl", SumQueryLine(0));
  ExpectError(Append(file, {"--expected-sequence", "5"}), "ABORTED", "expected_sequence");
  EXPECT_EQ(Size(), 1);
  EXPECT_EQ(Ok(Append(file, {"--expected-sequence", "1"})).Number("receipt.size"), 2);
}

TEST_F(Ledger, TornFileSendsNothing) {
  Create();
  const std::string line = SumQueryLine(1);
  const std::string file =
      folder_.Write("torn.jsonl", SumQueryLine(0) + line.substr(0, line.size() / 2));
  ExpectError(Append(file), "INVALID_ARGUMENT", file + ":2: not an event in proto JSON");
  EXPECT_EQ(Size(), 1);
}

TEST_F(Ledger, RoundThatGoesBackIsRefusedByTheServer) {
  Create();
  Ok(Append(folder_.Write("a.jsonl", SumQueryLine(5))));
  ExpectError(Append(folder_.Write("b.jsonl", SumQueryLine(4))), "FAILED_PRECONDITION", "round");
  EXPECT_EQ(Size(), 2);
  // Another writer has rounds of its own.
  Ok(Append(folder_.Write("b.jsonl", SumQueryLine(4)), {"--writer", "second"}));
}

TEST_F(Ledger, UnknownLedgerIsNotFound) {
  const std::string file = folder_.Write("f.jsonl", SumQueryLine(0));
  ExpectError(Append(file), "NOT_FOUND", name_);
  ExpectError({"ledger", "show", name_}, "NOT_FOUND", name_);
  ExpectError({"ledger", "read", name_}, "NOT_FOUND", name_);
  ExpectError({"ledger", "seal", name_}, "NOT_FOUND", name_);
  ExpectError({"epsilon", "--ledger", name_, "--delta", "1e-5"}, "NOT_FOUND", name_);
}

TEST_F(Ledger, SealedLedgerTakesNothingMore) {
  Create();
  const std::string file = folder_.Write("f.jsonl", SumQueryLine(0));
  Ok(Append(file));
  const JsonObject sealed = Ok({"ledger", "seal", name_});
  EXPECT_EQ(sealed.Text("state"), "SEALED");
  ExpectError(Append(folder_.Write("g.jsonl", SumQueryLine(1)), {"--writer", "late"}),
              "FAILED_PRECONDITION", "sealed");
  EXPECT_EQ(Size(), sealed.Number("size"));
}

TEST_F(Ledger, SealDemandsThatOpenWritersAreNamed) {
  Create();
  Ok(Append(folder_.Write("f.jsonl", SumQueryLine(0)), {"--writer", "worker-3"}));
  ExpectError({"ledger", "seal", name_}, "FAILED_PRECONDITION", "worker-3");
  EXPECT_EQ(Ok({"ledger", "show", name_}).Text("state"), "OPEN");
  Ok(Append(folder_.Write("f.jsonl", SumQueryLine(0)), {"--writer", "worker-4"}));
  ExpectError({"ledger", "seal", name_, "--missing-writer", "worker-3", "--yes"},
              "FAILED_PRECONDITION", "and are not named: worker-4;");
  EXPECT_EQ(Ok({"ledger", "show", name_}).Text("state"), "OPEN");
  const std::vector<std::string> seal = {
      "ledger",           "seal",     name_,   "--missing-writer", "worker-3",
      "--missing-writer", "worker-4", "--yes", "--request-id",     "s"};
  const JsonObject sealed = Ok(seal);
  EXPECT_EQ(sealed.Text("state"), "SEALED");
  EXPECT_EQ(Ok(seal).Text("rootHash"), sealed.Text("rootHash")) << "the same request again";
}

TEST_F(Ledger, SealAsksBeforeItLeavesWritersOut) {
  Create();
  Ok(Append(folder_.Write("f.jsonl", SumQueryLine(0)), {"--writer", "worker-3"}));
  const std::vector<std::string> seal = {"ledger", "seal", name_, "--server", server_->address()};
  const std::string question = "1 writer has not closed: worker-3. Seal without it? [y/N] ";
  for (const std::string typed : {"\n", "n\n", "yess\n", "\x04"}) {
    const RunResult refused = DpledgerOnTerminal(seal, typed);
    EXPECT_EQ(refused.exit_code, 1) << typed;
    EXPECT_THAT(refused.err, AllOf(HasSubstr(question), HasSubstr("nothing was sealed")));
  }
  // Without a terminal nobody is asked, whatever is said of the writers.
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {}, {"--missing-writer", "worker-3"}, {"--open-writers-are-missing"}}) {
    std::vector<std::string> named = seal;
    named.insert(named.end(), more.begin(), more.end());
    const RunResult refused = Dpledger(named);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, AllOf(Not(HasSubstr("[y/N]")), HasSubstr("worker-3"),
                                   HasSubstr("--yes seals without them")));
  }
  EXPECT_EQ(Ok({"ledger", "show", name_}).Text("state"), "OPEN");
  const RunResult sealed = DpledgerOnTerminal(seal, "y\n");
  EXPECT_EQ(sealed.exit_code, 0) << sealed.err;
  EXPECT_THAT(sealed.err, HasSubstr(question));
  EXPECT_EQ(Ok({"ledger", "show", name_}).Text("state"), "SEALED");
}

TEST_F(Ledger, SealAsksNothingWhereNothingIsMissing) {
  Create();
  Ok(Append(folder_.Write("f.jsonl", SumQueryLine(0))));
  const RunResult sealed =
      DpledgerOnTerminal({"ledger", "seal", name_, "--server", server_->address()}, "");
  EXPECT_EQ(sealed.exit_code, 0) << sealed.err;
  EXPECT_THAT(sealed.err, Not(HasSubstr("[y/N]")));
}

TEST_F(Ledger, SealTakesAllOpenWritersAsMissing) {
  Create();
  const std::string file = folder_.Write("f.jsonl", SumQueryLine(0));
  for (int i = 0; i < 25; ++i) Ok(Append(file, {"--writer", absl::StrCat("w-", 10 + i)}));
  Ok(Append(file));  // the program's own writer, which it closes itself
  ExpectError({"ledger", "seal", name_}, "FAILED_PRECONDITION", "w-29, and 5 more; ");
  const JsonObject sealed = Ok({"ledger", "seal", name_, "--open-writers-are-missing", "--yes"});
  EXPECT_EQ(sealed.Text("state"), "SEALED");
  EXPECT_EQ(sealed.Number("writerCount"), 26);
  EXPECT_EQ(sealed.Number("openWriterCount"), 25);
}

TEST_F(Ledger, ReadGivesTheEventsBackAsAnEventFile) {
  Create();
  const std::string events =
      PoissonRounds("0.01", "1", "10000") + SamplingLine(3) + SumQueryLine(3);
  Ok(Append(folder_.Write("f.jsonl", events)));
  const JsonObject read = Ok({"ledger", "read", name_});
  EXPECT_EQ(read.Array("entries").size(), 4u);

  const RunResult lines =
      Dpledger({"ledger", "read", name_, "--first", "1", "--server", server_->address()});
  EXPECT_EQ(lines.exit_code, 0);
  const std::vector<std::string> entries = absl::StrSplit(lines.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(entries.size(), 3u);
  const std::vector<std::string> wanted = absl::StrSplit(events, '\n', absl::SkipEmpty());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_THAT(entries[i], HasSubstr("\"sequence\":\"" + absl::StrCat(i + 1) + "\""));
    EXPECT_THAT(entries[i], HasSubstr("\"event\":" + wanted[i]));
  }
}

TEST_F(Ledger, ListHoldsTheLedger) {
  Create();
  std::vector<std::string> names;
  for (const auto& ledger : Ok({"ledger", "list"}).Array("ledgers")) {
    names.push_back(ledger.struct_value().fields().at("name").string_value());
  }
  EXPECT_THAT(names, Contains("projects/default/ledgers/" + name_));
}

// The same events, declared as an event file's are assumed to be, give the same numbers through
// both doors.
TEST_F(Ledger, ServerAndOfflineAnswersAgree) {
  Create();
  const std::string file = folder_.Write(
      "f.jsonl", PoissonRounds("0.01", "1", "10000") + PoissonRounds("0.02", "2", "7"));
  Ok(Append(file));
  const std::vector<std::vector<std::string>> questions = {
      {"epsilon", "--delta", "1e-5", "--method", "pld"},
      {"epsilon", "--delta", "1e-5", "--method", "rdp"},
      {"delta", "--epsilon", "6"},
      {"tuning", "--delta", "1e-5", "--trials", "poisson", "--mean-trials", "5"},
  };
  for (const std::vector<std::string>& question : questions) {
    std::vector<std::string> offline_question = question;
    offline_question.insert(offline_question.end(), {"--events", file, "--json", "--adjacency",
                                                     "add-or-remove-one", "--parameters", "fixed"});
    const RunResult offline_result = Dpledger(offline_question);
    ASSERT_EQ(offline_result.exit_code, 0) << offline_result.err;
    const JsonObject offline(offline_result.out);

    std::vector<std::string> server_question = question;
    server_question.insert(server_question.end(), {"--ledger", name_});
    const JsonObject server = Ok(server_question);
    const std::string value = question[0] == "delta" ? "delta" : "epsilon";
    for (const char* bound : {".lower", ".upper"}) {
      EXPECT_EQ(offline.Number(value + bound), server.Number(value + bound)) << question[0];
    }
    for (const char* key :
         {"details.method", "details.adjacency", "details.parameters", "details.version"}) {
      EXPECT_EQ(offline.Text(key), server.Text(key));
    }
    EXPECT_EQ(offline.Texts("details.schemes"), server.Texts("details.schemes"));
    // A ledger says who drew its samples; an event file has no trainer.
    std::vector<std::string> assumptions = server.Texts("details.assumptions");
    EXPECT_EQ(std::erase_if(assumptions,
                            [](const std::string& text) {
                              return absl::StrContains(text, "as the trainer stated them");
                            }),
              1u);
    EXPECT_EQ(offline.Texts("details.assumptions"), assumptions);
    EXPECT_EQ(server.Text("details.ledgers.0.name"), "projects/default/ledgers/" + name_);
    EXPECT_EQ(server.Number("details.ledgers.0.size"), 3);
    EXPECT_EQ(server.Text("details.ledgers.0.rootHash"),
              Ok({"ledger", "show", name_}).Text("rootHash"));
  }
}

TEST_F(Ledger, PlanOfAStoppedRunIsAnsweredBesideTheSpent) {
  Create({"--planned-rounds", "10000"});
  Ok(Append(folder_.Write("f.jsonl", PoissonRounds("0.01", "1", "100"))));
  const JsonObject answer = Ok({"epsilon", "--delta", "1e-5", "--ledger", name_});
  EXPECT_GT(answer.Number("plannedEpsilon.upper"), answer.Number("epsilon.upper"));
}

TEST_F(Ledger, AdaptiveLedgersAreAnsweredByTheirFilter) {
  Create({"--parameters", "adaptive", "--filter", "zcdp:0.5"});
  Ok(Append(folder_.Write("f.jsonl", PoissonRounds("0.01", "2", "3"))));
  const std::vector<std::string> question = {"epsilon", "--delta", "1e-5", "--ledger", name_};
  const JsonObject answer = Ok(question);
  // Half a unit of zCDP is the Gaussian mechanism's curve, whatever was spent.
  EXPECT_NEAR(answer.Number("epsilon.upper"), 4.7286, 1e-3);
  EXPECT_EQ(answer.Text("details.parameters"), "ADAPTIVE");
  EXPECT_EQ(answer.Text("details.method"), "rdp");
  const auto spending = answer.Array("details.filterSpending");
  ASSERT_EQ(spending.size(), 1);
  const auto& fields = spending[0].struct_value().fields();
  EXPECT_EQ(fields.at("filter").string_value(), "rho (zcdp)");
  EXPECT_EQ(fields.at("bound").number_value(), 0.5);
  EXPECT_NEAR(fields.at("spent").number_value(), 0.375, 1e-14);
  // 2 more would cross it: (3 + 2)/8 > 0.5.
  const RunResult crossing =
      OnServer(Append(folder_.Write("g.jsonl", PoissonRounds("0.01", "2", "2"))));
  EXPECT_EQ(crossing.exit_code, 5);
  const JsonObject error(crossing.out);
  EXPECT_EQ(error.Text("error.reason"), "FILTER_CROSSED") << crossing.out;
  EXPECT_THAT(error.Text("error.message"),
              HasSubstr("0.375 spent of 0.5, and 0.625 with the batch; nothing of it is stored"));
  Ok(Append(folder_.Write("h.jsonl", PoissonRounds("0.01", "2", "1"))));
  EXPECT_NEAR(Ok(question).Number("epsilon.upper"), 4.7286, 1e-3);
}

TEST_F(Ledger, BudgetsBoundTheirRunsTogether) {
  const std::string budget = "projects/default/ledgers/" + name_;
  const std::vector<std::string> declared = {"--dataset", name_,         "--unit",
                                             "user",      "--adjacency", "add-or-remove-one"};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const JsonObject made =
      Ok(with({"budget", "create", name_, "--filter", "mixture:4:1e-6"}, declared));
  EXPECT_EQ(made.Text("declaration.kind"), "BUDGET");
  for (const char* run : {"-a", "-b"}) {
    Ok(with({"ledger", "create", name_ + run, "--parameters", "adaptive", "--budget", name_},
            declared));
  }
  const auto steps = [](const std::string& count) {
    return std::vector<std::string>{"--noise-multiplier",     "1.1", "--steps", count,
                                    "--sampling-probability", ".01"};
  };
  const JsonObject fits = Ok(with({"budget", "fits", name_}, steps("1000")));
  EXPECT_TRUE(fits.Flag("fits"));
  EXPECT_GT(fits.Number("spentWithPlan"), fits.Number("spending.spent"));
  Ok(with({"budget", "grant", name_, "--for", name_ + "-a", "--reason", "first"}, steps("1000")));

  const JsonObject left = JsonObject(OnServer(with({"budget", "fits", name_}, steps("9000"))).out);
  EXPECT_FALSE(left.Flag("fits"));
  const std::string most = left.Text("roundsLeft");
  const RunResult refused =
      OnServer(with({"budget", "grant", name_, "--for", name_ + "-b"}, steps("9000")));
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_EQ(JsonObject(refused.out).Text("error.reason"), "BUDGET_EXCEEDED") << refused.out;
  EXPECT_THAT(JsonObject(refused.out).Text("error.message"),
              HasSubstr(most + " rounds of its last kind fit"));
  Ok(with({"budget", "grant", name_, "--for", name_ + "-b"}, steps(most)));

  // The run itself: what it was granted, and no more.
  const auto run = [&](const std::string& rounds) {
    return OnServer({"ledger", "append", name_ + "-a", "--events",
                     folder_.Write("r.jsonl", PoissonRounds("0.01", "1.1", rounds))});
  };
  EXPECT_EQ(run("1000").exit_code, 0);
  EXPECT_EQ(run("1").exit_code, 5);
  const JsonObject answer = Ok({"epsilon", "--delta", "1e-6", "--ledger", name_ + "-a"});
  EXPECT_EQ(answer.Number("epsilon.upper"), 4);
  EXPECT_EQ(Ok({"epsilon", "--delta", "1e-6", "--dataset", name_}).Number("epsilon.upper"), 4);

  const std::string shown = Dpledger({"budget", "show", name_, "--server", server_->address()}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("to 2 ledgers"), HasSubstr(budget + "-a: 1000 rounds"),
                           HasSubstr("noise multiplier 1.1"), Not(HasSubstr("fits"))));
  EXPECT_EQ(OnServer({"budget", "grant", name_, "--for", name_ + "-a", "--nothing"}).exit_code, 1);
  Ok({"budget", "grant", name_, "--for", name_ + "-b", "--nothing"});
  EXPECT_EQ(Ok({"budget", "show", name_}).Array("grants").size(), 1);
  // Bundles of both verify, each by itself and together, and the list finds them.
  std::vector<std::string> bundles;
  for (const std::string& one : {name_, name_ + "-a"}) {
    bundles.push_back(folder_.path() + "/" + one + ".bundle");
    Ok({"ledger", "export", one, "--output", bundles.back()});
    EXPECT_EQ(Dpledger({"ledger", "verify", bundles.back(), "--self-signed"}).exit_code, 0);
  }
  const RunResult verified =
      Dpledger(with({"budget", "verify", "--self-signed", "--json"}, bundles));
  EXPECT_EQ(verified.exit_code, 1);
  EXPECT_THAT(verified.err, HasSubstr("give the present bundles of 1 more run, or --partial"));
  const JsonObject both(verified.out);
  EXPECT_EQ(both.Number("grants"), 3);
  EXPECT_EQ(both.Array("runs").size(), 1);
  EXPECT_THAT(both.Texts("missing"), ::testing::ElementsAre(HasSubstr(name_ + "-b")));
  EXPECT_THAT(Dpledger(with({"budget", "verify", "--self-signed"}, bundles)).out,
              AllOf(HasSubstr("3, each fitted when it was made"), HasSubstr(", at every entry"),
                    HasSubstr("NOT CHECKED")));
  // A budget's bundle that does not have what a run was told: older, or another record.
  Ok({"budget", "grant", name_, "--for", name_ + "-a", "--noise-multiplier", "50", "--steps", "1",
      "--more"});
  const std::string first = bundles[1];
  bundles[1] = folder_.path() + "/again.bundle";
  Ok({"ledger", "export", name_ + "-a", "--output", bundles[1]});
  const RunResult older = Dpledger(with({"budget", "verify", "--self-signed"}, bundles));
  EXPECT_EQ(older.exit_code, 1);
  EXPECT_THAT(older.err, HasSubstr("the budget's bundle is the older one; export it again"));
  bundles[1] = first;
  std::swap(bundles[0], bundles[1]);
  const RunResult swapped =
      Dpledger(with({"budget", "verify", "--self-signed", "--partial"}, bundles));
  EXPECT_EQ(swapped.exit_code, 0) << swapped.err;
  const auto unchecked = [&](const std::vector<std::string>& given, const std::string& why) {
    const RunResult result = Dpledger(with({"budget", "verify", "--self-signed"}, given));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  unchecked({bundles[0]}, "none of the ledgers is a budget");
  unchecked({bundles[1], bundles[0], bundles[1]}, "is given twice");
  const auto listed = [&](const std::string& filter) {
    return Ok({"ledger", "list", "--filter", "dataset = " + name_ + " AND " + filter})
        .Array("ledgers")
        .size();
  };
  EXPECT_EQ(listed("kind = BUDGET"), 1);
  EXPECT_EQ(listed("budget = \"" + budget + "\""), 2);
}

TEST_F(Ledger, BlocksOfABudgetAreBoundEachAndShown) {
  const std::vector<std::string> declared = {"--dataset", name_,         "--unit",
                                             "user",      "--adjacency", "add-or-remove-one"};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  Ok(with({"budget", "create", name_, "--filter", "zcdp:1", "--block-assignment", "by region"},
          declared));
  for (const auto& [run, blocks] : {std::pair("-a", "1-12"), std::pair("-b", "12,14")}) {
    Ok(with({"ledger", "create", name_ + run, "--parameters", "adaptive", "--budget", name_,
             "--blocks", blocks},
            declared));
  }
  const std::vector<std::string> plan = {"--noise-multiplier", "1", "--steps", "2"};
  Ok(with({"budget", "grant", name_, "--for", name_ + "-a"}, plan));
  const RunResult refused = OnServer(with({"budget", "grant", name_, "--for", name_ + "-b"}, plan));
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.out + refused.err, HasSubstr("is granted in block 12"));
  EXPECT_EQ(OnServer(with({"budget", "fits", name_, "--blocks", "12-13"}, plan)).exit_code, 5);
  Ok(with({"budget", "fits", name_, "--blocks", "13"}, plan));
  EXPECT_THAT(Dpledger({"budget", "show", name_, "--server", server_->address()}).out,
              AllOf(HasSubstr("; of blocks 1-12"), HasSubstr("1-12: 1 of 1"),
                    HasSubstr(" of 1 in all at ")));
  EXPECT_THAT(Dpledger({"ledger", "show", name_ + "-b", "--server", server_->address()}).out,
              HasSubstr("12,14"));
  EXPECT_THAT(Dpledger({"ledger", "show", name_, "--server", server_->address()}).out,
              HasSubstr("by region"));
  EXPECT_THAT(OnServer(with({"budget", "fits", name_, "--for", name_ + "-a"}, plan)).out,
              HasSubstr("presentGrant"));
  // Checked offline: the fullest block is 12, not the first.
  Ok(with({"budget", "grant", name_, "--for", name_ + "-a"},
          {"--noise-multiplier", "2", "--steps", "1"}));
  Ok(with({"budget", "grant", name_, "--for", name_ + "-b"},
          {"--noise-multiplier", "1", "--steps", "1"}));
  std::vector<std::string> bundles;
  for (const std::string& one : {name_, name_ + "-a", name_ + "-b"}) {
    bundles.push_back(folder_.path() + "/" + one + ".bundle");
    Ok({"ledger", "export", one, "--output", bundles.back()});
  }
  const RunResult verified =
      Dpledger(with({"budget", "verify", "--self-signed", "--json"}, bundles));
  EXPECT_NEAR(JsonObject(verified.out).Number("spending.spent"), 0.625, 1e-9);
  EXPECT_THAT(Dpledger({"budget", "fits", name_, "--blocks", "2-1", "--steps", "1"}).err,
              HasSubstr("blocks[0].last: must be"));
}

TEST_F(Ledger, WrongBudgetFlagsAreNamed) {
  const auto wrong = [&](const std::vector<std::string>& arguments, const std::string& message) {
    const RunResult result = OnServer(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.out + result.err, HasSubstr(message));
  };
  wrong({"budget", "fits", "x"}, "a plan: --noise-multiplier or --events");
  wrong({"budget", "grant", "x", "--for", "y"}, "--nothing");
  wrong({"budget", "grant", "x", "--for", "y", "--nothing", "--steps", "3"}, "--nothing");
  wrong({"budget", "grant", "x", "--for", "y", "--steps", "3"}, "--noise-multiplier");
  wrong({"budget", "grant", "x", "--nothing"}, "--for");
  wrong({"budget", "create", "x", "--dataset", "d", "--unit", "u", "--adjacency", "zero-out"},
        "--filter");
}

TEST_F(Ledger, MixtureFiltersKeepAmplificationAndTellAnOdometer) {
  Create({"--parameters", "adaptive", "--filter", "mixture:4:1e-6"});
  EXPECT_THAT(Dpledger({"ledger", "show", name_, "--server", server_->address()}).out,
              HasSubstr("\nfilter             mixture of orders 2, 3, 4, 5, 6, 8, 12, 24 at delta "
                        "1e-06, epsilon at most 4; the server refuses what would cross it\n"));
  Ok(Append(folder_.Write("f.jsonl", PoissonRounds("0.01", "1", "2000"))));
  const JsonObject answer = Ok({"epsilon", "--delta", "1e-6", "--ledger", name_});
  EXPECT_EQ(answer.Number("epsilon.upper"), 4);
  const auto spending = answer.Array("details.filterSpending");
  ASSERT_EQ(spending.size(), 1);
  const auto& fields = spending[0].struct_value().fields();
  EXPECT_EQ(fields.at("filter").string_value(), "epsilon at delta 1e-06 (mixture)");
  EXPECT_EQ(fields.at("bound").number_value(), 4);
  EXPECT_NEAR(fields.at("spent").number_value(), 3.561, 1e-3);
  EXPECT_GT(fields.at("odometer").number_value(), 3.9);
  EXPECT_LT(fields.at("odometer").number_value(), 4.058 + 1e-3);
  EXPECT_EQ(fields.at("delta").number_value(), 1e-6);
  EXPECT_EQ(Ok({"delta", "--epsilon", "6", "--ledger", name_}).Number("delta.upper"), 1e-6);
  ExpectError({"epsilon", "--delta", "1e-7", "--ledger", name_}, "FAILED_PRECONDITION",
              "delta: must be at least 1e-06, got 1e-07");
  ExpectError({"delta", "--epsilon", "3", "--ledger", name_}, "FAILED_PRECONDITION",
              "epsilon: must be at least 4, got 3");
  EXPECT_EQ(
      OnServer(Append(folder_.Write("g.jsonl", PoissonRounds("0.01", "1", "2000")))).exit_code, 5);
}

// Whoever reads the number, in text or in JSON, reads which guarantee it is.
TEST_F(Ledger, DependentPlansHaveAnOdometerThatIsNoDifferentialPrivacy) {
  Create();
  Ok(Append(folder_.Write("f.jsonl", PoissonRounds("0.01", "1", "1200"))));
  const std::string other = name_ + "-other";
  Ok(CreateLedger(other, name_));
  Ok({"ledger", "append", other, "--events",
      folder_.Write("g.jsonl", PoissonRounds("0.01", "1", "800"))});
  const std::vector<std::string> question = {"epsilon", "--delta",  "1e-5", "--ledger",
                                             name_,     "--ledger", other};
  const JsonObject answer = Ok(question);
  EXPECT_EQ(answer.Text("details.regime"), "ODOMETER");
  EXPECT_EQ(answer.Text("details.parameters"), "ADAPTIVE");
  EXPECT_NEAR(answer.Number("epsilon.upper"), 3.7230595365503545, 1e-8);
  EXPECT_EQ(answer.Number("epsilon.lower"), 0);
  EXPECT_NEAR(
      Ok({"delta", "--epsilon", "3", "--ledger", name_, "--ledger", other}).Number("delta.upper"),
      0.0006211444177249682, 1e-11);
  std::vector<std::string> as_text = question;
  as_text.insert(as_text.end(), {"--server", server_->address()});
  EXPECT_THAT(Dpledger(as_text).out,
              AllOf(StartsWith("epsilon            3.72306   by an odometer, which is no "
                               "differential privacy\n"),
                    HasSubstr("\nguarantee          This is not differential privacy: it speaks"),
                    Not(HasSubstr("true value"))));
  ExpectError({"profile", "--epsilons", "1", "--ledger", name_, "--ledger", other},
              "FAILED_PRECONDITION", "ask about each ledger by itself");
}

TEST_F(Ledger, AdaptiveLedgersWithoutFilterAreStoredAndTheirEpsilonRefused) {
  Create({"--parameters", "adaptive"});
  Ok(Append(folder_.Write("f.jsonl", PoissonRounds("0.01", "1", "100"))));
  ExpectError({"epsilon", "--delta", "1e-5", "--ledger", name_}, "FAILED_PRECONDITION", "filter");
}

TEST(LedgerServer, RestartKeepsSizeAndRoot) {
  ServerProcess server;
  const TemporaryFolder folder;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address(), "--json"});
    const RunResult result = Dpledger(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return JsonObject(result.out);
  };
  run(CreateLedger("kept", "d"));
  run({"ledger", "append", "kept", "--events", folder.Write("f.jsonl", SumQueryLine(0))});
  const std::string root = run({"ledger", "show", "kept"}).Text("rootHash");
  server.Restart();
  EXPECT_EQ(run({"ledger", "show", "kept"}).Text("rootHash"), root);
  EXPECT_EQ(run({"ledger", "show", "kept"}).Number("size"), 2);
}

TEST(LedgerServer, UnreachableServerEndsWithSix) {
  std::string address;
  {
    ServerProcess server;
    address = server.address();
  }
  const RunResult result = Dpledger({"ledger", "list", "--server", address, "--json"});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_EQ(JsonObject(result.out).Text("error.code"), "UNAVAILABLE");
  EXPECT_THAT(result.err, HasSubstr("server " + address));
}

TEST(Serve, RunsTheServerBesideTheProgram) {
  const TemporaryFolder folder;
  const pid_t pid =
      StartProgram({BinaryPath("dpledger"), "serve", "--no-such-flag"}, folder.File("log"));
  EXPECT_EQ(StopProgram(pid, 0),
            2);  // signal 0 only checks: the server ends by itself with its usage error
}

}  // namespace
}  // namespace dpledger::testing
