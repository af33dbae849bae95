// The table of tokens, its file, and the first token.
#include "identity/token.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "identity/first_token.h"
#include "identity/tokens.h"
#include "tests/identity/samples.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

TokenRecord Record(const std::string& name, const std::string& secret = "") {
  TokenRecord record;
  record.name = name;
  record.hash = HashOf(secret.empty() ? name : secret);
  record.grants = {*Grant::Parse("trainer projects/p")};
  return record;
}

// ---- the table ----

TEST(TokenTable, IsReadAsItIsWritten) {
  TokenTable table;
  TokenRecord full = Record("full");
  full.expires = kNow + absl::Hours(1);
  full.grants.push_back(*Grant::Parse("analyst * data-set=a \"quoted\" \\ \xc3\xa9"));
  ASSERT_TRUE(table.Create(full, kNow).ok());
  ASSERT_TRUE(table.Create(Record("plain"), kNow + absl::Milliseconds(900)).ok());
  ASSERT_TRUE(table.Revoke("full", kNow + absl::Seconds(5)).ok());
  const std::string text = table.ToText();
  const auto read = TokenTable::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status() << text;
  EXPECT_EQ(read->ToText(), text);
  ASSERT_EQ(read->tokens.size(), 2u);
  EXPECT_EQ(read->tokens[0].grants, full.grants);
  EXPECT_EQ(read->tokens[0].expires, full.expires);
  EXPECT_EQ(read->tokens[0].revoked, kNow + absl::Seconds(5));
  EXPECT_EQ(read->tokens[1].created, kNow) << "whole seconds";
  EXPECT_EQ(read->tokens[1].expires, absl::InfiniteFuture());
}

TEST(TokenTable, NamesTheLineAndTheMember) {
  TokenTable table;
  ASSERT_TRUE(table.Create(Record("a"), kNow).ok());
  const std::string good = table.ToText();
  ASSERT_TRUE(TokenTable::Parse(good).ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return TokenTable::Parse(text.replace(at, from.size(), to)).status();
  };
  EXPECT_TRUE(
      IsError(TokenTable::Parse("").status(), kInvalid, "line 1: must be \"dpledger tokens"));
  EXPECT_TRUE(IsError(with("v1", "v2"), kInvalid, "line 1: "));
  EXPECT_TRUE(IsError(with("}\n", "}"), kInvalid, "line 2: is cut"));
  EXPECT_TRUE(IsError(with("}\n", "\n"), kInvalid, "line 2: at byte"));
  EXPECT_TRUE(IsError(with("\"a\"", "\"a b\""), kInvalid, "line 2: name: must be"));
  EXPECT_TRUE(IsError(with("\"a\"", "7"), kInvalid, "must be a string"));
  EXPECT_TRUE(IsError(with("\"name\":\"a\",", ""), kInvalid, "line 2: name: is missing"));
  EXPECT_TRUE(IsError(with("\"created\"", "\"creatd\""), kInvalid, "line 2: created: is missing"));
  EXPECT_TRUE(IsError(with("\"name\"", "\"nmae\":\"x\",\"name\""), kInvalid, "is not a member"));
  EXPECT_TRUE(IsError(with("\"name\"", "\"name\":\"x\",\"name\""), kInvalid, "a name twice"));
  EXPECT_TRUE(IsError(with("trainer", "boss"), kInvalid, "line 2: grants[0].role: must be"));
  EXPECT_TRUE(IsError(with("[\"trainer projects/p\"]", "[]"), kInvalid, "grants: must be 1 to 10"));
  EXPECT_TRUE(IsError(with("\"hash\":\"", "\"hash\":\"A"), kInvalid, "hash: must be 64"));
  EXPECT_TRUE(IsError(with("00Z", "60Z"), kInvalid, "created: must be a time"));
  EXPECT_TRUE(IsError(with("00Z", "00+01:00"), kInvalid, "created: must be a time"));
  EXPECT_TRUE(IsError(TokenTable::Parse(good + good.substr(good.find('\n') + 1)).status(), kInvalid,
                      "line 3: hash: is there twice"));
}

