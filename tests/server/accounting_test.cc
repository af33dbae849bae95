// Questions over gRPC about ledgers, events, and both: what is read, composed, refused, warned of,
// and stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "ledger_store/embedded/embedded_store.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Accounting = v1::AccountingService::Stub;

constexpr char kOther[] = "projects/q/ledgers/b";

// `count` rounds at q = 0.01 and noise multiplier 1.
v1::Event Rounds(uint64_t count) {
  return FromText<v1::Event>(
      absl::StrCat("rounds { scheme { poisson { probability: 0.01 } } "
                   "queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
                   count, " }"));
}

v1::AppendBatchRequest RoundsBatch(const std::string& ledger, const std::string& request_id,
                                   uint64_t count) {
  v1::AppendBatchRequest batch = Batch(ledger, "w", request_id);
  *batch.add_entries()->mutable_event() = Rounds(count);
  return batch;
}

v1::ComputeEpsilonRequest AboutLedgers(const std::vector<std::string>& ledgers) {
  v1::ComputeEpsilonRequest request;
  request.set_delta(1e-5);
  for (const std::string& ledger : ledgers) request.mutable_subject()->add_ledgers(ledger);
  return request;
}

class AccountingTest : public ::testing::Test {
 protected:
  explicit AccountingTest(const ServerOptions& options = RunningServer::SigningOnDemand())
      : running_(options) {}

  grpc::Status Ask(const v1::ComputeEpsilonRequest& request) {
    return Call(running_.accounting(), &Accounting::ComputeEpsilon, request, &answer_);
  }
  // The same question about events alone.
  v1::Interval EpsilonOf(const std::vector<v1::Event>& events) {
    v1::ComputeEpsilonRequest request = AboutLedgers({});
    for (const v1::Event& event : events) *request.mutable_subject()->add_events() = event;
    v1::ComputeEpsilonResponse response;
    EXPECT_TRUE(IsOk(Call(running_.accounting(), &Accounting::ComputeEpsilon, request, &response)));
    return response.epsilon();
  }
  std::vector<std::string> Warnings() const {
    return {answer_.details().warnings().begin(), answer_.details().warnings().end()};
  }
  void ExpectSame(const v1::Interval& a, const v1::Interval& b) {
    EXPECT_EQ(a.lower(), b.lower());
    EXPECT_EQ(a.upper(), b.upper());
  }

  RunningServer running_;
  v1::ComputeEpsilonResponse answer_;
};

TEST_F(AccountingTest, AnswersForALedgerAndSaysWhatItRestsOn) {
  running_.Create(kLedger);
  running_.Append(RoundsBatch(kLedger, "r", 10'000));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  // reference/certified.json
  EXPECT_LE(answer_.epsilon().lower(), 6.187712389971539);
  EXPECT_GE(answer_.epsilon().upper(), 6.187712389971539);
  EXPECT_LE(answer_.epsilon().upper() - answer_.epsilon().lower(),
            1e-3 * answer_.epsilon().upper());
  const v1::AnswerDetails& details = answer_.details();
  EXPECT_EQ(details.adjacency(), v1::ADD_OR_REMOVE_ONE);
  EXPECT_EQ(details.parameters(), v1::FIXED);
  EXPECT_EQ(details.entries(), 2u);
  ASSERT_EQ(details.ledgers_size(), 1);
  EXPECT_EQ(details.ledgers(0).name(), kLedger);
  EXPECT_EQ(details.ledgers(0).size(), 2u);
  EXPECT_EQ(details.ledgers(0).root_hash(), running_.Get(kLedger).root_hash());
  EXPECT_THAT(Warnings(), Not(Contains(HasSubstr("other ledger"))));
}

TEST_F(AccountingTest, ReadsOnFromWhereItWas) {
  running_.Create(kLedger);
  running_.Append(RoundsBatch(kLedger, "r1", 100));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_EQ(running_.store().entries_read, 2u);
  running_.Append(RoundsBatch(kLedger, "r2", 50));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_EQ(running_.store().entries_read, 3u);
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(150)}));
  EXPECT_EQ(answer_.details().ledgers(0).root_hash(), running_.Get(kLedger).root_hash());

  // A prefix is read anew, and does not push out what is known of the whole.
  v1::ComputeEpsilonRequest prefix = AboutLedgers({kLedger});
  prefix.mutable_subject()->set_up_to_sequence(2);
  ASSERT_TRUE(IsOk(Ask(prefix)));
  EXPECT_EQ(running_.store().entries_read, 3u + 3u + 2u);  // three of them to be signed
  EXPECT_EQ(answer_.details().ledgers(0).size(), 2u);
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(100)}));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_EQ(running_.store().entries_read, 8u);
}

