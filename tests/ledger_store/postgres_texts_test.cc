// Texts that the servers on one database share, and the tokens in them.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/first_token.h"
#include "identity/tokens.h"
#include "ledger/stored_head.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using Edited = SharedText::Edited;

std::shared_ptr<const merkle::Authenticator> KeyOf(char seed) {
  return std::make_shared<merkle::Authenticator>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, seed)), kHeadPurpose);
}

class PostgresTexts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new PostgresServer(); }
  static void TearDownTestSuite() { delete server_; }
  void TearDown() override { server_->Must("DROP SCHEMA IF EXISTS dpledger CASCADE"); }

  static std::unique_ptr<LedgerStore> Open(HeadKeys keys = {KeyOf('k'), nullptr}) {
    PostgresOptions options;
    options.connection = server_->Connection();
    options.keys = std::move(keys);
    auto store = OpenPostgresStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static absl::Status Put(SharedText& text, const std::string& content) {
    return text.Edit([&](const Edited&) -> Edited { return content; });
  }

  static PostgresServer* server_;
};
PostgresServer* PostgresTexts::server_ = nullptr;

TEST_F(PostgresTexts, AreGivenOnceForEachChange) {
  const auto one = Open(), two = Open();
  const auto mine = one->Text("t"), theirs = two->Text("t"), other = two->Text("u");
  EXPECT_TRUE(absl::IsNotFound((*theirs->Changed()).status()));
  EXPECT_FALSE(theirs->Changed().has_value());
  const std::string bytes("a\0\xff", 3);
  ASSERT_EQ(Put(*mine, bytes), absl::OkStatus());
  EXPECT_EQ(**theirs->Changed(), bytes);
  EXPECT_FALSE(theirs->Changed().has_value());
  EXPECT_TRUE(absl::IsNotFound((*other->Changed()).status()));
  EXPECT_TRUE(IsError(mine->Edit([](const Edited&) -> Edited { return absl::InternalError("no"); }),
                      StatusCode::kInternal, "", "no"));
  EXPECT_FALSE(theirs->Changed().has_value());
  ASSERT_EQ(Put(*theirs, ""), absl::OkStatus());
  EXPECT_EQ(**mine->Changed(), "");
}

TEST_F(PostgresTexts, LoseNoEditOfManyAtOnce) {
  constexpr int kThreads = 4, kEach = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      const auto store = Open();
      const auto text = store->Text("t");
      for (int i = 0; i < kEach; ++i) {
        EXPECT_EQ(text->Edit([](const Edited& now) -> Edited {
          if (absl::IsNotFound(now.status())) return "x";
          return absl::StrCat(now.value(), "x");
        }),
                  absl::OkStatus());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((**Open()->Text("t")->Changed()).size(), size_t{kThreads * kEach});
}

// By somebody who may write to the table, and has no key.
TEST_F(PostgresTexts, AreNobodyElses) {
  const auto store = Open();
  const auto text = store->Text("t");
  ASSERT_EQ(Put(*text, "first"), absl::OkStatus());
  server_->Must("CREATE TABLE dpledger.older AS TABLE dpledger.texts");
  ASSERT_EQ(Put(*text, "second"), absl::OkStatus());
  EXPECT_EQ(**text->Changed(), "second");
  for (const auto& [sql, what] : std::vector<std::pair<std::string, std::string>>{
           {"UPDATE dpledger.texts SET body = 'third'", "no server with this signing key"},
           {"UPDATE dpledger.texts SET version = 9", "no server with this signing key"},
           {"UPDATE dpledger.texts SET code = ''", "no server with this signing key"},
           {"DELETE FROM dpledger.texts;"
            " INSERT INTO dpledger.texts SELECT * FROM dpledger.older",
            "went back from version 2 to 1"}}) {
    server_->Must("CREATE TABLE dpledger.right_one AS TABLE dpledger.texts");
    server_->Must(sql);
    EXPECT_TRUE(IsError((*text->Changed()).status(), StatusCode::kDataLoss, "", what)) << sql;
    EXPECT_FALSE(text->Changed().has_value()) << "the error is said once";
    EXPECT_TRUE(IsError(Put(*text, "mine"), StatusCode::kDataLoss, "", what)) << sql;
    server_->Must(
        "DELETE FROM dpledger.texts;"
        " INSERT INTO dpledger.texts SELECT * FROM dpledger.right_one;"
        " DROP TABLE dpledger.right_one");
    EXPECT_EQ(**text->Changed(), "second");
  }
  // One who had not read the newer text goes on from the older one, further than that.
  server_->Must(
      "DELETE FROM dpledger.texts;"
      " INSERT INTO dpledger.texts SELECT * FROM dpledger.older");
  const auto later = Open();
  const auto other = later->Text("t");
  for (const char* content : {"2", "3", "4"}) ASSERT_EQ(Put(*other, content), absl::OkStatus());
  EXPECT_TRUE(IsError((*text->Changed()).status(), StatusCode::kDataLoss, "",
                      "version 4 does not follow version 2, which was there"));
  EXPECT_FALSE(Put(*text, "mine").ok());
  // Another text's row under this name.
  ASSERT_EQ(Put(*store->Text("u"), "of u"), absl::OkStatus());
  server_->Must(
      "DELETE FROM dpledger.texts WHERE name = 't';"
      " UPDATE dpledger.texts SET name = 't', version = version + 4");
  EXPECT_TRUE(IsError((*text->Changed()).status(), StatusCode::kDataLoss, "", "no server"));
}

TEST_F(PostgresTexts, AreFollowedOverManyChangesAtOnce) {
  const auto store = Open();
  const auto text = store->Text("t"), other = store->Text("t");
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(Put(*other, absl::StrCat(i)), absl::OkStatus());
    if (i % 100 != 0) continue;
    EXPECT_EQ(**text->Changed(), absl::StrCat(i));
  }
  EXPECT_EQ(**text->Changed(), "299");
}

