// Statements that somebody answers for: what the documents and the register say of them.
#include "server/statement/register.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "events/proto_json.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/sha256.h"
#include "merkle/tlog_proof.h"
#include "server/desk/authorizer.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Stub = v1::StatementService::Stub;

const std::string kOne = "projects/p/ledgers/one";
const std::string kTwo = "projects/p/ledgers/two";

std::string Sha256(const std::string& text) {
  return HexEncode(merkle::ToBytes(merkle::Sha256({text})));
}

class RegisterTest : public ::testing::Test {
 protected:
  RegisterTest() : statements_(v1::StatementService::NewStub(running_.channel())) {
    running_.Create(kOne);
    running_.Append(Batch(kOne, "w", "r1", {Rounds()}));
  }
  static v1::NewEntry Rounds() {
    return FromText<v1::NewEntry>(
        "event { rounds { scheme { population_size: 60000 poisson { probability: 0.01 } } queries "
        "{ l2_norm_bound: 1 noise_stddev: 1 } count: 10 } }");
  }
  v1::AppendBatchRequest Batch(const std::string& ledger, const std::string& writer,
                               const std::string& id, const std::vector<v1::NewEntry>& entries) {
    v1::AppendBatchRequest batch;
    batch.set_ledger(ledger);
    batch.set_writer(writer);
    batch.set_request_id(id);
    batch.mutable_entries()->Assign(entries.begin(), entries.end());
    return batch;
  }
  static std::string Issue(const std::string& issuer = "") {
    return absl::StrCat("statement { ledger: '", kOne, "' delta: 1e-6 } issuer { organization: ",
                        "'An <organization>' name: 'The data office' role: 'controller' ", issuer,
                        " }");
  }
  grpc::Status TryIssue(const std::string& request) {
    statement_.Clear();
    return Call(*statements_, &Stub::IssueStatement, FromText<v1::IssueStatementRequest>(request),
                &statement_);
  }
  void MustIssue(const std::string& request = Issue()) { ASSERT_TRUE(IsOk(TryIssue(request))); }
  grpc::Status Find(const std::string& sha256) {
    found_.Clear();
    v1::FindStatementRequest request;
    request.set_sha256(sha256);
    return Call(*statements_, &Stub::FindStatement, request, &found_);
  }
  std::vector<uint64_t> List(const std::string& request, std::string* next = nullptr) {
    v1::ListStatementsResponse list;
    EXPECT_TRUE(IsOk(Call(*statements_, &Stub::ListStatements,
                          FromText<v1::ListStatementsRequest>(request), &list)));
    std::vector<uint64_t> numbers;
    for (const v1::IssuedStatement& one : list.statements()) numbers.push_back(one.number());
    if (next != nullptr) *next = list.next_page_token();
    return numbers;
  }
  grpc::Status Withdraw(const std::string& request) {
    return Call(*statements_, &Stub::WithdrawStatement,
                FromText<v1::WithdrawStatementRequest>(request), &withdrawn_);
  }

  RunningServer running_;
  std::unique_ptr<Stub> statements_;
  v1::Statement statement_;
  v1::FindStatementResponse found_;
  v1::IssuedStatement withdrawn_;
};

// What was said of the ledger has it too, and that nobody is to rely on it any more.
TEST_F(RegisterTest, StatementsAreAmongWhatWasSaidOfTheirLedger) {
  MustIssue(Issue());
  MustIssue(absl::StrCat("statement { ledger: '", kOne,
                         "' delta: 1e-6 options { group_size: 4 adjacency: REPLACE_ONE } } issuer "
                         "{ organization: 'o' name: 'n' role: 'r' }"));
  EXPECT_EQ(statement_.issued().group_size(), 4);
  EXPECT_EQ(statement_.issued().adjacency(), v1::REPLACE_ONE);
  ASSERT_TRUE(IsOk(Withdraw(absl::StrCat("number: 1 ledger: '", kOne, "' reason: 'another run'"))));
  const auto recompute = v1::RecomputeService::NewStub(running_.channel());
  v1::ListAnswersResponse said;
  ASSERT_TRUE(
      IsOk(Call(*recompute, &v1::RecomputeService::Stub::ListAnswers,
                FromText<v1::ListAnswersRequest>("ledger: '" + kOne + "' delta: 1e-6"), &said)));
  ASSERT_EQ(said.answers_size(), 1) << "groups, and another adjacency, are another question";
  const v1::SaidAnswer& one = said.answers(0);
  EXPECT_EQ(one.statement().number(), 1);
  EXPECT_EQ(one.statement().withdrawal().reason(), "another run");
  EXPECT_EQ(one.answer().size(), 2);
  EXPECT_EQ(one.answer().epsilon().SerializeAsString(),
            one.statement().epsilon().SerializeAsString());
}