// The first part of a ledger is held against what was signed of it, as the whole is against its
// root.
TEST_F(AccountingTest, ChangedEntryIsNoPartOfAnAnswer) {
  running_.Create(kLedger);
  running_.Append(RoundsBatch(kLedger, "r1", 100));
  running_.Append(RoundsBatch(kLedger, "r2", 50));
  v1::ComputeEpsilonRequest prefix = AboutLedgers({kLedger});
  prefix.mutable_subject()->set_up_to_sequence(1);
  ASSERT_TRUE(IsOk(Ask(prefix)));  // all is signed now
  running_.store().lies = true;
  prefix.mutable_subject()->set_up_to_sequence(2);
  EXPECT_TRUE(IsError(Ask(prefix), StatusCode::DATA_LOSS, "DATA_LOSS",
                      "its first 2 entries do not have the root hash that they must have"));
  running_.store().lies = false;
  ASSERT_TRUE(IsOk(Ask(prefix)));
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(100)}));
}

TEST_F(AccountingTest, RoundThatIsOpenBetweenQuestionsCountsOnce) {
  running_.Create(kLedger);
  v1::AppendBatchRequest first = Batch(kLedger, "w", "r1");
  AddSampling(first, 1);
  AddSumQuery(first, 1);
  running_.Append(first);
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  v1::AppendBatchRequest second = Batch(kLedger, "w", "r2");
  AddSumQuery(second, 1);
  running_.Append(second);
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  ExpectSame(answer_.epsilon(), EpsilonOf({first.entries(0).event(), first.entries(1).event(),
                                           second.entries(0).event()}));
}

TEST_F(AccountingTest, AddsWhatIfEvents) {
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_planned_rounds(1000); });
  running_.Append(RoundsBatch(kLedger, "r1", 100));
  v1::ComputeEpsilonRequest request = AboutLedgers({kLedger});
  *request.mutable_subject()->add_events() = Rounds(50);
  ASSERT_TRUE(IsOk(Ask(request)));
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(150)}));
  EXPECT_EQ(answer_.details().entries(), 3u);
  EXPECT_EQ(running_.Get(kLedger).size(), 2u);
  EXPECT_FALSE(answer_.has_planned_epsilon());
  EXPECT_THAT(Warnings(), Contains(HasSubstr("has 100 of 1000 planned rounds")));
}

// Alone, beside others and in a data set: the number rests on the plan everywhere.
TEST_F(AccountingTest, SaysThatAPlanWasExceededWhereverItCounts) {
  for (const std::string& name : {kLedger, std::string(kOther)}) {
    running_.Create(name, [](v1::Declaration& declaration) {
      declaration.set_plan_independent(true);
      declaration.set_planned_rounds(150);
    });
    running_.Append(RoundsBatch(name, "r1", 100));
  }
  const auto exceeded = HasSubstr(
      "has 200 rounds, more than the 150 planned: if the plan was extended after looking at "
      "outputs, this number does not hold");
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger, kOther}))));
  EXPECT_THAT(Warnings(), Not(Contains(exceeded)));
  running_.Append(RoundsBatch(kLedger, "r2", 100));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_THAT(Warnings(), Contains(exceeded));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger, kOther}))));
  EXPECT_THAT(Warnings(), Contains(AllOf(HasSubstr(kLedger), exceeded)));
}

TEST_F(AccountingTest, GivesThePlansCostBesideTheSpent) {
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_planned_rounds(1000); });
  running_.Append(RoundsBatch(kLedger, "r1", 100));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(100)}));
  ExpectSame(answer_.planned_epsilon(), EpsilonOf({Rounds(1000)}));
}

TEST_F(AccountingTest, ComposesLedgersWhosePlansAreIndependent) {
  for (const std::string& name : {kLedger, std::string(kOther)}) {
    running_.Create(name,
                    [](v1::Declaration& declaration) { declaration.set_plan_independent(true); });
    running_.Append(RoundsBatch(name, "r1", 100));
  }
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger, kOther}))));
  ExpectSame(answer_.epsilon(), EpsilonOf({Rounds(200)}));
  EXPECT_EQ(answer_.details().ledgers_size(), 2);
  EXPECT_EQ(answer_.details().entries(), 4u);
  EXPECT_EQ(answer_.details().regime(), v1::FIXED_PLAN);
}

