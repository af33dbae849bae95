// What a server says of its budgets beyond their own entries: what their runs have spent, that one
// has spent too much, and when a budget would be full.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "merkle/checkpoint.h"
#include "merkle/signed_note.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"
#include "tests/support/await_that.h"

namespace dpledger::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NameOf(const std::string& id) { return absl::StrCat("projects/p/ledgers/", id); }

v1::Event Gaussians(uint64_t count) {
  return accountant::FromText<v1::Event>(
      absl::StrCat("rounds { scheme { full_batch {} } queries { l2_norm_bound: 1 noise_stddev: 10 "
                   "} count: ",
                   count, " }"));
}

class BudgetServiceTest : public ::testing::Test {
 protected:
  static ServerOptions WithSummaries() {
    ServerOptions options = RunningServer::SigningOnDemand();
    options.summaries = true;
    return options;
  }
  BudgetServiceTest() { server_.clock().Set(absl::Now()); }

  void Create(const std::string& id, const std::string& declaration) {
    server_.Create(NameOf(id), [&](v1::Declaration& into) {
      into.MergeFrom(accountant::FromText<v1::Declaration>(declaration));
    });
  }
  void CreateBudget() {  // of 400 rounds
    Create("b", "kind: BUDGET parameters: ADAPTIVE filter { zcdp { rho: 2 } }");
  }
  void CreateRun(const std::string& id, const std::string& parameters) {
    Create(id, absl::StrCat("parameters: ", parameters, " budget: '", NameOf("b"), "'"));
  }
  grpc::Status Grant(const std::string& run, uint64_t rounds,
                     v1::GrantChange change = v1::GRANT_PLAN) {
    v1::GrantBudgetRequest request;
    request.set_budget(NameOf("b"));
    request.set_ledger(NameOf(run));
    if (rounds > 0) *request.add_plan() = Gaussians(rounds);
    request.set_change(change);
    request.set_request_id(absl::StrCat("g", ++requests_));
    return UntilCounted(
        [&] { return Call(server_.ledgers(), &v1::LedgerService::Stub::GrantBudget, request); });
  }
  void Append(const std::string& run, uint64_t rounds, bool late = false) {
    ASSERT_TRUE(IsOk(TryAppend(run, rounds, late)));
  }
  grpc::Status TryAppend(const std::string& run, uint64_t rounds, bool late = false) {
    v1::AppendBatchRequest batch = Batch(NameOf(run), "w", absl::StrCat("a", ++requests_));
    v1::NewEntry& entry = *batch.add_entries();
    *(late ? entry.mutable_late_event()->mutable_event() : entry.mutable_event()) =
        Gaussians(rounds);
    return UntilCounted(
        [&] { return Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch); });
  }
  void Close(const std::string& run) {
    v1::AppendBatchRequest batch = Batch(NameOf(run), "w", absl::StrCat("c", ++requests_));
    batch.add_entries()->mutable_writer_closed()->set_entry_count(2);
    ASSERT_TRUE(IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch)));
  }
  grpc::Status Seal(const std::string& run, const std::string& missing = "") {
    v1::SealLedgerRequest request;
    request.set_name(NameOf(run));
    request.set_request_id(absl::StrCat("s", ++requests_));
    if (!missing.empty()) request.add_missing_writers(missing);
    return Call(server_.ledgers(), &v1::LedgerService::Stub::SealLedger, request);
  }
  // `rounds`: of a plan, for that run if it is named.
  v1::ComputeBudgetResponse Ask(uint64_t rounds = 0, const std::string& run = "") {
    v1::ComputeBudgetRequest request;
    request.set_budget(NameOf("b"));
    if (rounds > 0) *request.add_plan() = Gaussians(rounds);
    if (!run.empty()) request.set_ledger(NameOf(run));
    v1::ComputeBudgetResponse response;
    EXPECT_TRUE(IsOk(Call(server_.accounting(), &v1::AccountingService::Stub::ComputeBudget,
                          request, &response)));
    return response;
  }
  v1::ComputeEpsilonResponse Epsilon(const std::string& id, grpc::Status& status) {
    v1::ComputeEpsilonRequest request;
    request.mutable_subject()->add_ledgers(NameOf(id));
    request.set_delta(1e-6);
    v1::ComputeEpsilonResponse response;
    status = Call(server_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon, request,
                  &response);
    return response;
  }
  std::vector<std::string> Listed(const std::string& filter) {
    v1::ListLedgersRequest request;
    request.set_parent("projects/p");
    request.set_filter(filter);
    v1::ListLedgersResponse response;
    EXPECT_TRUE(
        IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::ListLedgers, request, &response)));
    std::vector<std::string> names;
    for (const v1::Ledger& ledger : response.ledgers()) names.push_back(ledger.name());
    return names;
  }
  RunningServer server_{WithSummaries()};

 private:
  template <typename Made>
  static grpc::Status UntilCounted(const Made& call) {
    grpc::Status status = call();
    while (ErrorInfoOf(status).reason() == "FILTER_NOT_READY") {
      absl::SleepFor(absl::Milliseconds(5));
      status = call();
    }
    return status;
  }
  int requests_ = 0;
};

