#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/commit_queue.h"
#include "ledger_store/postgres/postgres_store.h"
#include "ledger_store/staging/operation.h"
#include "tests/ledger_store/conformance_test.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

// One server for all tests, a schema for each.
PostgresServer& Server() {
  static PostgresServer server;
  return server;
}

class PostgresEngine : public Engine {
 public:
  PostgresEngine() {
    static int made = 0;
    schema_ = absl::StrCat("conformance_", ++made);
  }
  ~PostgresEngine() override { Server().Must("DROP SCHEMA " + schema_ + " CASCADE"); }

  absl::StatusOr<std::unique_ptr<LedgerStore>> Open(Clock* clock) override {
    PostgresOptions options;
    options.connection = Server().Connection();
    options.schema = schema_;
    options.clock = clock;
    options.keys = ServerKeys();
    return OpenPostgresStore(options);
  }
  void ForgetAnswer(const std::string& ledger, const std::string& request_id) override {
    EXPECT_EQ(
        Server().Must(absl::StrCat("DELETE FROM ", schema_, ".requests WHERE ledger = '", ledger,
                                   "' AND request_id = '", request_id, "' RETURNING 'gone'")),
        "gone");
  }

 private:
  std::string schema_;
};

std::unique_ptr<Engine> MakePostgresEngine() { return std::make_unique<PostgresEngine>(); }

TEST(CommitQueue, ReleasedRequestsCountNoMore) {
  postgres::CommitQueue queue(100);
  const auto push = [&queue](const std::string& ledger) {
    Operation operation(SealRequest("projects/p/ledgers/" + ledger));
    operation.bytes = 60;
    queue.Push(operation);
  };
  push("a");
  const auto first = queue.Take();
  push("b");
  const auto second = queue.Take();
  EXPECT_TRUE(second.operations.at(0).is_refusal());
  queue.Release(first);  // its answers are on their way
  push("c");
  const auto third = queue.Take();
  EXPECT_FALSE(third.operations.at(0).is_refusal());
}

INSTANTIATE_TEST_SUITE_P(Postgres, LedgerStoreConformance, ::testing::Values(&MakePostgresEngine));

}  // namespace
}  // namespace dpledger
