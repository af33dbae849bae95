// Operations on the embedded store: results, comparison, cancelling, going on after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>
#include <string>

#include "absl/synchronization/notification.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "server/recompute/said_answers.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/server/recompute_cases.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using v1::Operation;

const std::string kAll = "request_id: 'a' parent: 'projects/-'";

class RecomputeTest : public ::testing::Test {
 protected:
  RecomputeTest() { store_ = Must(OpenEmbeddedStore({.folder = folder_.path()})); }

  absl::Status Refusal(const std::string& request) {
    Recomputer server(store_.get(), {});
    return server.service
        .StartRecompute(FromText<v1::StartRecomputeRequest>(request), CallContext())
        .status();
  }

  TempFolder folder_;
  std::unique_ptr<LedgerStore> store_;
};

TEST_F(RecomputeTest, AsksEveryLedgerAndSaysWhatComputeEpsilonSays) {
  MakeLedgers(*store_, 120);
  Recomputer server(store_.get(), {});
  server.service.Start();
  const Operation operation = server.AwaitEnd(server.Begin(kAll + " delta: 1e-6").name());
  EXPECT_EQ(operation.state(), Operation::DONE);
  EXPECT_EQ(operation.total(), 120);
  EXPECT_EQ(operation.done(), 120);
  EXPECT_EQ(operation.refused(), 17);
  EXPECT_EQ(operation.fresh(), 103);
  EXPECT_TRUE(operation.has_end_time());
  const std::vector<v1::Recomputed> results = server.Results(operation.name(), 7);
  ASSERT_EQ(results.size(), 120);
  for (int i = 0; i < 120; ++i) {
    const v1::LedgerSummary& now = results[i].now();
    EXPECT_EQ(now.ledger(), NameOf(i));
    EXPECT_FALSE(results[i].has_before());
    v1::ComputeEpsilonRequest question;
    question.mutable_subject()->add_ledgers(NameOf(i));
    question.set_delta(1e-6);
    const auto answer = server.accounting.ComputeEpsilon(question, CallContext());
    ASSERT_EQ(now.has_epsilon(), answer.ok());
    if (!answer.ok()) {
      EXPECT_EQ(now.refusal().reason(), "ADAPTIVE_NOT_ANALYSED");
      continue;
    }
    EXPECT_EQ(now.epsilon().SerializeAsString(), answer->epsilon().SerializeAsString());
    EXPECT_EQ(now.method(), answer->details().method());
    EXPECT_EQ(now.root_hash(), answer->details().ledgers(0).root_hash());
    EXPECT_EQ(now.rounds(), 10 * (i + 1));
  }
  ExpectEachOnce(*store_, operation, 120);
}

TEST_F(RecomputeTest, ComparesWithWhatWasSaidBeforeOfTheSameEntries) {
  MakeLedgers(*store_, 3);
  Recomputer server(store_.get(), {});
  server.service.Start();
  server.AwaitEnd(
      server.Begin("request_id: 'a' parent: 'projects/p' options { method: RDP }").name());
  // More entries, which the comparison leaves out.
  v1::AppendBatchRequest batch = RoundBatch(NameOf(0), "w", "r2", 1);
  Must(store_->Append(batch));
  const Operation again =
      server.AwaitEnd(server.Begin("request_id: 'b' parent: 'projects/p'").name());
  EXPECT_EQ(again.lower(), 3);
  EXPECT_EQ(again.fresh(), 0);
  const std::vector<v1::Recomputed> results = server.Results(again.name());
  ASSERT_EQ(results.size(), 3);
  for (const v1::Recomputed& result : results) {
    EXPECT_EQ(result.before().method(), "rdp");
    EXPECT_LT(result.now().epsilon().upper(), result.before().epsilon().upper());
    EXPECT_EQ(result.now().root_hash(), result.before().root_hash());
    EXPECT_EQ(result.now().size(), 2);
  }
  const Operation third =
      server.AwaitEnd(server.Begin("request_id: 'c' parent: 'projects/p'").name());
  EXPECT_EQ(third.unchanged(), 3);
  // What this version answered was not answered before it.
  EXPECT_EQ(
      server.Begin("request_id: 'd' parent: 'projects/p' answered_before_version: '0.1.0'").total(),
      0);
  EXPECT_EQ(
      server.Begin("request_id: 'e' parent: 'projects/p' answered_before_version: '0.10'").total(),
      3);
}

