// A server that knows its callers: what entries say of them, whose writers are whose, and who may
// seal. By tokens, over gRPC: unary calls and streams.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "dpledger/v1/admin_service.grpc.pb.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Ledgers = v1::LedgerService::Stub;
using Admin = v1::AdminService::Stub;

class KnownWriters : public ::testing::Test {
 protected:
  KnownWriters() { Start(true); }
  ~KnownWriters() override { Stop(); }

  void Start(bool identity) {
    const std::string store = folder_.path() + "/store";
    ServerOptions options = RunningServer::SigningOnDemand();
    options.front.address = "127.0.0.1:0";
    options.identity.on = identity;
    options.identity.token_file = folder_.path() + "/tokens";
    options.identity.first_token_file = folder_.path() + "/first";
    const SigningOptions beside = SigningOptions::Beside(store);
    options.signing.key_file = beside.key_file;
    options.signing.checkpoint_file = beside.checkpoint_file;
    auto opened = OpenEmbeddedStore({.folder = store});
    ASSERT_TRUE(opened.ok()) << opened.status();
    auto server = Server::Start(options, *std::move(opened), &log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
    ledgers_ = v1::LedgerService::NewStub(channel_);
    const auto first = ReadFile(options.identity.first_token_file);
    if (first.ok()) secrets_["admin"] = std::string(absl::StripAsciiWhitespace(*first));
  }
  void Stop() {
    ledgers_.reset();
    channel_.reset();
    if (server_ != nullptr) server_->Stop(absl::Now() + absl::Seconds(5));
    server_.reset();
  }
  void Restart(bool identity = true) {
    Stop();
    Start(identity);
  }

  // `caller` shows his token; "" shows nothing.
  void Show(const std::string& caller, grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    if (!caller.empty()) context.AddMetadata("authorization", "Bearer " + secrets_.at(caller));
  }
  template <typename Stub, typename Request, typename Response>
  grpc::Status As(const std::string& caller, Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response = nullptr) {
    grpc::ClientContext context;
    Show(caller, context);
    Response unused;
    return (stub.*method)(&context, request, response != nullptr ? response : &unused);
  }
  void MakeToken(const std::string& name, const std::string& role = "trainer",
                 const std::string& scope = "projects/p", const std::string& data_set = "") {
    v1::CreateTokenRequest request;
    request.set_name(name);
    v1::Grant& given = *request.add_grants();
    given.set_role(role);
    given.set_scope(scope);
    given.set_data_set(data_set);
    v1::CreateTokenResponse response;
    const auto admin = v1::AdminService::NewStub(channel_);
    ASSERT_TRUE(IsOk(As("admin", *admin, &Admin::CreateToken, request, &response)));
    secrets_[name] = response.secret();
  }
  void Rotate(const std::string& name) {
    v1::RotateTokenRequest request;
    request.set_name(name);
    v1::RotateTokenResponse response;
    const auto admin = v1::AdminService::NewStub(channel_);
    ASSERT_TRUE(IsOk(As("admin", *admin, &Admin::RotateToken, request, &response)));
    ASSERT_NE(response.secret(), secrets_[name]);
    secrets_[name] = response.secret();
  }
  grpc::Status Create(const std::string& caller, const std::string& name) {
    return As(caller, *ledgers_, &Ledgers::CreateLedger, CreateRequest(name));
  }
  grpc::Status Append(const std::string& caller, const v1::AppendBatchRequest& batch,
                      v1::AppendBatchResponse* response = nullptr) {
    return As(caller, *ledgers_, &Ledgers::AppendBatch, batch, response);
  }
  // The same as a stream of its own.
  grpc::Status Stream(const std::string& caller, const v1::AppendBatchRequest& batch) {
    grpc::ClientContext context;
    Show(caller, context);
    const auto stream = ledgers_->Append(&context);
    v1::AppendRequest request;
    *request.mutable_batch() = batch;
    stream->Write(request);
    stream->WritesDone();
    v1::AppendResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  }
  grpc::Status Seal(const std::string& caller, const v1::SealLedgerRequest& request) {
    return As(caller, *ledgers_, &Ledgers::SealLedger, request);
  }
  v1::Ledger Get(const std::string& caller, const std::string& name) {
    v1::GetLedgerRequest request;
    request.set_name(name);
    v1::Ledger ledger;
    EXPECT_TRUE(IsOk(As(caller, *ledgers_, &Ledgers::GetLedger, request, &ledger)));
    return ledger;
  }
  std::vector<std::string> CallersOf(const std::string& caller, const std::string& name) {
    v1::ReadEntriesRequest request;
    request.set_ledger(name);
    v1::ReadEntriesResponse response;
    EXPECT_TRUE(IsOk(As(caller, *ledgers_, &Ledgers::ReadEntries, request, &response)));
    std::vector<std::string> callers;
    for (const std::string& bytes : response.entries()) {
      v1::LedgerEntry entry;
      EXPECT_TRUE(entry.ParseFromString(bytes));
      callers.push_back(entry.caller());
    }
    return callers;
  }
  std::vector<std::string> LogLines() {
    std::string text(1 << 20, '\0');
    text.resize(
        static_cast<size_t>(::pread(::fileno(log_file_.get()), text.data(), text.size(), 0)));
    return absl::StrSplit(text, '\n');
  }
  static ::testing::AssertionResult IsOfAnother(const grpc::Status& status) {
    return IsError(status, StatusCode::PERMISSION_DENIED, "WRITER_OF_ANOTHER_CALLER",
                   "writer: w belongs to another caller");
  }

  TempFolder folder_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_file_{std::tmpfile(), &std::fclose};
  const Log log_{LogLevel::kDebug, ::fileno(log_file_.get())};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Ledgers> ledgers_;
  std::map<std::string, std::string> secrets_;  // by caller
};

TEST_F(KnownWriters, EveryCallThatWritesNamesItsCaller) {
  MakeToken("alice");
  MakeToken("bob");
  ASSERT_TRUE(IsOk(Create("alice", kLedger)));
  ASSERT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "r1", 1))));
  ASSERT_TRUE(IsOk(Stream("alice", RoundBatch(kLedger, "w", "r2", 2))));
  v1::AppendBatchRequest correction = Batch(kLedger, "reviews", "c");
  correction.add_entries()->mutable_correction()->set_corrected_sequence(1);
  ASSERT_TRUE(IsOk(Append("bob", correction)));
  v1::ForkLedgerRequest fork;
  fork.set_parent(kLedger);
  fork.set_name("projects/p/ledgers/child");
  fork.set_request_id("fork");
  ASSERT_TRUE(IsOk(As("bob", *ledgers_, &Ledgers::ForkLedger, fork)));
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.set_open_writers_are_missing(true);
  ASSERT_TRUE(IsOk(Seal("admin", seal)));
  EXPECT_EQ(CallersOf("alice", kLedger),
            (std::vector<std::string>{"token:alice", "token:alice", "", "token:alice", "",
                                      "token:bob", "token:bob", "token:first-admin"}));
  EXPECT_EQ(CallersOf("alice", fork.name()), std::vector<std::string>{"token:bob"});
  EXPECT_EQ(Get("bob", kLedger).creator(), "token:alice");
  EXPECT_EQ(Get("bob", kLedger).writers(1).owner(), "token:alice");
}