TEST(TokenTable, GivesANameOnce) {
  TokenTable table;
  ASSERT_TRUE(table.Create(Record("a"), kNow).ok());
  const auto again = table.Create(Record("a", "other"), kNow);
  EXPECT_TRUE(IsError(again, absl::StatusCode::kAlreadyExists, "was given before"));
  EXPECT_EQ(ReasonOf(again).reason, "NAME_TAKEN");
  ASSERT_TRUE(table.Revoke("a", kNow).ok());
  EXPECT_TRUE(IsError(table.Create(Record("a", "other"), kNow), absl::StatusCode::kAlreadyExists,
                      "was given before"));
  TokenRecord past = Record("b");
  past.expires = kNow;
  EXPECT_TRUE(IsError(table.Create(past, kNow), kInvalid, "expires: must be in the future"));
  past.expires = kNow + absl::Hours(24 * 365 * 101);
  EXPECT_TRUE(IsError(table.Create(past, kNow), kInvalid, "by 100 years at the most"));
  past = Record("b");
  past.grants.clear();
  EXPECT_TRUE(IsError(table.Create(past, kNow), kInvalid, "grants: must be 1 to 10, got 0"));
  past.grants.resize(11);
  EXPECT_TRUE(IsError(table.Create(past, kNow), kInvalid, "got 11"));
  EXPECT_TRUE(IsError(table.Create(Record("b c"), kNow), kInvalid, "name: must be"));
  EXPECT_EQ(table.tokens.size(), 1u);
}

// Else the file could not be read again. (A fuzzer found it.)
TEST(TokenTable, RefusesASecondTokenWithTheSameHash) {
  TokenTable table;
  ASSERT_TRUE(table.Create(Record("a", "one"), kNow).ok());
  ASSERT_TRUE(table.Create(Record("b", "two"), kNow).ok());
  EXPECT_TRUE(IsError(table.Create(Record("c", "one"), kNow), absl::StatusCode::kAlreadyExists,
                      "hash: another token has it"));
  EXPECT_TRUE(
      IsError(table.Rotate("a", HashOf("two"), absl::InfiniteFuture(), absl::ZeroDuration(), kNow),
              absl::StatusCode::kAlreadyExists, "hash: another token has it"));
  EXPECT_TRUE(TokenTable::Parse(table.ToText()).ok());
}

TEST(TokenTable, RotatesWithAGraceTime) {
  TokenTable table;
  ASSERT_TRUE(table.Create(Record("a"), kNow).ok());
  ASSERT_TRUE(table.Create(Record("b"), kNow).ok());
  const auto rotate = [&](const char* name, const char* secret, absl::Duration grace,
                          absl::Time now = kNow) {
    return table.Rotate(name, HashOf(secret), now + absl::Hours(9), grace, now);
  };
  ASSERT_TRUE(rotate("a", "a2", absl::Minutes(10)).ok());
  ASSERT_EQ(table.tokens.size(), 3u);
  EXPECT_TRUE(table.tokens[0].UsableAt(kNow + absl::Minutes(10) - absl::Seconds(1)));
  EXPECT_FALSE(table.tokens[0].UsableAt(kNow + absl::Minutes(10)));
  EXPECT_EQ(table.tokens[1].expires, absl::InfiniteFuture()) << "another name's";
  EXPECT_EQ(table.tokens[2].grants, table.tokens[0].grants);
  EXPECT_EQ(table.Current("a")->hash, HashOf("a2"));
  // A longer grace does not give back what was taken.
  ASSERT_TRUE(rotate("a", "a3", absl::Hours(8)).ok());
  EXPECT_EQ(table.tokens[0].expires, kNow + absl::Minutes(10));
  EXPECT_EQ(table.tokens[2].expires, kNow + absl::Hours(8));
  // What ended long ago is forgotten, but not the name.
  ASSERT_TRUE(rotate("a", "a4", absl::ZeroDuration(), kNow + absl::Hours(31 * 24)).ok());
  ASSERT_EQ(table.tokens.size(), 2u);
  EXPECT_EQ(table.Current("a")->hash, HashOf("a4"));

  EXPECT_TRUE(IsError(rotate("none", "x", absl::ZeroDuration()), absl::StatusCode::kNotFound,
                      "name: no token has the name \"none\""));
  EXPECT_TRUE(IsError(rotate("a", "x", -absl::Seconds(1)), kInvalid, "grace: must be 0 to 30"));
  EXPECT_TRUE(IsError(rotate("a", "x", absl::Hours(721)), kInvalid, "grace: must be 0 to 30"));
  ASSERT_TRUE(table.Revoke("a", kNow).ok());
  EXPECT_TRUE(IsError(rotate("a", "x", absl::ZeroDuration()), absl::StatusCode::kFailedPrecondition,
                      "revoking is for good"));
}

TEST(TokenTable, RevokesAllTokensOfAName) {
  TokenTable table;
  ASSERT_TRUE(table.Create(Record("a"), kNow).ok());
  ASSERT_TRUE(table.Rotate("a", HashOf("a2"), absl::InfiniteFuture(), absl::Hours(1), kNow).ok());
  ASSERT_TRUE(table.Create(Record("b"), kNow).ok());
  ASSERT_TRUE(table.Revoke("a", kNow).ok());
  ASSERT_TRUE(table.Revoke("a", kNow + absl::Hours(1)).ok());
  EXPECT_EQ(table.tokens[0].revoked, kNow) << "the first time counts";
  EXPECT_EQ(table.tokens[1].revoked, kNow);
  EXPECT_FALSE(table.tokens[2].revoked.has_value());
  EXPECT_TRUE(IsError(table.Revoke("c", kNow), absl::StatusCode::kNotFound, "no token has"));
}