TEST_F(BudgetServiceTest, SaysWhatRunsHaveSpentOfTheirGrants) {
  CreateBudget();
  CreateRun("plan", "FIXED");
  CreateRun("free", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("plan", 200)));
  ASSERT_TRUE(IsOk(Grant("free", 100)));
  Append("plan", 150);
  Append("free", 20);
  grpc::Status status;
  const v1::ComputeEpsilonResponse of_plan = Epsilon("plan", status);
  ASSERT_TRUE(IsOk(status));
  EXPECT_EQ(of_plan.details().regime(), v1::FIXED_PLAN);
  ASSERT_EQ(of_plan.details().filter_spending_size(), 1);
  EXPECT_NEAR(of_plan.details().filter_spending(0).spent(), .75, 1e-12);
  EXPECT_NEAR(of_plan.details().filter_spending(0).granted(), 1, 1e-11);
  EXPECT_FALSE(of_plan.details().filter_spending(0).crossed());

  testing::AwaitThat([&] { return Ask().runs_size() == 2 && Ask().runs(1).spent() > .7; });
  const v1::ComputeBudgetResponse answer = Ask();
  EXPECT_EQ(answer.runs(0).ledger(), NameOf("free"));
  EXPECT_NEAR(answer.runs(0).spent(), .1, 1e-12);
  EXPECT_NEAR(answer.runs(1).spent(), .75, 1e-12);
  EXPECT_EQ(answer.overspent_size(), 0);
  EXPECT_FALSE(answer.has_pace()) << "it is less than a day old";
  EXPECT_THAT(Listed(absl::StrCat("budget = ", NameOf("b"), " AND remaining < .5")),
              ElementsAre(NameOf("plan")));
  // The budget's own summary may be behind its runs'.
  testing::AwaitThat([&] { return Listed("remaining > .24 AND remaining < .26").size() == 2; });
  EXPECT_THAT(Listed("remaining > .24 AND remaining < .26"),
              ElementsAre(NameOf("b"), NameOf("plan")));
}