TEST_F(KnownWriters, NobodyElseWritesAsAWriterOrGetsItsReceipts) {
  MakeToken("alice");
  MakeToken("bob");
  ASSERT_TRUE(IsOk(Create("alice", kLedger)));
  v1::AppendBatchResponse first;
  ASSERT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "r1", 1), &first)));
  const std::string before = Get("alice", kLedger).SerializeAsString();
  for (const char* other : {"bob", "admin"}) {
    EXPECT_TRUE(IsOfAnother(Append(other, RoundBatch(kLedger, "w", "r2", 2))));
    EXPECT_TRUE(IsOfAnother(Stream(other, RoundBatch(kLedger, "w", "r2", 2))));
    EXPECT_TRUE(IsOfAnother(Append(other, RoundBatch(kLedger, "w", "r1", 1)))) << "her receipt";
    EXPECT_TRUE(IsOfAnother(Stream(other, RoundBatch(kLedger, "w", "r1", 1))));
  }
  EXPECT_EQ(Get("alice", kLedger).SerializeAsString(), before);
  // The same name, the next token, another process of the server.
  Rotate("alice");
  Restart();
  v1::AppendBatchResponse again;
  ASSERT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "r1", 1), &again)));
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  EXPECT_TRUE(IsOfAnother(Append("bob", RoundBatch(kLedger, "w", "r1", 1))));
  EXPECT_TRUE(IsOfAnother(Append("bob", RoundBatch(kLedger, "w", "r2", 2))));
  EXPECT_TRUE(IsOk(Stream("alice", RoundBatch(kLedger, "w", "r2", 2))));
  EXPECT_TRUE(IsOk(Append("bob", RoundBatch(kLedger, "v", "r3", 1))));
}