TEST_F(AccountingTest, RefusesToComposeWhatDoesNotGoTogether) {
  const auto refusal = [&](const std::function<void(v1::Declaration&)>& declare,
                           const std::string& other) {
    running_.Create(other, declare);
    return Ask(AboutLedgers({kLedger, other}));
  };
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_plan_independent(true); });
  EXPECT_TRUE(
      IsError(refusal([](v1::Declaration& declaration) { declaration.set_dataset("mnist"); },
                      "projects/p/ledgers/data"),
              StatusCode::FAILED_PRECONDITION, "DATASETS_DIFFER",
              "projects/p/ledgers/data: declares the data set \"mnist\""));
  EXPECT_TRUE(
      IsError(refusal([](v1::Declaration& declaration) { declaration.set_adjacency(v1::ZERO_OUT); },
                      "projects/p/ledgers/adjacency"),
              StatusCode::FAILED_PRECONDITION, "ADJACENCIES_DIFFER",
              "projects/p/ledgers/adjacency: declares ZERO_OUT"));
}

TEST_F(AccountingTest, AnswersAdaptiveLedgersByTheirFilters) {
  const auto held = [this](const std::string& name, const char* filter) {
    running_.Create(name, [filter](v1::Declaration& declaration) {
      declaration.set_parameters(v1::ADAPTIVE);
      *declaration.mutable_filter() = FromText<v1::Filter>(filter);
    });
  };
  held(kLedger, "gdp { mu: 3 }");
  held("projects/p/ledgers/second", "gdp { mu: 4 }");
  held("projects/p/ledgers/other", "zcdp { rho: 1 }");
  running_.Append(RoundsBatch(kLedger, "r", 4));
  ASSERT_TRUE(Ask(AboutLedgers({kLedger})).ok());
  EXPECT_EQ(answer_.details().method(), "gaussian");
  ASSERT_EQ(answer_.details().filter_spending_size(), 1);
  EXPECT_EQ(answer_.details().filter_spending(0).ledger(), kLedger);
  EXPECT_EQ(answer_.details().filter_spending(0).filter(), "mu (gdp)");
  EXPECT_EQ(answer_.details().filter_spending(0).bound(), 3);
  EXPECT_NEAR(answer_.details().filter_spending(0).spent(), 2, 1e-14);
  EXPECT_THAT(answer_.details().warnings(), Contains(HasSubstr("no guarantee")));
  EXPECT_THAT(answer_.details().assumptions(),
              Contains(HasSubstr("acknowledges nothing that would cross")));
  EXPECT_EQ(answer_.details().parameters(), v1::ADAPTIVE);
  const double alone = answer_.epsilon().upper();

  // Together they are held to μ = 5.
  ASSERT_TRUE(Ask(AboutLedgers({kLedger, "projects/p/ledgers/second"})).ok());
  EXPECT_EQ(answer_.details().filter_spending_size(), 2);
  EXPECT_GT(answer_.epsilon().upper(), alone);
  EXPECT_EQ(answer_.details().regime(), v1::FILTER);
  // Filters of two kinds have no common bound: there is an odometer of what was done.
  ASSERT_TRUE(Ask(AboutLedgers({kLedger, "projects/p/ledgers/other"})).ok());
  EXPECT_EQ(answer_.details().regime(), v1::ODOMETER);
  EXPECT_THAT(answer_.details().warnings(),
              Contains(HasSubstr("filters mu (gdp) and rho (zcdp) have no common bound")));

  // Mixtures add ε and δ.
  held("projects/p/ledgers/mixed", "mixture { epsilon: 3 delta: 1e-6 orders: [2, 8] }");
  held("projects/p/ledgers/mixed-too", "mixture { epsilon: 1 delta: 2e-6 orders: 4 }");
  ASSERT_TRUE(Ask(AboutLedgers({"projects/p/ledgers/mixed", "projects/p/ledgers/mixed-too"})).ok());
  EXPECT_NEAR(answer_.epsilon().upper(), 4, 1e-14);
  EXPECT_EQ(answer_.details().filter_spending(0).delta(), 1e-6);
  EXPECT_THAT(answer_.details().warnings(), Contains(HasSubstr("no differential privacy")));
  v1::ComputeEpsilonRequest below = AboutLedgers({"projects/p/ledgers/mixed"});
  below.set_delta(1e-9);
  EXPECT_TRUE(IsError(Ask(below), StatusCode::FAILED_PRECONDITION, "FILTER_DELTA",
                      "delta: must be at least 1e-06, got 1e-09"));

  // What-if events are spent of the one ledger's filter.
  v1::ComputeEpsilonRequest what_if = AboutLedgers({kLedger});
  *what_if.mutable_subject()->add_events() = Rounds(5);
  ASSERT_TRUE(Ask(what_if).ok()) << "9 rounds fill it to the brim";
  EXPECT_EQ(answer_.epsilon().upper(), alone);
  *what_if.mutable_subject()->add_events() = Rounds(1);
  EXPECT_TRUE(IsError(Ask(what_if), StatusCode::FAILED_PRECONDITION, "FILTER_CROSSED",
                      "its filter mu (gdp) is crossed"));

  v1::ComputeEpsilonRequest other = AboutLedgers({kLedger});
  other.mutable_options()->set_adjacency(v1::ZERO_OUT);
  EXPECT_EQ(Ask(other).error_code(), StatusCode::INVALID_ARGUMENT);
  other = AboutLedgers({kLedger});
  other.mutable_options()->set_method(v1::PLD);
  EXPECT_TRUE(IsError(Ask(other), StatusCode::FAILED_PRECONDITION, "METHOD_DOES_NOT_APPLY",
                      "the filter mu (gdp) is answered by gaussian only"));
}