// ---- the file ----

class TokenFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokens> Open(const Log* log = nullptr) {
    auto file = Tokens::OpenFile(path_, &clock_, log);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  absl::Status Add(Tokens& file, const std::string& name) {
    return file.Change([&](TokenTable& table) { return table.Create(Record(name), clock_.now); });
  }
  TempFolder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  SetClock clock_;
};

TEST_F(TokenFileTest, KeepsHashesAndNoToken) {
  const auto file = Open();
  const std::string token = MakeToken();
  ASSERT_TRUE(
      file->Change([&](TokenTable& table) { return table.Create(Record("a", token), clock_.now); })
          .ok());
  EXPECT_EQ(file->Find(HashOf(token))->name, "a");
  EXPECT_EQ(file->Find(HashOf("other")), nullptr);
  const std::string content = *ReadFile(path_);
  EXPECT_THAT(content, HasSubstr("\"name\":\"a\""));
  EXPECT_THAT(content, Not(HasSubstr(token.substr(4, 8))));
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(Open()->Find(HashOf(token)), nullptr) << "after a restart";
}

TEST_F(TokenFileTest, ShowsWhatOthersChange) {
  const auto one = Open();
  const auto two = Open();
  ASSERT_TRUE(Add(*one, "a").ok());
  EXPECT_NE(two->Find(HashOf("a")), nullptr) << "an unknown token makes it look";
  ASSERT_TRUE(one->Change([&](TokenTable& table) { return table.Revoke("a", clock_.now); }).ok());
  EXPECT_FALSE(two->Find(HashOf("a"))->revoked.has_value());
  two->Refresh();
  EXPECT_TRUE(two->Find(HashOf("a"))->revoked.has_value());
}

TEST_F(TokenFileTest, LooksForUnknownTokensTenTimesASecond) {
  const auto one = Open();
  const auto two = Open();
  EXPECT_EQ(two->Find(HashOf("a")), nullptr);
  ASSERT_TRUE(Add(*one, "a").ok());
  EXPECT_EQ(two->Find(HashOf("a")), nullptr) << "it has just looked";
  clock_.now += absl::Milliseconds(100);
  EXPECT_NE(two->Find(HashOf("a")), nullptr);
}