// What an operator can do, with the programs that he starts: it is in the entries then.
TEST_F(KnownWriters, WithoutIdentityEntriesNameNobody) {
  MakeToken("alice");
  MakeToken("bob");
  ASSERT_TRUE(IsOk(Create("alice", kLedger)));
  ASSERT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "r1", 1))));
  Restart(/*identity=*/false);
  ASSERT_TRUE(IsOk(Append("", RoundBatch(kLedger, "w", "r2", 2))));
  EXPECT_EQ(CallersOf("", kLedger),
            (std::vector<std::string>{"token:alice", "token:alice", "", "", ""}));
  Restart();
  EXPECT_TRUE(IsOfAnother(Append("bob", RoundBatch(kLedger, "w", "r3", 3))));
  EXPECT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "r3", 3))));
}

TEST_F(KnownWriters, OnlyTheCreatorAndAdministratorsSealWithWritersMissing) {
  MakeToken("alice");
  MakeToken("bob");
  for (const std::string name : {"a", "b", "c"}) {
    const std::string ledger = "projects/p/ledgers/" + name;
    ASSERT_TRUE(IsOk(Create("alice", ledger)));
    ASSERT_TRUE(IsOk(Append("bob", RoundBatch(ledger, "w", "r1", 1))));
    v1::SealLedgerRequest named = SealRequest(ledger, "named");
    named.add_missing_writers("w");
    v1::SealLedgerRequest all = SealRequest(ledger, "all");
    all.set_open_writers_are_missing(true);
    for (const auto& [request, field] :
         {std::pair(named, "missing_writers"), std::pair(all, "open_writers_are_missing")}) {
      const grpc::Status refused = Seal("bob", request);
      EXPECT_TRUE(IsError(refused, StatusCode::PERMISSION_DENIED, "SEAL_NEEDS_CREATOR",
                          absl::StrCat(field, ": token:bob has no right to seal_with_missing")));
      EXPECT_EQ(ErrorInfoOf(refused).metadata().at("field"), field);
    }
    EXPECT_TRUE(IsError(Seal("bob", SealRequest(ledger)), StatusCode::FAILED_PRECONDITION,
                        "WRITERS_OPEN", "missing_writers"));
    EXPECT_EQ(Get("bob", ledger).state(), v1::OPEN);
    if (name == "a") {
      EXPECT_TRUE(IsOk(Seal("alice", named)));
    }
    if (name == "b") {
      EXPECT_TRUE(IsOk(Seal("admin", all)));
    }
    if (name == "c") {
      v1::AppendBatchRequest close = Batch(ledger, "w", "close");
      close.add_entries()->mutable_writer_closed()->set_entry_count(3);
      ASSERT_TRUE(IsOk(Append("bob", close)));
      EXPECT_TRUE(IsOk(Seal("bob", SealRequest(ledger))));
      EXPECT_TRUE(IsError(Seal("alice", SealRequest(ledger)), StatusCode::PERMISSION_DENIED,
                          "REQUEST_OF_ANOTHER_CALLER", "request_id"));
    }
    EXPECT_EQ(Get("bob", ledger).state(), v1::SEALED);
  }
}