// Its runs are on the server that it was copied from, whatever is called so here.
TEST_F(BudgetServiceTest, CopyOfABudgetTellsOfNoRunsHere) {
  using Ledgers = v1::LedgerService::Stub;
  CreateBudget();
  CreateRun("free", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("free", 100)));
  Append("free", 20);
  testing::AwaitThat([&] { return Ask().runs_size() == 1; });  // the control

  const v1::Ledger budget = server_.Get(NameOf("b"));
  v1::ReadEntriesRequest read;
  read.set_ledger(budget.name());
  v1::ReadEntriesResponse entries;
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &Ledgers::ReadEntries, read, &entries)));
  v1::CreateLedgerRequest create;
  create.set_name(NameOf("copy"));
  create.set_request_id("copy");
  v1::Import& import = *create.mutable_import();
  import.set_origin("there.example/" + budget.name());
  import.set_size(budget.size());
  import.set_root_hash(budget.root_hash());
  merkle::Hash root;
  std::copy(budget.root_hash().begin(), budget.root_hash().end(), root.begin());
  merkle::Note note;
  note.text = *merkle::CheckpointText({import.origin(), budget.size(), root, {}});
  note.signatures = {*merkle::SignNote(note.text, "there.example",
                                       *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 't')))};
  import.set_checkpoint(note.ToText());
  *import.mutable_declaration() = budget.declaration();
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &Ledgers::CreateLedger, create)));
  v1::AppendBatchRequest batch = Batch(create.name(), "import", "fill");
  for (const std::string& entry : entries.entries())
    batch.add_entries()->mutable_imported()->set_entry(entry);
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &Ledgers::AppendBatch, batch)));

  v1::ComputeBudgetRequest request;
  request.set_budget(create.name());
  v1::ComputeBudgetResponse answer;
  ASSERT_TRUE(IsOk(
      Call(server_.accounting(), &v1::AccountingService::Stub::ComputeBudget, request, &answer)));
  EXPECT_EQ(answer.grants_size(), 1);
  EXPECT_EQ(answer.runs_size(), 0);
}

// As a grant is answered; what is asked about no run, or one to come, knows of nothing spent.
TEST_F(BudgetServiceTest, APlanFitsNoRunThatHasSpentMoreOrIsUnderNoBudget) {
  CreateBudget();
  CreateRun("run", "ADAPTIVE");
  Create("alone", "parameters: ADAPTIVE filter { zcdp { rho: 2 } }");
  ASSERT_TRUE(IsOk(Grant("run", 100)));
  Append("run", 50);
  for (const uint64_t rounds : {49, 50, 51, 400, 401}) {
    const v1::ComputeBudgetResponse answer = Ask(rounds, "run");
    EXPECT_EQ(answer.below_spent(), rounds < 50) << rounds;
    EXPECT_EQ(answer.fits(), rounds >= 50 && rounds <= 400) << rounds;
    EXPECT_EQ(answer.has_rounds_left(), rounds >= 50) << rounds;
    if (rounds == 49) {
      EXPECT_TRUE(IsError(Grant("run", rounds), grpc::StatusCode::FAILED_PRECONDITION,
                          "GRANT_BELOW_SPENT", "has spent"));
    }
  }
  EXPECT_TRUE(Ask(49).fits());
  EXPECT_TRUE(Ask(49, "to-come").fits());
  v1::ComputeBudgetRequest request;
  request.set_budget(NameOf("b"));
  *request.add_plan() = Gaussians(1);
  request.set_ledger(NameOf("alone"));
  const grpc::Status refused =
      Call(server_.accounting(), &v1::AccountingService::Stub::ComputeBudget, request);
  EXPECT_TRUE(IsError(refused, grpc::StatusCode::FAILED_PRECONDITION, "NO_BUDGET",
                      "ledger: projects/p/ledgers/alone is not under the budget"));
}

TEST_F(BudgetServiceTest, OverspentByLateEntriesItPromisesNothingAndGrantsNothing) {
  CreateBudget();
  for (const char* parameters : {"FIXED", "ADAPTIVE"}) {
    const std::string late = absl::StrCat("late-", parameters == std::string("FIXED"));
    CreateRun(late, parameters);
    CreateRun(absl::StrCat("other-", late), "ADAPTIVE");
    ASSERT_TRUE(IsOk(Grant(late, 50)));
    Append(late, 50);
    Append(late, 10, /*late=*/true);
    testing::AwaitThat([&] { return Ask().overspent_size() == 1; });
    EXPECT_THAT(Ask().overspent(), ElementsAre(NameOf(late)));
    // As a grant is answered: not to another run, and to that one if it is enough.
    EXPECT_FALSE(Ask(1, absl::StrCat("other-", late)).fits());
    EXPECT_TRUE(Ask(60, late).fits());
    EXPECT_FALSE(Ask(59, late).fits());
    EXPECT_TRUE(Ask(59, late).below_spent());
    EXPECT_THAT(Listed("remaining < 0"), ElementsAre(NameOf(late)));

    grpc::Status status;
    Epsilon("b", status);
    EXPECT_TRUE(IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED",
                        absl::StrCat(NameOf(late), " has spent more than it was granted")));
    EXPECT_FALSE(ErrorInfoOf(status).metadata().contains("spent")) << "it is the run's own";
    const auto answer = Epsilon(late, status);
    if (parameters == std::string("FIXED")) {
      // Its plan is answered all the same, and says so.
      ASSERT_TRUE(IsOk(status));
      EXPECT_TRUE(answer.details().filter_spending(0).crossed());
      EXPECT_THAT(answer.details().warnings(),
                  ::testing::Contains(HasSubstr("than it was granted")));
    } else {
      EXPECT_TRUE(IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED", ""));
    }
    EXPECT_TRUE(IsError(Grant(absl::StrCat("other-", late), 1),
                        grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED",
                        "nothing is granted to others until"));
    EXPECT_TRUE(IsOk(Grant(absl::StrCat("other-", late), 0)));  // what gives back is no grant

    ASSERT_TRUE(IsOk(Grant(late, 60)));
    testing::AwaitThat([&] { return Ask().overspent_size() == 0; });
    EXPECT_TRUE(IsOk(Grant(absl::StrCat("other-", late), 1)));
    Epsilon("b", status);
    EXPECT_TRUE(IsOk(status));
  }
}