TEST_F(TokenFileTest, LosesNoChangeOfManyAtOnce) {
  constexpr int kThreads = 4, kEach = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto file = Open();  // as a program of its own would
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(Add(*file, absl::StrCat("t", t, "-", i)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Open()->List()->tokens.size(), size_t{kThreads * kEach});
}

TEST_F(TokenFileTest, WritesNothingIfAChangeFails) {
  const auto file = Open();
  ASSERT_TRUE(Add(*file, "a").ok());
  const std::string before = *ReadFile(path_);
  EXPECT_FALSE(file->Change([&](TokenTable& table) {
                     table.tokens.clear();
                     return absl::InternalError("no");
                   })
                   .ok());
  EXPECT_EQ(*ReadFile(path_), before);
  EXPECT_NE(file->Find(HashOf("a")), nullptr);
}

TEST_F(TokenFileTest, ABrokenFileKeepsTheTokensAndIsNeverWrittenOver) {
  const auto file = Open();
  ASSERT_TRUE(Add(*file, "a").ok());
  const std::string good = *ReadFile(path_);
  const std::string broken = good.substr(0, good.size() - 5);
  WriteOwnersFile(path_, broken);
  file->Refresh();
  EXPECT_NE(file->Find(HashOf("a")), nullptr);
  EXPECT_TRUE(IsError(Add(*file, "b"), absl::StatusCode::kFailedPrecondition, "line 2: is cut"));
  EXPECT_EQ(*ReadFile(path_), broken);
  EXPECT_FALSE(Tokens::OpenFile(path_, &clock_, nullptr).ok());

  ASSERT_EQ(::unlink(path_.c_str()), 0);
  file->Refresh();
  EXPECT_NE(file->Find(HashOf("a")), nullptr) << "a token is revoked by a line, not by a lack";
  EXPECT_TRUE(IsError(Add(*file, "b"), absl::StatusCode::kFailedPrecondition, "put it back"));
  WriteOwnersFile(path_, good);
  EXPECT_TRUE(Add(*file, "b").ok());
}

TEST_F(TokenFileTest, WarnsOnceForEachContent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Log log(LogLevel::kInfo, ends[1]);
  const auto written = [&] {
    std::string text(4096, '\0');
    const ssize_t n = ::read(ends[0], text.data(), text.size());
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return text;
  };
  const auto file = Open(&log);
  ASSERT_TRUE(Add(*file, "a").ok());
  WriteOwnersFile(path_, "broken");
  file->Refresh();
  EXPECT_THAT(written(), HasSubstr("tokens_kept"));
  file->Refresh();
  EXPECT_EQ(written(), "");
  WriteOwnersFile(path_, "broken otherwise\n\n");
  file->Refresh();
  EXPECT_THAT(written(), HasSubstr("tokens_kept"));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(TokenFileTest, RefusesAFileThatOthersMayWrite) {
  ASSERT_TRUE(Add(*Open(), "a").ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  EXPECT_TRUE(Tokens::OpenFile(path_, &clock_, nullptr).ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0620), 0);
  EXPECT_TRUE(IsError(Tokens::OpenFile(path_, &clock_, nullptr).status(),
                      absl::StatusCode::kFailedPrecondition, "others may write it"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(IsError(Tokens::OpenFile(path_, &clock_, nullptr).status(),
                      absl::StatusCode::kFailedPrecondition, "must be a regular file"));
}

TEST_F(TokenFileTest, KnowsTheMinuteOfLastUse) {
  const auto one = Open();
  const auto two = Open();
  ASSERT_TRUE(Add(*one, "a").ok());
  EXPECT_EQ(one->List()->tokens[0].last_use, std::nullopt);
  clock_.now += absl::Seconds(61);
  one->NoteUse(*one->Find(HashOf("a")), clock_.now);
  const absl::Time minute = CutToMinute(clock_.now);
  EXPECT_FALSE(::access((path_ + ".use").c_str(), F_OK) == 0) << "a call writes nothing";
  EXPECT_EQ(one->List()->tokens[0].last_use, minute);
  one->Refresh();
  EXPECT_EQ(two->List()->tokens[0].last_use, minute) << "of another server";
  EXPECT_EQ(Open()->List()->tokens[0].last_use, minute) << "after a restart";

  // At most once a minute is it written, and never back.
  clock_.now += absl::Seconds(59);
  two->NoteUse(*two->Find(HashOf("a")), clock_.now);
  one->NoteUse(*one->Find(HashOf("a")), clock_.now);
  const std::string before = *ReadFile(path_ + ".use");
  one->Refresh();
  EXPECT_EQ(*ReadFile(path_ + ".use"), before);
  clock_.now += absl::Seconds(1);
  one->Refresh();
  EXPECT_EQ(Open()->List()->tokens[0].last_use, minute + absl::Minutes(1));
  WriteOwnersFile(path_ + ".use", "garbage\n\n zz 1\n");
  EXPECT_EQ(Open()->List()->tokens[0].last_use, std::nullopt);
  EXPECT_EQ(one->List()->tokens[0].last_use, minute + absl::Minutes(1));
}

// ---- the first token ----

TEST_F(TokenFileTest, AFirstStartMakesOneAdminToken) {
  const auto file = Open();
  const std::string secret_file = folder_.path() + "/admin.token";
  ASSERT_TRUE(*MakeFirstAdminToken(*file, secret_file, clock_));
  struct stat status;
  ASSERT_EQ(::stat(secret_file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  std::string token = *ReadFile(secret_file);
  ASSERT_EQ(token.back(), '\n');
  token.pop_back();
  ASSERT_TRUE(IsToken(token));
  const auto record = file->Find(HashOf(token));
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->grants.at(0).ToText(), "admin *");
  EXPECT_FALSE(*MakeFirstAdminToken(*file, secret_file + "2", clock_));
  EXPECT_NE(::access((secret_file + "2").c_str(), F_OK), 0);
}

TEST_F(TokenFileTest, ACrashedFirstStartIsRepaired) {
  const std::string secret_file = folder_.path() + "/admin.token";
  const std::string token = MakeToken();
  WriteOwnersFile(secret_file, token + "\n");
  const auto file = Open();
  ASSERT_TRUE(*MakeFirstAdminToken(*file, secret_file, clock_));
  EXPECT_NE(file->Find(HashOf(token)), nullptr);
  EXPECT_EQ(file->List()->tokens.size(), 1u);
}

TEST_F(TokenFileTest, AFirstStartTakesNoFileThatOthersMayKnow) {
  const std::string secret_file = folder_.path() + "/admin.token";
  const auto file = Open();
  WriteOwnersFile(secret_file, "nonsense");
  EXPECT_TRUE(IsError(MakeFirstAdminToken(*file, secret_file, clock_).status(),
                      absl::StatusCode::kFailedPrecondition, "remove the file"));
  WriteOwnersFile(secret_file, MakeToken());
  ASSERT_EQ(::chmod(secret_file.c_str(), 0644), 0);
  EXPECT_FALSE(MakeFirstAdminToken(*file, secret_file, clock_).ok());
  EXPECT_EQ(file->List()->tokens.size(), 0u);
}

}  // namespace
}  // namespace dpledger::identity