// Who may not append gets no receipt either, and the log says who asked what.
TEST_F(KnownWriters, LogLinesNameCallerPeerLedgerAndRequest) {
  MakeToken("alice");
  MakeToken("bob");
  MakeToken("eve", "analyst");
  ASSERT_TRUE(IsOk(Create("alice", kLedger)));
  ASSERT_TRUE(IsOk(Append("alice", RoundBatch(kLedger, "w", "alices-id", 1))));
  const auto refused = [](const std::string& caller, const std::string& id,
                          const std::string& reason) {
    return AllOf(
        HasSubstr(R"("event":"call_refused","peer":"127.0.0.1:)"),
        HasSubstr(absl::StrCat(R"("caller":"token:)", caller, R"(","reason":")", reason)),
        HasSubstr(absl::StrCat(R"("ledger":")", kLedger, R"(","request_id":")", id, "\"")));
  };
  EXPECT_TRUE(IsError(Append("eve", RoundBatch(kLedger, "w", "alices-id", 1)),
                      StatusCode::PERMISSION_DENIED, "NOT_GRANTED", "append"));
  EXPECT_THAT(LogLines(), Contains(refused("eve", "alices-id", "may not append")));
  absl::SleepFor(absl::Milliseconds(1100));  // of refusals one line a second is written
  EXPECT_TRUE(IsOfAnother(Append("bob", RoundBatch(kLedger, "w", "bobs-id", 2))));
  EXPECT_THAT(LogLines(), Contains(refused("bob", "bobs-id", "WRITER_OF_ANOTHER_CALLER")));
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_TRUE(IsOfAnother(Stream("bob", RoundBatch(kLedger, "w", "bobs-stream", 2))));
  EXPECT_THAT(LogLines(), Contains(refused("bob", "bobs-stream", "WRITER_OF_ANOTHER_CALLER")));
  EXPECT_THAT(LogLines(),
              Contains(AllOf(HasSubstr(R"("event":"call","method":"AppendBatch","code":"OK")"),
                             HasSubstr(R"("caller":"token:alice")"),
                             HasSubstr(absl::StrCat(R"("ledger":")", kLedger,
                                                    R"(","request_id":"alices-id"})")))));

  absl::SleepFor(absl::Milliseconds(1100));
  const std::string hostile = "projects/p/ledgers/\x7f\x1b[31m\u202e" + std::string(5000, 'x');
  EXPECT_FALSE(Append("eve", RoundBatch(hostile, "w", "a\nb\xc2\x9b", 1)).ok());
  EXPECT_THAT(LogLines(), Contains(AllOf(HasSubstr("call_refused"), HasSubstr("ledgers/??[31m???x"),
                                         HasSubstr(R"("request_id":"\"a?b??\"")"))));
  for (const std::string& line : LogLines()) {
    EXPECT_LT(line.size(), 1000u);
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < '\x7f') << line;
    for (const auto& [name, secret] : secrets_) EXPECT_THAT(line, Not(HasSubstr(secret)));
  }
}

TEST_F(KnownWriters, StatementOfADataSetIsForWhoMayAskAboutAllOfIt) {
  ASSERT_TRUE(IsOk(Create("admin", kLedger)));  // over "adult"
  MakeToken("officer", "auditor", "*", "adult");
  MakeToken("project", "auditor", "projects/p");
  MakeToken("asker", "analyst", "*");
  const auto statements = v1::StatementService::NewStub(channel_);
  const auto ask = [&](const std::string& caller, const std::string& dataset) {
    v1::GetStatementRequest request;
    if (dataset.empty()) {
      request.set_ledger(kLedger);
    } else {
      request.set_dataset(dataset);
    }
    return As(caller, *statements, &v1::StatementService::Stub::GetStatement, request).error_code();
  };
  EXPECT_EQ(ask("officer", "adult"), StatusCode::OK);
  EXPECT_EQ(ask("admin", "adult"), StatusCode::OK);
  for (const char* caller : {"project", "asker"}) {
    EXPECT_EQ(ask(caller, "adult"), StatusCode::PERMISSION_DENIED) << caller;
  }
  EXPECT_EQ(ask("officer", "mnist"), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ask("officer", ""), StatusCode::OK);
  EXPECT_EQ(ask("project", ""), StatusCode::OK);
  EXPECT_EQ(ask("asker", ""), StatusCode::PERMISSION_DENIED);
}

TEST_F(KnownWriters, RecomputationsAreBegunByAdministratorsAndSeenByWhoMayAskAboutAll) {
  MakeToken("all", "auditor", "*");
  MakeToken("project", "auditor", "projects/p");
  const auto recompute = v1::RecomputeService::NewStub(channel_);
  v1::StartRecomputeRequest request;
  request.set_request_id("r");
  request.set_parent("projects/p");
  v1::Operation operation;
  using Recompute = v1::RecomputeService::Stub;
  for (const char* caller : {"all", "project"}) {
    EXPECT_EQ(As(caller, *recompute, &Recompute::StartRecompute, request, &operation).error_code(),
              StatusCode::PERMISSION_DENIED);
  }
  ASSERT_TRUE(IsOk(As("admin", *recompute, &Recompute::StartRecompute, request, &operation)));
  EXPECT_EQ(operation.creator(), "token:first-admin");
  v1::GetOperationRequest get;
  get.set_name(operation.name());
  EXPECT_TRUE(IsOk(As("all", *recompute, &Recompute::GetOperation, get)));
  EXPECT_EQ(As("project", *recompute, &Recompute::GetOperation, get).error_code(),
            StatusCode::PERMISSION_DENIED);
  v1::CancelOperationRequest cancel;
  cancel.set_name(operation.name());
  EXPECT_EQ(As("all", *recompute, &Recompute::CancelOperation, cancel).error_code(),
            StatusCode::PERMISSION_DENIED);
  // What it finds is in a ledger that is read by administrators alone.
  v1::ReadEntriesRequest read;
  read.set_ledger(operation.results_ledger());
  EXPECT_EQ(As("all", *ledgers_, &Ledgers::ReadEntries, read).error_code(),
            StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace dpledger::server
