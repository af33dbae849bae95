// Whose turn it is, and what one party may have under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "events/wire_errors.h"
#include "google/rpc/error_details.pb.h"
#include "http/message.h"
#include "server/desk/fair_queue.h"
#include "server/desk/quotas.h"
#include "server/desk/worker_pool.h"
#include "server/http_door/rpc.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;

// ---- Turns ----

// Parties and how long each of their tasks takes; the order in which one worker does them.
class Worker {
 public:
  void Comes(const std::string& party, absl::Duration takes) {
    queue_.Push({party, [] {}});
    takes_[party].push_back(takes);
  }
  // The party of the next task, which is done at once.
  std::string Next() {
    const FairQueue::Task task = queue_.Pop();
    auto& takes = takes_[task.party];
    queue_.Done(task.party, takes.front());
    takes.erase(takes.begin());
    return task.party;
  }
  std::vector<std::string> All() {
    std::vector<std::string> order;
    while (!queue_.empty()) order.push_back(Next());
    return order;
  }
  const FairQueue& queue() const { return queue_; }

 private:
  FairQueue queue_;
  std::map<std::string, std::vector<absl::Duration>> takes_;
};

TEST(FairQueue, OnePartyIsServedInItsOrder) {
  FairQueue queue;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) queue.Push({"a", [&order, i] { order.push_back(i); }});
  while (!queue.empty()) {
    const FairQueue::Task task = queue.Pop();
    task.run();
    queue.Done(task.party, absl::Milliseconds(5 - order.size()));
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(FairQueue, AShortQuestionWaitsForOneLongOne) {
  Worker worker;
  for (int i = 0; i < 50; ++i) worker.Comes("long", absl::Seconds(2));
  EXPECT_EQ(worker.Next(), "long");
  worker.Comes("short", absl::Milliseconds(1));
  EXPECT_EQ(worker.Next(), "short");
  // The same again, as from a script that asks one after the other.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(worker.Next(), i == 0 ? "long" : "short") << i;
    worker.Comes("short", absl::Milliseconds(1));
  }
}

TEST(FairQueue, TimeIsShared) {
  Worker worker;
  for (int i = 0; i < 1000; ++i) worker.Comes("ten", absl::Milliseconds(10));
  for (int i = 0; i < 1000; ++i) worker.Comes("thirty", absl::Milliseconds(30));
  std::map<std::string, int> done;
  for (int i = 0; i < 400; ++i) ++done[worker.Next()];
  EXPECT_NEAR(done["ten"], 300, 3);
  EXPECT_NEAR(done["thirty"], 100, 3);
}

TEST(FairQueue, NobodySavesUpTurns) {
  Worker worker;
  worker.Comes("late", absl::Milliseconds(10));
  for (int i = 0; i < 1000; ++i) worker.Comes("early", absl::Milliseconds(10));
  for (int i = 0; i < 500; ++i) worker.Next();
  for (int i = 0; i < 100; ++i) worker.Comes("late", absl::Milliseconds(10));
  std::map<std::string, int> done;
  for (int i = 0; i < 40; ++i) ++done[worker.Next()];
  EXPECT_NEAR(done["late"], 20, 1);
}

TEST(FairQueue, WhoLeavesAndComesBackOwesWhatHeOwed) {
  Worker worker;
  worker.Comes("heavy", absl::Seconds(10));
  for (int i = 0; i < 100; ++i) worker.Comes("light", absl::Milliseconds(100));
  EXPECT_EQ(worker.Next(), "heavy");
  worker.Comes("heavy", absl::Seconds(10));  // he had nothing waiting meanwhile
  for (int i = 0; i < 90; ++i) EXPECT_EQ(worker.Next(), "light") << i;
}

TEST(FairQueue, ForgetsWhoOwesNothing) {
  Worker worker;
  worker.Comes("stays", absl::Milliseconds(1));
  for (int i = 0; i < 1000; ++i) {
    worker.Comes(absl::StrCat("party ", i), absl::Milliseconds(1));
    worker.Comes("stays", absl::Milliseconds(1));
    worker.Next();
    worker.Next();
  }
  EXPECT_LT(worker.queue().parties(), 10);
  worker.All();
  EXPECT_EQ(worker.queue().parties(), 0);
}

TEST(FairQueue, WhatRunsCountsWhereNothingElseTells) {
  FairQueue queue;
  for (const char* party : {"a", "a", "b"}) queue.Push({party, [] {}});
  EXPECT_EQ(queue.Pop().party, "a");
  EXPECT_EQ(queue.Pop().party, "b");  // the second worker does not take a's second task
}