TEST_F(RegisterTest, DocumentsSayWhoStatesThemAndTheRegisterHoldsTheirHashes) {
  const int64_t day = (absl::ToUnixSeconds(absl::Now()) / 86'400 + 400) * 86'400;
  MustIssue(Issue(absl::StrCat("valid_until { seconds: ", day, " }")));
  const v1::IssuedStatement& issued = statement_.issued();
  EXPECT_EQ(issued.number(), 1);
  EXPECT_EQ(issued.ledger(), kOne);
  EXPECT_EQ(issued.title(), statement_.title());
  EXPECT_EQ(issued.delta(), 1e-6);
  EXPECT_EQ(issued.epsilon().upper(), statement_.answer().epsilon().upper());
  EXPECT_EQ(issued.size(), 2);
  EXPECT_EQ(issued.adjacency(), v1::ADD_OR_REMOVE_ONE);
  EXPECT_EQ(issued.group_size(), 1);
  EXPECT_EQ(issued.method(), statement_.answer().details().method());
  EXPECT_EQ(issued.version(), statement_.version());
  EXPECT_EQ(issued.markdown_sha256(), Sha256(statement_.markdown()));
  EXPECT_EQ(issued.html_sha256(), Sha256(statement_.html()));
  const std::string until =
      absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(day), absl::UTCTimeZone());
  EXPECT_THAT(statement_.html(),
              HasSubstr("Stated by “The data office”, “controller”, “An &lt;organization&gt;”."));
  EXPECT_THAT(statement_.markdown(),
              HasSubstr("Stated by “The data office”, “controller”, “An \\<organization\\>”"));
  for (const std::string& page : {statement_.html(), statement_.markdown()}) {
    EXPECT_THAT(page, HasSubstr(", valid until " + until));
    EXPECT_THAT(page, HasSubstr("Statement 1 of this server"));
    EXPECT_THAT(page, HasSubstr("9. Who states it"));
  }
  EXPECT_THAT(statement_.html(), HasSubstr("Place and date"));

  for (const std::string& document : {statement_.markdown(), statement_.html()}) {
    ASSERT_TRUE(IsOk(Find(Sha256(document))));
    EXPECT_EQ(found_.statement().SerializeAsString(), issued.SerializeAsString());
    v1::LedgerEntry entry;
    v1::StatementNote note;
    ASSERT_TRUE(entry.ParseFromString(found_.entry()));
    ASSERT_TRUE(events::MessageFromJson(entry.note().text(), "a note", note).ok());
    EXPECT_EQ(note.issued().SerializeAsString(), issued.SerializeAsString());
    const auto proof = merkle::ParseTlogProof(found_.proof());
    ASSERT_TRUE(proof.ok()) << proof.status();
    const auto checkpoint = merkle::ParseCheckpoint(proof->checkpoint.text);
    ASSERT_TRUE(checkpoint.ok());
    EXPECT_THAT(checkpoint->origin, HasSubstr(kRegisterLedger));
    EXPECT_TRUE(merkle::VerifyInclusion(merkle::LeafHash(found_.entry()), proof->index,
                                        checkpoint->size, checkpoint->root, proof->hashes)
                    .ok());
    EXPECT_FALSE(merkle::VerifyInclusion(merkle::LeafHash(found_.entry() + "x"), proof->index,
                                         checkpoint->size, checkpoint->root, proof->hashes)
                     .ok());
  }
  // One byte more, and nobody has stated it.
  EXPECT_EQ(Find(Sha256(statement_.html() + " ")).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(RegisterTest, WhatNobodyStatesHasNoSignatureAndIsNotThere) {
  v1::Statement unsigned_one;
  ASSERT_TRUE(
      IsOk(Call(*statements_, &Stub::GetStatement,
                FromText<v1::GetStatementRequest>("ledger: '" + kOne + "'"), &unsigned_one)));
  EXPECT_FALSE(unsigned_one.has_issued());
  EXPECT_THAT(unsigned_one.html(), Not(HasSubstr("Stated by")));
  EXPECT_THAT(unsigned_one.html(), Not(HasSubstr("Place and date")));
  EXPECT_THAT(unsigned_one.markdown(), HasSubstr("nobody answers for it"));
  EXPECT_EQ(Find(Sha256(unsigned_one.html())).error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(List(""), ElementsAre());
}

TEST_F(RegisterTest, WithdrawalIsAnEntryAndShownWithTheStatement) {
  MustIssue();
  const std::string hash = statement_.issued().html_sha256();
  const std::string about = absl::StrCat("number: 1 ledger: '", kOne, "' ");
  ASSERT_TRUE(IsOk(Withdraw(about + "reason: 'a run was missing'")));
  EXPECT_EQ(withdrawn_.withdrawal().reason(), "a run was missing");
  ASSERT_TRUE(IsOk(Find(hash)));
  EXPECT_EQ(found_.statement().withdrawal().reason(), "a run was missing");
  EXPECT_EQ(found_.statement().withdrawal().number(), 1);
  EXPECT_TRUE(IsError(Withdraw(about + "reason: 'again'"), StatusCode::FAILED_PRECONDITION,
                      "WITHDRAWN", "statement 1 was withdrawn before"));
  EXPECT_TRUE(IsFieldError(Withdraw(about), "reason", "must be"));
  // The withdrawal is entry 2, and no statement; nor is the declaration.
  for (const int number : {0, 2, 3}) {
    EXPECT_EQ(Withdraw(absl::StrCat("number: ", number, " ledger: '", kOne, "' reason: 'r'"))
                  .error_code(),
              StatusCode::NOT_FOUND);
  }
  EXPECT_EQ(running_.Get(kRegisterLedger).size(), 3);
  MustIssue();
  EXPECT_EQ(statement_.issued().number(), 3);
  // About something else, it is not there.
  EXPECT_EQ(Withdraw("number: 3 dataset: 'adult' reason: 'r'").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Withdraw("number: 3 ledger: 'projects/p/ledgers/two' reason: 'r'").error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(RegisterTest, ListsTheNewestFirstByWhatTheyAreAbout) {
  for (int i = 0; i < 3; ++i) MustIssue();
  MustIssue("statement { dataset: 'adult' } issuer { organization: 'o' name: 'n' role: 'r' }");
  EXPECT_THAT(List(""), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(List("dataset: 'adult'"), ElementsAre(4));
  EXPECT_THAT(List("dataset: 'other'"), ElementsAre());
  EXPECT_THAT(List("ledger: '" + kOne + "'"), ElementsAre(3, 2, 1));
  std::string next;
  EXPECT_THAT(List("page_size: 3", &next), ElementsAre(4, 3, 2));
  EXPECT_THAT(List("page_size: 3 page_token: '" + next + "'"), ElementsAre(1));
  // What a page of all holds says nothing of what else there is: it is so many entries.
  EXPECT_THAT(List("page_size: 1 dataset: 'other'", &next), ElementsAre());
  EXPECT_EQ(next, "");
  v1::ListStatementsRequest wrong;
  wrong.set_page_size(1001);
  EXPECT_TRUE(IsFieldError(Call(*statements_, &Stub::ListStatements, wrong), "page_size",
                           "must be at most 1000"));
  wrong.set_page_size(0);
  wrong.set_page_token("99");
  EXPECT_TRUE(IsFieldError(Call(*statements_, &Stub::ListStatements, wrong), "page_token",
                           "must come from the answer before"));
}

TEST_F(RegisterTest, NothingIsEnteredOfWhatIsRefused) {
  const auto refused = [&](const std::string& request, const std::string& field,
                           const std::string& rule) {
    EXPECT_TRUE(IsFieldError(TryIssue(request), field, rule));
  };
  const std::string one = "statement { ledger: '" + kOne + "' } ";
  const std::string names = "organization: 'o' name: 'n' role: 'r' ";
  refused(one, "issuer.organization", "must");
  refused(one + "issuer { organization: 'o' role: 'r' }", "issuer.name", "must");
  refused(one + "issuer { organization: 'o' name: 'n' }", "issuer.role", "must");
  refused(one + "issuer { organization: 'o' name: 'n\\nx' role: 'r' }", "issuer.name",
          "must be one line");
  refused(one + "issuer { organization: 'o' name: 'n\u202E' role: 'r' }", "issuer.name",
          "must be one line with single");
  for (const char* odd :
       {" o", "o ", "o  o", "\u00a0", "o\u3164", "\u2800", "o\ufe0f", "“o”", " "}) {
    refused(absl::StrCat(one, "issuer { name: 'n' role: 'r' organization: '", odd, "' }"),
            "issuer.organization", "must be one line");
  }
  refused(absl::StrCat(one, "issuer { name: 'n' role: 'r' organization: '", std::string(257, 'o'),
                       "' }"),
          "issuer.organization", "must");
  refused(one + "issuer { " + names + "valid_until { seconds: 86400 } }", "issuer.valid_until",
          "must be a day in the future");
  refused(one + "issuer { " + names + "valid_until { seconds: 4102444801 } }", "issuer.valid_until",
          "at 00:00 UTC");
  refused("issuer { " + names + "}", "statement.ledger", "must be given");
  refused("statement { ledger: '" + kOne + "' delta: 2 } issuer { " + names + "}",
          "statement.delta", "must be in (0, 1)");
  EXPECT_EQ(TryIssue("statement { ledger: 'projects/p/ledgers/none' } issuer { " + names + "}")
                .error_code(),
            StatusCode::NOT_FOUND);
  for (const char* bad : {"", "ab", "zz"})
    EXPECT_TRUE(IsFieldError(Find(bad), "sha256", "must be 64"));
  EXPECT_EQ(Call(running_.ledgers(), &v1::LedgerService::Stub::GetLedger,
                 FromText<v1::GetLedgerRequest>(absl::StrCat("name: '", kRegisterLedger, "'")))
                .error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(RegisterTest, NobodyElseWritesToIt) {
  MustIssue();
  v1::NewEntry note;
  note.mutable_note()->set_text("{}");
  EXPECT_TRUE(IsError(Call(running_.ledgers(), &v1::LedgerService::Stub::AppendBatch,
                           Batch(kRegisterLedger, "server", "x", {note})),
                      StatusCode::PERMISSION_DENIED, "RESERVED_PROJECT", "nobody else writes"));
}

// Whoever may not ask about a ledger does not learn what was stated of it.
class NotAboutTwo : public Authorizer {
 public:
  absl::Status Decide(const Caller&, Permission permission, const Resource& resource) override {
    const bool hides = permission == Permission::kAsk && resource.name == kTwo && refuses;
    return hides ? absl::PermissionDeniedError("not for you") : absl::OkStatus();
  }
  std::atomic<bool> refuses = false;
};

TEST(RegisterRights, ListHasWhatTheCallerMayAskAbout) {
  const auto authorizer = std::make_shared<NotAboutTwo>();
  ServerOptions options = RunningServer::SigningOnDemand();
  options.authorizer = authorizer;
  RunningServer running(options);
  const auto statements = v1::StatementService::NewStub(running.channel());
  for (const std::string& name : {kOne, kTwo}) {
    running.Create(name);
    v1::IssueStatementRequest request;
    request.mutable_statement()->set_ledger(name);
    *request.mutable_issuer() = FromText<v1::Issuer>("organization: 'o' name: 'n' role: 'r'");
    ASSERT_TRUE(IsOk(Call(*statements, &Stub::IssueStatement, request)));
  }
  const auto listed = [&] {
    v1::ListStatementsResponse list;
    EXPECT_TRUE(IsOk(Call(*statements, &Stub::ListStatements, v1::ListStatementsRequest(), &list)));
    return list.statements_size();
  };
  EXPECT_EQ(listed(), 2);
  authorizer->refuses = true;
  EXPECT_EQ(listed(), 1);
}

// Another server enters a statement between the look at the register and the entry: numbers stay
// those of the entries, and no statement is lost.
TEST_F(RegisterTest, ServersThatIssueAtOnceTakeTurns) {
  class NoLogs : public SignedLogs {
    absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string&, uint64_t,
                                                 const CallContext&) override {
      return absl::UnimplementedError("");
    }
    absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string&) override {
      return std::nullopt;
    }
  } logs;
  StatementRegister mine(&running_.ledger_store(), &logs), other(&running_.ledger_store(), &logs);
  const auto statement = [](uint64_t number, char digit) {
    v1::IssuedStatement made;
    made.set_number(number);
    made.set_markdown_sha256(std::string(64, digit));
    made.set_html_sha256(std::string(64, digit));
    return made;
  };
  std::vector<uint64_t> given;
  ASSERT_TRUE(
      mine.Enter(
              [&](uint64_t number) -> absl::StatusOr<v1::IssuedStatement> {
                given.push_back(number);
                if (given.size() <= 2) {
                  EXPECT_TRUE(
                      other.Enter([&](uint64_t theirs) { return statement(theirs, 'a'); }, {})
                          .ok());
                }
                return statement(number, 'b');
              },
              {})
          .ok());
  EXPECT_THAT(given, ElementsAre(1, 2, 3));
  const auto list = mine.List({}, {});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->statements_size(), 3);
  EXPECT_EQ(list->statements(0).markdown_sha256(), std::string(64, 'b'));
  EXPECT_EQ(list->statements(2).markdown_sha256(), std::string(64, 'a'));
}

}  // namespace
}  // namespace dpledger::server