TEST_F(PostgresTexts, OutliveAChangeOfKey) {
  ASSERT_EQ(Put(*Open()->Text("t"), "kept"), absl::OkStatus());
  EXPECT_FALSE((*Open({KeyOf('n'), nullptr})->Text("t")->Changed()).ok());
  ASSERT_TRUE(Open({KeyOf('n'), KeyOf('k')})->RenewHeads().ok());
  EXPECT_EQ(**Open({KeyOf('n'), nullptr})->Text("t")->Changed(), "kept");
  EXPECT_FALSE((*Open()->Text("t")->Changed()).ok());
}

// Each server has a file of its own for the first token: one makes it, the others leave nothing.
TEST_F(PostgresTexts, OneOfSeveralServersMakesTheFirstToken) {
  const TempFolder folder;
  std::atomic<int> made = 0;
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) {
    starters.emplace_back([&, i] {
      const auto store = Open();
      const auto tokens = identity::Tokens::Open(store->Text("tokens"), store->Text("use"),
                                                 Clock::System(), nullptr);
      const absl::StatusOr<bool> first = identity::MakeFirstAdminToken(
          **tokens, absl::StrCat(folder.path(), "/", i), *Clock::System());
      EXPECT_TRUE(first.ok()) << first.status();
      made += *first;
    });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST_F(PostgresTexts, KeepTokensWhileTheDatabaseIsAway) {
  const auto one = Open(), two = Open();
  const auto tokens_in = [](LedgerStore& store) {
    auto tokens = identity::Tokens::Open(store.Text("tokens"), store.Text("times of last use"),
                                         Clock::System(), nullptr);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    return *std::move(tokens);
  };
  const auto here = tokens_in(*one), there = tokens_in(*two);
  identity::TokenRecord token;
  token.name = "a";
  token.hash[0] = 7;
  token.grants = {*identity::Grant::Parse("analyst *")};
  const absl::Time now = absl::Now();
  const auto revoke = [&](identity::TokenTable& table) { return table.Revoke("a", now); };
  ASSERT_EQ(here->Change([&](identity::TokenTable& table) { return table.Create(token, now); }),
            absl::OkStatus());
  EXPECT_EQ(there->Find(token.hash), nullptr) << "no call waits for the database";
  there->Refresh();
  ASSERT_NE(there->Find(token.hash), nullptr);
  there->NoteUse(*there->Find(token.hash), now);
  there->Refresh();
  EXPECT_TRUE(here->List()->tokens[0].last_use.has_value());
  server_->Stop();
  there->Refresh();
  EXPECT_NE(there->Find(token.hash), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(there->Change(revoke)));
  server_->Start();
  ASSERT_EQ(there->Change(revoke), absl::OkStatus());
  here->Refresh();
  EXPECT_TRUE(here->Find(token.hash)->revoked.has_value());
}

}  // namespace
}  // namespace dpledger