TEST(WorkerPool, PartiesTakeTurns) {
  absl::Mutex mutex;
  std::vector<std::string> order;
  absl::Notification started;
  absl::Notification go_on;
  {
    WorkerPool pool({.name = "accounting", .threads = 1, .max_queued = 100, .background = true});
    const auto task = [&](const std::string& party) {
      return [&, party] {
        absl::SleepFor(absl::Milliseconds(2));
        absl::MutexLock lock(&mutex);
        order.push_back(party);
      };
    };
    ASSERT_TRUE(pool.Submit("a",
                            [&] {
                              started.Notify();
                              go_on.WaitForNotification();
                            })
                    .ok());
    started.WaitForNotification();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(pool.Submit("a", task("a")).ok());
    ASSERT_TRUE(pool.Submit("b", task("b")).ok());
    go_on.Notify();
  }
  ASSERT_EQ(order.size(), 21);
  EXPECT_LE(std::find(order.begin(), order.end(), "b") - order.begin(), 1);
}

// ---- Quotas ----

constexpr size_t kMegabyte = 1'000'000;

class QuotasTest : public ::testing::Test {
 protected:
  TestClock clock_;
  Quotas quotas_{{.questions = 2, .question_seconds = 6, .bytes = 10 * kMegabyte}, &clock_};
};

TEST_F(QuotasTest, QuestionsOfOnePartyAreCounted) {
  auto first = quotas_.Admit("a", true, 10);
  auto second = quotas_.Admit("a", true, 10);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(IsError(quotas_.Admit("a", true, 10).status(), absl::StatusCode::kResourceExhausted,
                      "TOO_MANY_QUESTIONS",
                      "2 of your questions are under way, the limit is 2; try again in 1 s"));
  EXPECT_TRUE(quotas_.Admit("b", true, 10).ok());
  EXPECT_TRUE(quotas_.Admit("a", false, 10).ok()) << "an append is no question";
  (*first)->Answered();
  auto third = quotas_.Admit("a", true, 10);
  EXPECT_TRUE(third.ok());
  first->reset();  // its bytes; it was no question any more
  EXPECT_FALSE(quotas_.Admit("a", true, 10).ok());
}

TEST_F(QuotasTest, ProcessorTimeFillsUpOverAMinute) {
  {
    auto asks = quotas_.Admit("a", true, 10);
    ASSERT_TRUE(asks.ok());
    (*asks)->Charge(absl::Seconds(7));
  }
  // One second too much, of which a tenth of a second comes back in one second.
  const absl::Status refused = quotas_.Admit("a", true, 10).status();
  EXPECT_TRUE(IsError(refused, absl::StatusCode::kResourceExhausted, "QUESTION_SECONDS",
                      "the 6 seconds of a processor that they may take in a minute; try again in "
                      "10 s"));
  EXPECT_EQ(RetryDelayOf(ReasonOf(refused)), absl::Seconds(10));
  EXPECT_TRUE(quotas_.Admit("b", true, 10).ok());
  EXPECT_TRUE(quotas_.Admit("a", false, 10).ok());
  clock_.Advance(absl::Seconds(9));
  EXPECT_FALSE(quotas_.Admit("a", true, 10).ok());
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(quotas_.Admit("a", true, 10).ok());
}

TEST_F(QuotasTest, NothingIsSavedUpBeyondAMinute) {
  clock_.Advance(absl::Hours(5));
  auto asks = quotas_.Admit("a", true, 10);
  ASSERT_TRUE(asks.ok());
  clock_.Advance(absl::Hours(5));
  (*asks)->Charge(absl::Seconds(7));
  EXPECT_FALSE(quotas_.Admit("a", true, 10).ok());
}

TEST_F(QuotasTest, BytesAreThoseOfRequestsAndAnswers) {
  auto call = quotas_.Admit("a", false, kMegabyte);
  ASSERT_TRUE(call.ok());
  EXPECT_TRUE((*call)->Hold(4 * kMegabyte).ok());
  EXPECT_TRUE(IsError((*call)->Hold(1), absl::StatusCode::kResourceExhausted, "BYTES_IN_FLIGHT",
                      "5000000 bytes of your requests and answers are under way"));
  EXPECT_FALSE(quotas_.Admit("a", false, 1).ok());
  auto other = quotas_.Admit("b", false, 5 * kMegabyte);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(quotas_.Admit("c", false, 1).ok()) << "together they have all of it";
  call->reset();
  EXPECT_TRUE(quotas_.Admit("c", false, 1).ok());
}

TEST_F(QuotasTest, OneMessageAloneIsTaken) {
  EXPECT_TRUE(quotas_.Admit("a", false, 8 * kMegabyte).ok());
}

TEST_F(QuotasTest, StreamsOfOnePartyAreCounted) {
  auto first = quotas_.AdmitStream("a", 2);
  auto second = quotas_.AdmitStream("a", 2);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(IsError(quotas_.AdmitStream("a", 2).status(), absl::StatusCode::kResourceExhausted,
                      "TOO_MANY_STREAMS", "2 of your streams wait, the limit is 2"));
  EXPECT_TRUE(quotas_.AdmitStream("b", 2).ok());
  EXPECT_TRUE(quotas_.Admit("a", true, 10).ok()) << "a stream is no question";
  first->reset();
  EXPECT_TRUE(quotas_.AdmitStream("a", 2).ok());
}

