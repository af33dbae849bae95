// Servers that keep the filters of ledgers in one PostgreSQL database.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/postgres_store.h"
#include "server/questions/filter_gate.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::server {
namespace {

// A server, as far as it concerns filters.
class FilteringServer {
 public:
  explicit FilteringServer(const std::string& connection) {
    PostgresOptions options;
    options.connection = connection;
    auto store = OpenPostgresStore(options);
    if (!store.ok()) throw std::runtime_error(store.status().ToString());
    store_ = *std::move(store);
    source_ = std::make_unique<SubjectSource>(store_.get(), size_t{64} << 20);
    gate_.Start(source_.get());
    store_->Guard(&gate_);
  }
  ~FilteringServer() {
    gate_.Stop();
    source_.reset();
    store_.reset();
  }
  LedgerStore& store() { return *store_; }

  // True: taken; false: refused, as it would cross.
  bool Append(const v1::AppendBatchRequest& batch) {
    while (true) {
      const absl::Status status = store_->Append(batch).status();
      if (status.ok()) return true;
      const std::string reason = ReasonOf(status).reason;
      if (reason == questions::kFilterCrossed || reason == questions::kBudgetExceeded) return false;
      EXPECT_EQ(reason, kFilterNotReady) << status;
      if (reason != kFilterNotReady) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

 private:
  FilterGate gate_;
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<SubjectSource> source_;
};

v1::CreateLedgerRequest HeldLedger(double rho) {
  v1::CreateLedgerRequest request = CreateRequest(kLedger);
  request.mutable_declaration()->set_parameters(v1::ADAPTIVE);
  request.mutable_declaration()->mutable_filter()->mutable_zcdp()->set_rho(rho);
  return request;
}

// ρ of 1/128.
v1::AppendBatchRequest Round(const std::string& writer, uint64_t round) {
  v1::AppendBatchRequest batch = Batch(kLedger, writer, absl::StrCat(writer, ".", round));
  batch.add_entries()->mutable_event()->mutable_sampling()->set_round(round);
  batch.mutable_entries(0)
      ->mutable_event()
      ->mutable_sampling()
      ->mutable_scheme()
      ->mutable_full_batch();
  AddSumQuery(batch, round);
  batch.mutable_entries(1)->mutable_event()->mutable_sum_query()->mutable_query()->set_noise_stddev(
      8);
  return batch;
}

TEST(PostgresFilters, RaceOverThreeServersTakesAsManyAsFit) {
  PostgresServer database;
  std::vector<std::unique_ptr<FilteringServer>> servers;
  for (int i = 0; i < 3; ++i)
    servers.push_back(std::make_unique<FilteringServer>(database.Connection()));
  constexpr int kWriters = 12, kRounds = 50;
  constexpr int kFits = kWriters * kRounds * 61 / 100;
  ASSERT_TRUE(servers[0]->store().Create(HeldLedger(kFits / 128.0)).ok());
  std::atomic<int> taken = 0, refused = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      FilteringServer& server = *servers[static_cast<size_t>(w % 3)];
      for (uint64_t round = 0; round < kRounds; ++round)
        ++(server.Append(Round(absl::StrCat("w", w), round)) ? taken : refused);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(taken, kFits);
  EXPECT_EQ(refused, kWriters * kRounds - kFits);
  const auto ledger = servers[1]->store().Get(kLedger);
  ASSERT_TRUE(ledger.ok());
  EXPECT_EQ(ledger->size(), 1u + 2 * kFits);
  // A server that starts now refuses too.
  servers.clear();
  FilteringServer late(database.Connection());
  EXPECT_FALSE(late.Append(Round("late", 0)));
}

// Each of six runs asks for one more round of ρ = 1/128 at a time, at whichever server.
TEST(PostgresBudgets, RaceOverThreeServersGrantsAsManyAsFit) {
  PostgresServer database;
  std::vector<std::unique_ptr<FilteringServer>> servers;
  for (int i = 0; i < 3; ++i)
    servers.push_back(std::make_unique<FilteringServer>(database.Connection()));
  const std::string budget = "projects/p/ledgers/budget";
  constexpr int kRuns = 6, kSteps = 30;
  constexpr int kFits = kRuns * kSteps * 61 / 100;
  v1::CreateLedgerRequest create = HeldLedger(kFits / 128.0);
  create.set_name(budget);
  create.mutable_declaration()->set_kind(v1::BUDGET);
  ASSERT_TRUE(servers[0]->store().Create(create).ok());
  create = CreateRequest(kLedger);
  create.mutable_declaration()->set_budget(budget);
  std::atomic<int> granted = 0, refused = 0, taken = 0;
  std::vector<std::thread> trainers;
  for (int i = 0; i < kRuns; ++i) {
    const std::string run = absl::StrCat("projects/p/ledgers/run", i);
    create.set_name(run);
    const auto made = servers[1]->store().Create(create);
    ASSERT_TRUE(made.ok()) << made.status();
    trainers.emplace_back([&, i, run] {
      uint64_t held = 0, done = 0;
      for (int step = 0; step < kSteps; ++step) {
        FilteringServer& server = *servers[static_cast<size_t>((i + step) % 3)];
        v1::GrantBudgetRequest request;
        request.set_budget(budget);
        request.set_ledger(run);
        request.set_request_id(absl::StrCat("grant", i, ".", step));
        v1::RoundsEvent& rounds = *request.add_plan()->mutable_rounds();
        rounds.mutable_scheme()->mutable_full_batch();
        rounds.add_queries()->set_l2_norm_bound(1);
        rounds.mutable_queries(0)->set_noise_stddev(8);
        rounds.set_count(held + 1);
        absl::Status status;
        do {
          status = server.store().Grant(request, "").status();
        } while (ReasonOf(status).reason == kFilterNotReady);
        EXPECT_TRUE(status.ok() || ReasonOf(status).reason == questions::kBudgetExceeded) << status;
        held += status.ok() ? 1 : 0;
        ++(status.ok() ? granted : refused);
        // One round more than was granted is always one too many.
        for (uint64_t round = done; round <= held; ++round) {
          v1::AppendBatchRequest batch = Round("w", round);
          batch.set_ledger(run);
          batch.set_request_id(absl::StrCat(step, ".", round));
          if (!server.Append(batch)) break;
          ++done;
          ++taken;
        }
        EXPECT_EQ(done, held);
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  EXPECT_EQ(granted, kFits);
  EXPECT_EQ(refused, kRuns * kSteps - kFits);
  EXPECT_EQ(taken, kFits);
  servers.clear();
  FilteringServer late(database.Connection());
  EXPECT_EQ(late.store().Get(budget)->size(), 1u + kFits);
}

}  // namespace
}  // namespace dpledger::server
