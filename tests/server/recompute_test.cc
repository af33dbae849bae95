// Operations on the embedded store: results, comparison, cancelling, going on after a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/synchronization/notification.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/server/recompute_cases.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using v1::Operation;

const std::string kAll = "request_id: 'a' parent: 'projects/-'";

class RecomputeTest : public testing::Test {
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