TEST_F(BudgetServiceTest, TellsWhatWasRefused) {
  CreateBudget();
  CreateRun("a", "ADAPTIVE");
  CreateRun("c", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("a", 300)));
  EXPECT_EQ(Ask().refused_size(), 0);
  for (const uint64_t rounds : {150, 200}) EXPECT_FALSE(IsOk(Grant("c", rounds)));
  EXPECT_TRUE(IsError(TryAppend("a", 301), grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED",
                      "was granted"));

  const v1::ComputeBudgetResponse answer = Ask();
  ASSERT_EQ(answer.refused_size(), 2);
  const v1::BudgetRefusal &batch = answer.refused(0), &grant = answer.refused(1);
  EXPECT_EQ(batch.ledger(), NameOf("a"));
  EXPECT_TRUE(batch.of_batch());
  EXPECT_EQ(batch.times(), 1u);
  EXPECT_NEAR(batch.wanted(), 301 * .005, 1e-9);
  EXPECT_NEAR(batch.bound(), 300 * .005, 1e-9);
  EXPECT_EQ(grant.ledger(), NameOf("c"));
  EXPECT_FALSE(grant.of_batch());
  EXPECT_EQ(grant.times(), 2u);
  EXPECT_NEAR(grant.wanted(), 500 * .005, 1e-9);
  EXPECT_EQ(grant.bound(), 2);
  EXPECT_GE(batch.time().seconds(), grant.time().seconds());
}

// No way round: by a fork, in a statement, through an event that nobody can count.
TEST_F(BudgetServiceTest, OverspentBudgetIsAnsweredByNobody) {
  CreateBudget();
  CreateRun("a", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("a", 50)));
  Append("a", 50);
  Append("a", 10, /*late=*/true);
  testing::AwaitThat([&] { return Ask().overspent_size() == 1; });
  v1::ForkLedgerRequest fork;
  fork.set_parent(NameOf("a"));
  fork.set_name(NameOf("fork"));
  fork.set_request_id("fork");
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::ForkLedger, fork)));
  grpc::Status status;
  Epsilon("fork", status);
  EXPECT_TRUE(
      IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED", NameOf("a")));
  const auto statements = v1::StatementService::NewStub(server_.channel());
  for (const char* ledger : {"b", "fork", "a"}) {
    v1::GetStatementRequest request;
    request.set_ledger(NameOf(ledger));
    v1::Statement statement;
    ASSERT_TRUE(
        IsOk(Call(*statements, &v1::StatementService::Stub::GetStatement, request, &statement)));
    EXPECT_EQ(statement.answer().refusal().reason(), "BUDGET_EXCEEDED") << ledger;
  }
  v1::AppendBatchRequest batch = Batch(NameOf("a"), "w", "uncountable");
  *batch.add_entries()->mutable_late_event()->mutable_event() =
      accountant::FromText<v1::Event>("mechanism { epsilon_delta { epsilon: 5 delta: 0.001 } }");
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch)));
  testing::AwaitThat([&] { return std::isinf(Ask().runs(0).spent()); });
  EXPECT_THAT(Ask().overspent(), ElementsAre(NameOf("a")));
  Epsilon("b", status);
  EXPECT_TRUE(
      IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED", "is overspent"));
}