TEST_F(AccountingTest, RefusesAnAdaptiveLedgerWithoutFilterByName) {
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_parameters(v1::ADAPTIVE); });
  running_.Append(RoundsBatch(kLedger, "r", 10));
  const grpc::Status status = Ask(AboutLedgers({kLedger}));
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("ADAPTIVE"), HasSubstr("declared a filter before its first event")));
}

TEST_F(AccountingTest, RefusesAMechanismThatHasNoAnalysis) {
  running_.Create(kLedger);
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  *batch.add_entries()->mutable_event() =
      FromText<v1::Event>("mechanism { unsupported { description: 'home made' } }");
  running_.Append(batch);
  EXPECT_TRUE(IsError(Ask(AboutLedgers({kLedger})), StatusCode::FAILED_PRECONDITION, "NO_ANALYSIS",
                      "home made"));
}

TEST_F(AccountingTest, NamesHowManyOtherLedgersDeclareTheDataSet) {
  for (const std::string& name :
       {kLedger, std::string(kOther), std::string("projects/p/ledgers/c")}) {
    running_.Create(name,
                    [](v1::Declaration& declaration) { declaration.set_plan_independent(true); });
  }
  running_.Create("projects/p/ledgers/elsewhere",
                  [](v1::Declaration& declaration) { declaration.set_dataset("x"); });
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_THAT(
      Warnings(),
      Contains("2 other ledgers on this server declare the data set \"adult\" and are not in "
               "this answer"));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger, kOther}))));
  EXPECT_THAT(
      Warnings(),
      Contains("1 other ledger on this server declares the data set \"adult\" and is not in "
               "this answer"));
}

TEST_F(AccountingTest, WarnsOfASpoolThatMayHoldUndeliveredEvents) {
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_spool_policy(v1::SPOOL); });
  running_.Append(RoundBatch(kLedger, "trainer-7", "r1", 1));
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_THAT(
      Warnings(),
      Contains(HasSubstr("writer \"trainer-7\": its policy is SPOOL and it has not closed")));
  v1::AppendBatchRequest close = Batch(kLedger, "trainer-7", "r2");
  close.add_entries()->mutable_writer_closed()->set_entry_count(3);
  running_.Append(close);
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  EXPECT_THAT(Warnings(), Not(Contains(HasSubstr("SPOOL"))));
}

TEST_F(AccountingTest, NamesAHundredMissingWritersAndCountsAll) {
  running_.Create(kLedger,
                  [](v1::Declaration& declaration) { declaration.set_spool_policy(v1::SPOOL); });
  for (int i = 0; i < 103; ++i) {
    const std::string name = absl::StrCat("trainer-", 1000 + i);
    running_.Append(RoundBatch(kLedger, name, name, 1));
  }
  ASSERT_TRUE(IsOk(Ask(AboutLedgers({kLedger}))));
  const v1::LedgerReference& ledger = answer_.details().ledgers(0);
  ASSERT_EQ(ledger.missing_size(), 100);
  EXPECT_EQ(ledger.missing(99).writer(), "trainer-1099");
  EXPECT_EQ(ledger.missing_count(), 103u);
  EXPECT_THAT(Warnings(),
              Contains(HasSubstr("may be short: there are 3 more releases that may be missing")));
  EXPECT_THAT(Warnings(), Not(Contains(HasSubstr("trainer-1100"))));
}