TEST_F(QuotasTest, PartiesAreForgotten) {
  for (int i = 0; i < 10'000; ++i) {
    auto asks = quotas_.Admit(absl::StrCat("party ", i), true, 10);
    ASSERT_TRUE(asks.ok());
    (*asks)->Charge(absl::Milliseconds(1));
    clock_.Advance(absl::Milliseconds(10));  // it has paid that back at once
  }
  EXPECT_LT(quotas_.parties(), 200);
}

// ---- The whole server ----

TEST(Party, IsTheCallerOrTheConnection) {
  class Known : public Identifier {
   public:
    absl::StatusOr<Caller> Identify(const Credentials& credentials) override {
      Caller caller;
      if (credentials.authorization.empty()) return caller;
      caller.name = "token:ann";
      caller.kind = identity::CallerKind::kToken;
      return caller;
    }
  } known;
  const Log log(LogLevel::kError, 2);
  Desk desk({}, {}, &known, nullptr, &log);
  const auto party = [&](const char* authorization, const char* peer) {
    CallContext call;
    desk.Identify({.authorization = authorization, .peer = peer}, call);
    return call.party;
  };
  EXPECT_EQ(party("Bearer x", "connection 1"), party("Bearer x", "connection 2"));
  EXPECT_NE(party("", "connection 1"), party("", "connection 2"));
  EXPECT_EQ(party("", "connection 1"), "connection 1");
}

// A host's share is by its address, and so is the log, whether callers are asked for a name or not.
TEST(Peer, IsTheAddressOfTheConnection) {
  const Log log(LogLevel::kError, 2);
  const auto address = [](const Credentials& call) {
    return absl::StrCat("192.0.2.1 ", call.peer);
  };
  for (const bool known : {false, true}) {
    Desk desk({.address_of = known ? address : decltype(DeskOptions::address_of)()}, {}, nullptr,
              nullptr, &log);
    CallContext call;
    desk.Identify({.peer = "a"}, call);
    EXPECT_EQ(call.peer, known ? "192.0.2.1 a" : "a");
  }
}

TEST(ErrorDetails, SayWhenToTryAgain) {
  const google::rpc::Status details = events::WithErrorInfo(
      RetryAfter(absl::ResourceExhaustedError("full"), "FULL", absl::Milliseconds(1500)));
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::ErrorInfo info;
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_EQ(info.reason(), "FULL");
  EXPECT_EQ(retry.retry_delay().seconds(), 2);
  EXPECT_EQ(details.message(), "full; try again in 2 s");
}

ServerOptions OneQuestionEach() {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.desk.query_threads = 2;
  options.desk.quotas.questions = 1;
  return options;
}

TEST(Quota, OfOneConnectionDoesNotHinderAnother) {
  constexpr char kLedger[] = "projects/p/ledgers/l";
  RunningServer running(OneQuestionEach());
  running.Create(kLedger);
  v1::ComputeEpsilonRequest question;
  question.mutable_subject()->add_ledgers(kLedger);
  question.set_delta(1e-5);
  using Accounting = v1::AccountingService::Stub;
  const auto ask = [&](Accounting& stub) {
    return Call<Accounting, v1::ComputeEpsilonRequest, v1::ComputeEpsilonResponse>(
        stub, &Accounting::ComputeEpsilon, question);
  };
  running.store().HoldReads();
  grpc::Status first;
  std::thread asks([&] { first = ask(running.accounting()); });
  running.store().AwaitHeldReads(1);
  EXPECT_TRUE(IsError(ask(running.accounting()), StatusCode::RESOURCE_EXHAUSTED,
                      "TOO_MANY_QUESTIONS", "1 of your questions are under way"));
  grpc::Status second;
  std::thread other([&] { second = ask(*v1::AccountingService::NewStub(running.NewChannel())); });
  running.store().AwaitHeldReads(2);  // it runs
  running.Append(RoundBatch(kLedger, "w", "r1", 0));
  running.store().ReleaseReads();
  asks.join();
  other.join();
  EXPECT_TRUE(IsOk(first));
  EXPECT_TRUE(IsOk(second));
  EXPECT_TRUE(IsOk(ask(running.accounting())));
}

// A caller of the HTTP door who does not read.
class Unread : public http::Exchange {
 public:
  void Send(http::Response response) override {
    answer_ = std::move(response);
    sent_.Notify();
  }
  void Start(http::Response) override { ADD_FAILURE(); }
  void Write(std::string, std::function<void(bool)>) override { ADD_FAILURE(); }
  void End(std::string) override { ADD_FAILURE(); }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()>) override {}
  const http::Response& Await() {
    sent_.WaitForNotification();
    return answer_;
  }

 private:
  absl::Notification sent_;
  http::Response answer_;
};

TEST(Quota, CountsAFileOfALogUntilItIsSent) {
  RunningServer running;
  running.Create("projects/p/ledgers/l");
  const auto exchange = std::make_shared<Unread>();
  ServeLogFile(running.server().desk(), "tile/entries/000.p/1", {.peer = "127.0.0.1:1"}, exchange,
               {});
  EXPECT_NE(exchange->Await().kept, nullptr) << exchange->Await().body;
}

}  // namespace
}  // namespace dpledger::server