TEST_F(BudgetServiceTest, EachOfSeveralOverspentRunsMayBeGrantedWhatItSpent) {
  CreateBudget();
  for (const char* run : {"a", "c"}) {
    CreateRun(run, "ADAPTIVE");
    ASSERT_TRUE(IsOk(Grant(run, 20)));
    Append(run, 20);
  }
  Append("a", 5, /*late=*/true);
  Append("c", 5, /*late=*/true);
  testing::AwaitThat([&] { return Ask().overspent_size() == 2; });
  EXPECT_TRUE(IsOk(Grant("a", 25)));
  EXPECT_TRUE(IsOk(Grant("c", 25)));
  testing::AwaitThat([&] { return Ask().overspent_size() == 0; });
}

// What it has not spent was given back: a sealed run has nothing left for what comes late.
TEST_F(BudgetServiceTest, OverspentByWhatComesAfterASealThatGaveBack) {
  CreateBudget();
  CreateRun("a", "ADAPTIVE");
  CreateRun("other", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("a", 50)));
  Append("a", 20);
  Close("a");
  ASSERT_TRUE(IsOk(Seal("a")));
  testing::AwaitThat([&] { return std::abs(Ask().spending().spent() - .1) < 1e-9; });
  EXPECT_TRUE(IsOk(Grant("other", 380)));
  EXPECT_EQ(Ask().overspent_size(), 0);
  Append("a", 1, /*late=*/true);
  testing::AwaitThat([&] { return Ask().overspent_size() == 1; });
  grpc::Status status;
  for (const char* asked : {"a", "b"}) {
    Epsilon(asked, status);
    EXPECT_TRUE(
        IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_EXCEEDED", NameOf("a")))
        << asked;
  }
}

// However many ledgers wait to be counted for lists.
TEST_F(BudgetServiceTest, LateEntriesAreCountedBeforeAllElse) {
  CreateBudget();
  CreateRun("z", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("z", 50)));
  Append("z", 50);
  testing::AwaitThat([&] { return Ask().runs_size() == 1 && Ask().runs(0).spent() > .2; });
  for (int i = 0; i < 200; ++i) {
    Create(absl::StrCat("other-", i), "parameters: FIXED");
    Append(absl::StrCat("other-", i), 1);
  }
  // They are counted in groups, with rests while somebody writes; the last group is under way.
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      v1::AppendBatchRequest batch = Batch(NameOf("other-0"), "v", absl::StrCat("more-", i));
      AddNote(batch, "goes on");
      EXPECT_TRUE(IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch)));
      absl::SleepFor(absl::Milliseconds(10));
    }
  });
  testing::AwaitThat([&] { return Listed("epsilon:*").size() > 80; });
  Append("z", 1, /*late=*/true);
  testing::AwaitThat([&] { return Ask().overspent_size() == 1; });
  EXPECT_GT(Listed("NOT epsilon:*").size(), 10);
  stop = true;
  writer.join();
}

// Who was missing may still bring what was released: that stays granted.
TEST_F(BudgetServiceTest, SealedWhileWritersAreMissingNothingIsGivenBack) {
  CreateBudget();
  CreateRun("a", "ADAPTIVE");
  ASSERT_TRUE(IsOk(Grant("a", 50)));
  Append("a", 20);
  ASSERT_TRUE(IsOk(Seal("a", "w")));
  const auto refused = [](const grpc::Status& status) {
    return IsError(status, grpc::StatusCode::FAILED_PRECONDITION, "WRITERS_MISSING",
                   "was sealed while writers were missing");
  };
  EXPECT_TRUE(refused(Grant("a", 49)));
  EXPECT_TRUE(refused(Grant("a", 0, v1::GRANT_WHAT_IS_SPENT)));
  EXPECT_NEAR(Ask().spending().spent(), .25, 1e-9);
  Append("a", 30, /*late=*/true);
  testing::AwaitThat([&] { return Ask().runs_size() == 1 && Ask().runs(0).spent() > .2; });
  EXPECT_EQ(Ask().overspent_size(), 0);
  EXPECT_TRUE(refused(Grant("a", 49)));
  EXPECT_TRUE(IsOk(Grant("a", 50)));
  Append("a", 1, /*late=*/true);
  testing::AwaitThat([&] { return Ask().overspent_size() == 1; });
}