// ---- Bounds ----

ServerOptions OneThread() {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.desk.query_threads = 1;
  options.desk.max_queued_queries = 1;
  return options;
}

class BusyAccounting : public AccountingTest {
 protected:
  BusyAccounting() : AccountingTest(OneThread()) {}
};

TEST_F(BusyAccounting, RefusesMoreQuestionsAndStillTakesAppends) {
  running_.Create(kLedger);
  running_.store().HoldReads();
  const auto ask = [&] {
    v1::ComputeEpsilonResponse unused;
    return Call(running_.accounting(), &Accounting::ComputeEpsilon, AboutLedgers({kLedger}),
                &unused);
  };
  grpc::Status first;
  std::thread first_caller([&] { first = ask(); });
  running_.store().AwaitHeldReads(1);
  // Of two more, one waits in the queue and the other is refused.
  absl::Notification refused;
  std::vector<grpc::Status> more(2);
  std::vector<std::thread> callers;
  for (grpc::Status& status : more) {
    callers.emplace_back([&] {
      status = ask();
      if (!status.ok()) refused.Notify();
    });
  }
  refused.WaitForNotification();
  running_.Append(RoundsBatch(kLedger, "r1", 100));
  running_.store().ReleaseReads();
  first_caller.join();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(IsOk(first));
  if (more[1].ok()) std::swap(more[0], more[1]);
  EXPECT_TRUE(IsOk(more[0]));
  EXPECT_TRUE(IsError(more[1], StatusCode::RESOURCE_EXHAUSTED, "OVERLOADED",
                      "accounting: 1 calls wait already"));
}

ServerOptions ShortQueries() {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.accounting.query_timeout = absl::Milliseconds(20);
  return options;
}

// A question that takes seconds: thousands of distinct rounds.
v1::ComputeEpsilonRequest HeavyQuestion() {
  v1::ComputeEpsilonRequest request = AboutLedgers({});
  for (int i = 0; i < 5000; ++i) {
    v1::Event event = Rounds(1000);
    event.mutable_rounds()->mutable_queries(0)->set_noise_stddev(1 + i * 1e-3);
    *request.mutable_subject()->add_events() = event;
  }
  request.mutable_options()->set_method(v1::PLD);
  request.mutable_options()->set_relative_gap(1e-9);
  return request;
}

class ShortAccounting : public AccountingTest {
 protected:
  ShortAccounting() : AccountingTest(ShortQueries()) {}
};

TEST_F(ShortAccounting, StopsAtTheServersOwnTimeLimit) {
  EXPECT_TRUE(IsError(Ask(HeavyQuestion()), StatusCode::DEADLINE_EXCEEDED, "QUERY_TIMEOUT",
                      "ran out of its time"));
}

TEST_F(BusyAccounting, StopsAtTheCallersDeadlineAndIsFreeForTheNext) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  v1::ComputeEpsilonResponse response;
  EXPECT_EQ(running_.accounting().ComputeEpsilon(&context, HeavyQuestion(), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GT(EpsilonOf({Rounds(100)}).upper(), 0);  // on the only thread there is
}

TEST(AccountingService, StopsWhenTheCallerHasGone) {
  TempFolder folder;
  auto store = OpenEmbeddedStore({.folder = folder.path()});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Create(CreateRequest(kLedger)).ok());
  AccountingService service(store->get(), {});
  const auto answer =
      service.ComputeEpsilon(AboutLedgers({kLedger}), {.cancelled = [] { return true; }});
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kCancelled);
}

TEST(AccountingService, RefusesAHistoryThatDoesNotFit) {
  TempFolder folder;
  auto store = OpenEmbeddedStore({.folder = folder.path()});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Create(CreateRequest(kLedger)).ok());
  AccountingService service(store->get(), {.max_history_bytes = 100});
  EXPECT_TRUE(IsError(service.ComputeEpsilon(AboutLedgers({kLedger}), {}).status(),
                      absl::StatusCode::kResourceExhausted, "HISTORY_TOO_LARGE", kLedger));
}

}  // namespace
}  // namespace dpledger::server