TEST_F(RecomputeTest, DoesNotCompareWithWhatWasSaidOfOtherEntries) {
  MakeLedgers(*store_, 2);
  RecomputeOptions options;
  options.said_before = [](const std::string& ledger,
                           double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
    v1::LedgerSummary summary;
    summary.set_ledger(ledger);
    summary.set_size(99);  // more than it has
    summary.mutable_epsilon()->set_upper(1000);
    return std::optional<v1::LedgerSummary>(summary);
  };
  Recomputer server(store_.get(), options);
  server.service.Start();
  const Operation operation = server.AwaitEnd(server.Begin(kAll).name());
  EXPECT_EQ(operation.fresh(), 2);
  EXPECT_EQ(operation.lower(), 0);
}

TEST_F(RecomputeTest, ComparesOnlyWithAnswersToTheSameQuestion) {
  MakeLedgers(*store_, 2);
  Recomputer server(store_.get(), {});
  server.service.Start();
  const auto fresh = [&](const std::string& id, const std::string& options) {
    return server
        .AwaitEnd(server
                      .Begin(absl::StrCat("request_id: '", id, "' parent: 'projects/p' options { ",
                                          options, " }"))
                      .name())
        .fresh();
  };
  // What lists say is of one record, in the ledger's own adjacency.
  Must(server.finder.Find("projects/-", "", absl::InfiniteFuture()));
  auto listed = std::make_shared<v1::LedgerSummary>();
  listed->set_ledger(NameOf(0));
  listed->set_size(2);
  listed->set_delta(server.accounting.limits().usual_delta);
  listed->mutable_epsilon()->set_upper(9);
  server.index.PutSummary(listed);
  EXPECT_EQ(fresh("a", "adjacency: ZERO_OUT"), 2);
  EXPECT_EQ(fresh("b", "group_size: 2"), 2);
  EXPECT_EQ(fresh("c", ""), 1);  // nothing but lists said anything of that
  EXPECT_EQ(fresh("d", "group_size: 1"), 0);
  EXPECT_EQ(fresh("e", "adjacency: ZERO_OUT"), 0);
}