// A bound on runs is no run, whatever comes late.
TEST_F(BudgetServiceTest, TakesNoLateEvents) {
  CreateBudget();
  v1::AppendBatchRequest note = Batch(NameOf("b"), "w", "note");
  AddNote(note, "hello");
  ASSERT_TRUE(IsOk(Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, note)));
  v1::AppendBatchRequest batch = Batch(NameOf("b"), "w", "late");
  *batch.add_entries()->mutable_late_event()->mutable_event() = Gaussians(1);
  EXPECT_TRUE(IsError(Call(server_.ledgers(), &v1::LedgerService::Stub::AppendBatch, batch),
                      grpc::StatusCode::FAILED_PRECONDITION, "BUDGET_ONLY", "is a budget"));
}

// Its budgets are no part of a data set's number, and their runs are stated at their own sizes.
TEST_F(BudgetServiceTest, StatementOfItsDataSetCoversAllOfEachRun) {
  CreateBudget();
  const std::vector<std::pair<std::string, int>> runs = {{"a", 6}, {"c", 3}, {"d", 1}};
  for (const auto& [run, batches] : runs) {
    CreateRun(run, "ADAPTIVE");
    ASSERT_TRUE(IsOk(Grant(run, 20)));
    for (int i = 0; i < batches; ++i) Append(run, 1);
  }
  v1::GetStatementRequest request;
  request.set_dataset("adult");
  v1::Statement statement;
  const auto statements = v1::StatementService::NewStub(server_.channel());
  ASSERT_TRUE(
      IsOk(Call(*statements, &v1::StatementService::Stub::GetStatement, request, &statement)));
  ASSERT_EQ(statement.checkpoints_size(), 4);
  for (int i = 0; i < 3; ++i) {  // entry 0, the grant, a batch each
    EXPECT_EQ(statement.checkpoints(i + (i > 0)).size(), 2 + runs[i].second) << runs[i].first;
  }
}

TEST_F(BudgetServiceTest, SaysWhenItWouldBeFull) {
  const absl::Time now = absl::Now();
  const auto days_ago = [&](int days) { server_.clock().Set(now - absl::Hours(24) * days); };
  const auto days_left = [&] {
    const double seconds = static_cast<double>(Ask().pace().runs_out().seconds());
    return (seconds - static_cast<double>(absl::ToUnixSeconds(now))) / 86400;
  };
  days_ago(50);
  CreateBudget();
  CreateRun("a", "ADAPTIVE");
  days_ago(45);
  ASSERT_TRUE(IsOk(Grant("a", 100)));
  EXPECT_NEAR(Ask().pace().spent_before(), .5, 1e-11);
  EXPECT_FALSE(Ask().pace().has_runs_out()) << "nothing was granted of late";
  days_ago(10);
  ASSERT_TRUE(IsOk(Grant("a", 160)));
  // 60 of 400 rounds in 30 days, and 240 are left.
  EXPECT_NEAR(days_left(), 120, 1.1);
  EXPECT_NEAR(static_cast<double>(absl::ToUnixSeconds(now) - Ask().pace().since().seconds()),
              30 * 86400, 60);
  days_ago(5);
  ASSERT_TRUE(IsOk(Grant("a", 90)));
  EXPECT_FALSE(Ask().pace().has_runs_out()) << "less is granted than before";
  ASSERT_TRUE(IsOk(Grant("a", 400)));
  EXPECT_NEAR(days_left(), 0, 1.1);
}

}  // namespace
}  // namespace dpledger::server