TEST_F(RecomputeTest, ListsWhatWasSaidOfALedger) {
  MakeLedgers(*store_, 120);
  v1::ListStatementsResponse statements;
  RecomputeOptions options;
  options.statements = [&](const v1::ListStatementsRequest& request,
                           const CallContext&) -> absl::StatusOr<v1::ListStatementsResponse> {
    v1::ListStatementsResponse page;
    // A page a statement; all are about one ledger.
    if (request.ledger() != NameOf(60)) return page;
    const int at = request.page_token().empty() ? 0 : std::stoi(request.page_token());
    if (at < statements.statements_size()) *page.add_statements() = statements.statements(at);
    if (at + 1 < statements.statements_size()) page.set_next_page_token(absl::StrCat(at + 1));
    return page;
  };
  Recomputer server(store_.get(), options);
  server.service.Start();
  const auto run = [&](const std::string& request) {
    return server.AwaitEnd(server.Begin("parent: 'projects/p' " + request).name()).name();
  };
  const auto said = [&](const std::string& ledger, const std::string& rest = "") {
    return Must(server.service.ListAnswers(
        FromText<v1::ListAnswersRequest>(absl::StrCat("ledger: '", ledger, "' ", rest)),
        CallContext()));
  };
  EXPECT_EQ(said(NameOf(60)).answers_size(), 0);
  const std::string renyi = run("request_id: 'a' options { method: RDP }");
  const std::string other_delta = run("request_id: 'b' delta: 1e-7");
  run("request_id: 'c' options { adjacency: ZERO_OUT }");
  run("request_id: 'd' options { group_size: 3 }");
  const std::string best = run("request_id: 'e'");
  // Every ledger's own answers, wherever its chunk stands.
  for (int i = 0; i < 120; ++i) {
    const v1::ListAnswersResponse of = said(NameOf(i));
    ASSERT_EQ(of.answers_size(), 3) << i;
    std::set<std::string> by;
    for (const v1::SaidAnswer& one : of.answers()) {
      EXPECT_EQ(one.answer().ledger(), NameOf(i));
      by.insert(one.operation());
    }
    EXPECT_EQ(by, std::set({renyi, other_delta, best}));
  }
  EXPECT_EQ(said(NameOf(60), "delta: 1e-3").answers_size(), 0);
  const double usual = server.accounting.limits().usual_delta;
  const v1::ListAnswersResponse usual_ones = said(NameOf(60), absl::StrCat("delta: ", usual));
  ASSERT_EQ(usual_ones.answers_size(), 2);
  const v1::SaidAnswer &first = usual_ones.answers(0), &second = usual_ones.answers(1);
  EXPECT_EQ(first.operation(), renyi);
  EXPECT_EQ(first.answer().method(), "rdp");
  EXPECT_FALSE(first.has_given_back());
  EXPECT_EQ(second.operation(), best);
  EXPECT_EQ(second.given_back(),
            first.answer().epsilon().upper() - second.answer().epsilon().upper());
  EXPECT_GT(second.given_back(), 0);

  // Statements, a withdrawn one too; not about groups.
  for (int number = 1; number <= 3; ++number) {
    v1::IssuedStatement& one = *statements.add_statements();
    one.set_ledger(NameOf(60));
    one.set_number(number);
    one.set_size(2);
    one.set_delta(usual);
    one.set_group_size(number == 2 ? 2 : 1);
    *one.mutable_epsilon() = first.answer().epsilon();
    *one.mutable_issue_time() = second.answer().compute_time();
    one.mutable_issue_time()->set_seconds(one.issue_time().seconds() + number);
  }
  statements.mutable_statements(2)->mutable_withdrawal()->set_reason("wrong");
  const v1::ListAnswersResponse all = said(NameOf(60), absl::StrCat("delta: ", usual));
  ASSERT_EQ(all.answers_size(), 4);
  EXPECT_EQ(all.answers(2).statement().number(), 1);
  EXPECT_EQ(all.answers(2).given_back(), -second.given_back());
  EXPECT_EQ(all.answers(3).statement().number(), 3);
  EXPECT_TRUE(all.answers(3).statement().has_withdrawal());
  EXPECT_EQ(all.answers(3).given_back(), 0);
  const v1::ListAnswersResponse page =
      said(NameOf(60), absl::StrCat("page_size: 3 delta: ", usual));
  EXPECT_EQ(page.answers_size(), 3);
  const v1::ListAnswersResponse rest =
      said(NameOf(60), absl::StrCat("page_token: '", page.next_page_token(), "' delta: ", usual));
  ASSERT_EQ(rest.answers_size(), 1);
  EXPECT_EQ(rest.answers(0).SerializeAsString(), all.answers(3).SerializeAsString());
  EXPECT_EQ(rest.next_page_token(), "");

  // Two that know no bound: the first takes back whatever there was, the second nothing.
  for (int number : {1, 3}) {
    statements.mutable_statements(number - 1)
        ->mutable_epsilon()
        ->set_upper(std::numeric_limits<double>::infinity());
  }
  const v1::ListAnswersResponse boundless = said(NameOf(60), absl::StrCat("delta: ", usual));
  EXPECT_EQ(boundless.answers(2).given_back(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(boundless.answers(3).given_back(), 0);
}

TEST_F(RecomputeTest, WhatWasSaidOfFewerEntriesGaveNothingBack) {
  MakeLedgers(*store_, 1);
  Recomputer server(store_.get(), {});
  server.service.Start();
  const auto run = [&](const std::string& id) {
    server.AwaitEnd(
        server.Begin(absl::StrCat("request_id: '", id, "' parent: 'projects/p'")).name());
  };
  run("a");
  Must(store_->Append(RoundBatch(NameOf(0), "w", "r2", 1)));
  v1::ListAnswersRequest request;
  request.set_ledger(NameOf(0));
  const auto count = [&] {
    return Must(server.service.ListAnswers(request, CallContext())).answers_size();
  };
  EXPECT_EQ(count(), 1);
  run("b");  // the same entries again
  const v1::ListAnswersResponse said = Must(server.service.ListAnswers(request, CallContext()));
  ASSERT_EQ(said.answers_size(), 2);
  EXPECT_EQ(said.answers(1).answer().size(), 2);
  EXPECT_TRUE(said.answers(1).has_given_back());
  EXPECT_EQ(said.answers(1).given_back(), 0);
}

TEST(SaidAnswers, StandInOrderEachOnceWithWhatTheyGaveBack) {
  const auto answer = [](int64_t time, uint64_t size, double delta, double upper,
                         const std::string& operation = "") {
    v1::SaidAnswer said;
    v1::LedgerSummary& summary = *said.mutable_answer();
    summary.mutable_compute_time()->set_seconds(time);
    summary.set_size(size);
    summary.set_delta(delta);
    if (upper > 0) summary.mutable_epsilon()->set_upper(upper);
    if (!operation.empty()) said.set_operation(operation);
    return said;
  };
  const std::vector<v1::SaidAnswer> said = InOrder({
      answer(5, 10, 1e-5, 4),        // as an operation compared with it
      answer(9, 10, 1e-5, 3, "o2"),  //
      answer(5, 10, 1e-5, 4, "o1"),  // who said it
      answer(6, 20, 1e-5, 8, "o1"),  // of other entries
      answer(7, 10, 1e-6, 5, "o3"),  // at another δ
      answer(8, 10, 1e-5, 0, "o4"),  // refused
      answer(9, 10, 1e-5, 3),        // in lists, as o2
      answer(10, 10, 1e-5, 3.5, "o5"),
  });
  std::vector<std::string> by;
  for (const v1::SaidAnswer& one : said) by.push_back(one.operation());
  EXPECT_THAT(by, ::testing::ElementsAre("o1", "o1", "o3", "o4", "o2", "o5"));
  EXPECT_EQ(said[4].given_back(), 1);
  EXPECT_EQ(said[5].given_back(), -.5);
  for (const int first : {0, 1, 2, 3}) EXPECT_FALSE(said[first].has_given_back()) << first;

  // Statements tell whole seconds: what they state was computed before.
  v1::SaidAnswer statement = answer(20, 10, 1e-5, 2);
  statement.mutable_statement()->set_number(7);
  v1::SaidAnswer computed = answer(20, 10, 1e-5, 2, "o6");
  computed.mutable_answer()->mutable_compute_time()->set_nanos(900'000'000);
  const std::vector<v1::SaidAnswer> second = InOrder({statement, computed});
  ASSERT_EQ(second.size(), 2);
  EXPECT_EQ(second[0].operation(), "o6");
}

TEST_F(RecomputeTest, SameRequestIsOneOperation) {
  MakeLedgers(*store_, 2);
  Recomputer server(store_.get(), {});
  const Operation first = server.Begin(kAll);
  EXPECT_EQ(server.Begin(kAll).SerializeAsString(), first.SerializeAsString());
  EXPECT_TRUE(IsError(
      server.service
          .StartRecompute(FromText<v1::StartRecomputeRequest>(kAll + " delta: 1e-3"), CallContext())
          .status(),
      absl::StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "another operation"));
  // Its own ledger is none of the ledgers that an operation finds.
  EXPECT_EQ(server.Begin("request_id: 'b' parent: 'projects/-'").total(), 2);
  const auto listed = Must(server.service.ListOperations({}));
  EXPECT_EQ(listed.operations_size(), 2);
}

TEST_F(RecomputeTest, GoesOnAfterARestartWhereItStopped) {
  MakeLedgers(*store_, 120);
  absl::Notification held;
  std::atomic<int> asked = 0;
  std::atomic<bool> stopping = false;
  std::string name;
  {
    RecomputeOptions options;
    options.threads = 1;
    options.said_before = [&](const std::string&,
                              double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
      if (++asked == 80) held.Notify();  // in the second chunk of 50
      while (asked >= 80 && !stopping) absl::SleepFor(absl::Milliseconds(1));
      return std::optional<v1::LedgerSummary>();
    };
    Recomputer server(store_.get(), options);
    server.service.Start();
    name = server.Begin(kAll).name();
    held.WaitForNotification();
    EXPECT_EQ(server.Get(name).done(), 50);
    stopping = true;
    server.service.Stop();
  }
  store_.reset();
  store_ = Must(OpenEmbeddedStore({.folder = folder_.path()}));
  std::atomic<int> asked_again = 0;
  RecomputeOptions options;
  options.said_before = [&](const std::string&,
                            double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
    ++asked_again;
    return std::optional<v1::LedgerSummary>();
  };
  Recomputer server(store_.get(), options);
  server.service.Start();
  const Operation operation = server.AwaitEnd(name);
  EXPECT_EQ(operation.state(), Operation::DONE);
  EXPECT_EQ(operation.done(), 120);
  EXPECT_EQ(asked_again, 70);
  ExpectEachOnce(*store_, operation, 120);
}

TEST_F(RecomputeTest, CancelKeepsWhatWasFound) {
  MakeLedgers(*store_, 120);
  absl::Notification held, cancelled;
  std::atomic<int> asked = 0;
  RecomputeOptions options;
  options.threads = 1;
  options.said_before = [&](const std::string&,
                            double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
    if (++asked == 80) {
      held.Notify();
      cancelled.WaitForNotification();
    }
    return std::optional<v1::LedgerSummary>();
  };
  Recomputer server(store_.get(), options);
  server.service.Start();
  const std::string name = server.Begin(kAll).name();
  held.WaitForNotification();
  v1::CancelOperationRequest cancel;
  cancel.set_name(name);
  EXPECT_EQ(Must(server.service.CancelOperation(cancel)).state(), Operation::CANCELLED);
  cancelled.Notify();
  // Nothing more happens to it, whoever asks.
  EXPECT_EQ(Must(server.service.CancelOperation(cancel)).state(), Operation::CANCELLED);
  server.AwaitEnd(server.Begin("request_id: 'b' parent: 'projects/-'").name());
  EXPECT_EQ(server.Get(name).done(), 50);
  EXPECT_EQ(server.Results(name).size(), 50);
  ExpectEachOnce(*store_, server.Get(name), 50);
}

TEST_F(RecomputeTest, EndsAtOnceWithoutLedgers) {
  Recomputer server(store_.get(), {});
  server.service.Start();
  const Operation operation = server.AwaitEnd(server.Begin(kAll).name());
  EXPECT_EQ(operation.state(), Operation::DONE);
  EXPECT_EQ(operation.total(), 0);
}

TEST_F(RecomputeTest, RefusesWrongRequests) {
  MakeLedgers(*store_, 1);
  const auto is = [](const absl::Status& status, const std::string& field) {
    return IsError(status, absl::StatusCode::kInvalidArgument, "INVALID_FIELD", field + ": ");
  };
  EXPECT_TRUE(is(Refusal("parent: 'projects/-'"), "request_id"));
  EXPECT_TRUE(is(Refusal("request_id: 'a b' parent: 'projects/-'"), "request_id"));
  EXPECT_TRUE(is(Refusal("request_id: 'a'"), "parent"));
  EXPECT_TRUE(is(Refusal("request_id: 'a' parent: 'p'"), "parent"));
  EXPECT_TRUE(is(Refusal(kAll + " filter: 'epsilon >'"), "filter"));
  EXPECT_TRUE(is(Refusal(kAll + " delta: 1"), "delta"));
  EXPECT_TRUE(is(Refusal(kAll + " delta: nan"), "delta"));
  EXPECT_TRUE(is(Refusal(kAll + " delta: -1"), "delta"));
  EXPECT_TRUE(is(Refusal(kAll + " options { method: 99 }"), "options.method"));
  EXPECT_TRUE(is(Refusal(kAll + " options { relative_gap: 7 }"), "options.relative_gap"));
  EXPECT_TRUE(is(Refusal(kAll + " options { group_size: 5000 }"), "options.group_size"));
  EXPECT_TRUE(is(Refusal(kAll + " options { parameters: FIXED }"), "options.parameters"));
  EXPECT_TRUE(is(Refusal(kAll + " options { as_planned: true }"), "options.as_planned"));
  EXPECT_TRUE(is(Refusal(kAll + " answered_before_version: 'x'"), "answered_before_version"));
  // Nothing of it is left.
  Recomputer server(store_.get(), {});
  EXPECT_EQ(Must(server.service.ListOperations({})).operations_size(), 0);
  v1::GetOperationRequest get;
  for (const char* name : {"", "operations/", "operations/../x", "x/0123", "operations/0A"}) {
    get.set_name(name);
    EXPECT_TRUE(is(server.service.GetOperation(get).status(), "name"));
  }
  get.set_name("operations/0123456789abcdef0123456789abcdef");
  EXPECT_TRUE(absl::IsNotFound(server.service.GetOperation(get).status()));
  const auto said = [&](const std::string& request) {
    return server.service.ListAnswers(FromText<v1::ListAnswersRequest>(request), CallContext())
        .status();
  };
  const std::string of_ledger = absl::StrCat("ledger: '", NameOf(0), "' ");
  EXPECT_TRUE(is(said("ledger: 'x'"), "ledger"));
  EXPECT_TRUE(is(said(of_ledger + "delta: 1"), "delta"));
  EXPECT_TRUE(is(said(of_ledger + "delta: nan"), "delta"));
  EXPECT_TRUE(is(said(of_ledger + "page_token: 'x'"), "page_token"));
  EXPECT_TRUE(absl::IsNotFound(said("ledger: 'projects/p/ledgers/none'")));
  v1::ListOperationsRequest list;
  list.set_page_token("?");
  EXPECT_TRUE(is(server.service.ListOperations(list).status(), "page_token"));
}

TEST(RecomputeCalls, AreServedAndRunInTheServer) {
  RunningServer running;
  running.Create(NameOf(0));
  running.Append(RoundBatch(NameOf(0), "w", "r", 1));
  const auto stub = v1::RecomputeService::NewStub(running.channel());
  Operation operation;
  ASSERT_TRUE(IsOk(Call(*stub, &v1::RecomputeService::Stub::StartRecompute,
                        FromText<v1::StartRecomputeRequest>(kAll), &operation)));
  v1::GetOperationRequest get;
  get.set_name(operation.name());
  while (operation.state() == Operation::RUNNING) {
    ASSERT_TRUE(IsOk(Call(*stub, &v1::RecomputeService::Stub::GetOperation, get, &operation)));
  }
  EXPECT_EQ(operation.done(), 1);
  // The results' ledger is the server's own.
  EXPECT_TRUE(IsError(Call(running.ledgers(), &v1::LedgerService::Stub::AppendBatch,
                           RoundBatch(operation.results_ledger(), "w", "r", 1)),
                      grpc::StatusCode::PERMISSION_DENIED, "RESERVED_PROJECT",
                      "projects/recomputations"));
}

}  // namespace
}  // namespace dpledger::server
