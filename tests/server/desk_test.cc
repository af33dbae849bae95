// The desk's table: no method is missing, none is open to everybody by oversight, and a caller who
// may not do something leaves nothing behind.
#include "server/desk/desk.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/desk/table.h"
#include "server/summaries/attention.h"
#include "tests/server/any_call.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using grpc::StatusCode;

// Refuses one permission, and remembers what it was asked.
class Guard : public Authorizer {
 public:
  absl::Status Decide(const Caller&, Permission permission, const Resource& resource) override {
    absl::MutexLock lock(&mutex_);
    asked_.emplace(permission, resource.name);
    if (permission != refused_) return absl::OkStatus();
    return WithReason(absl::PermissionDeniedError("not for you"), {"REFUSED", {}});
  }
  void Refuse(std::optional<Permission> permission) {
    absl::MutexLock lock(&mutex_);
    refused_ = permission;
    asked_.clear();
  }
  std::set<std::pair<Permission, std::string>> asked() {
    absl::MutexLock lock(&mutex_);
    return asked_;
  }

 private:
  absl::Mutex mutex_;
  std::optional<Permission> refused_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<Permission, std::string>> asked_ ABSL_GUARDED_BY(mutex_);
};

ServerOptions GuardedBy(const std::shared_ptr<Guard>& guard) {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.authorizer = guard;
  return options;
}

// Paths of all methods in the project's .proto files.
std::set<std::string> PathsInProtoFiles() {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(std::getenv("DPLEDGER_SOURCE")) / "proto";
  std::set<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".proto") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    if (!absl::StrContains(text.str(), "\nservice ")) continue;
    const auto* const file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
        fs::relative(entry.path(), root));
    if (file == nullptr) {
      ADD_FAILURE() << entry.path() << " has a service that the server does not link";
      continue;
    }
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        paths.insert(absl::StrCat("/", file->service(s)->full_name(), "/",
                                  file->service(s)->method(m)->name()));
      }
    }
  }
  return paths;
}

bool OfThisProject(const Method& method) { return absl::StartsWith(method.path, "/dpledger."); }

// ---- The rows ----

TEST(Table, HasEveryMethodOfTheProtoFiles) {
  RunningServer running;
  const Desk& desk = running.server().desk();
  std::set<std::string> rows;
  for (const Method& method : desk.methods()) {
    EXPECT_TRUE(rows.insert(method.path).second) << method.path << " is there twice";
    EXPECT_EQ(desk.Find(method.path), &method);
  }
  EXPECT_EQ(rows, PathsInProtoFiles());
  EXPECT_EQ(desk.Find("/dpledger.v1.LedgerService/DropLedger"), nullptr);
  EXPECT_EQ(desk.Find(""), nullptr);
}

TEST(Table, NoCallIsWithoutAPermission) {
  for (const Method& method : MethodTable({}, 1, nullptr, nullptr)) {
    SCOPED_TRACE(method.path);
    EXPECT_EQ(method.permission.has_value(), OfThisProject(method));
    EXPECT_EQ(method.demands != nullptr, OfThisProject(method));
    if (!OfThisProject(method)) continue;
    // Even a request that names nothing.
    const std::vector<Demand> demands = method.demands(*method.request);
    ASSERT_FALSE(demands.empty());
    EXPECT_EQ(demands[0].permission, method.permission);
  }
}

TEST(Table, SideEffectsAreThoseOfThePermission) {
  const std::set<Permission> reading = {Permission::kReadEntries, Permission::kList,
                                        Permission::kAsk, Permission::kVerify};
  for (const Method& method : MethodTable({}, 1, nullptr, nullptr)) {
    if (!OfThisProject(method) || method.permission == Permission::kAdminister) continue;
    EXPECT_EQ(method.no_side_effects, reading.contains(*method.permission)) << method.path;
  }
}

TEST(Table, EveryRowHasTheHandlerOfItsKind) {
  for (const Method& method : MethodTable({}, 1, nullptr, nullptr)) {
    SCOPED_TRACE(method.path);
    const bool unary = method.kind == CallKind::kUnary;
    EXPECT_EQ((method.answer ? 1 : 0) + (method.start ? 1 : 0), unary ? 1 : 0);
    EXPECT_EQ(method.open != nullptr, !unary);
    EXPECT_EQ(method.request->GetDescriptor(), method.descriptor->input_type());
    EXPECT_EQ(method.response->GetDescriptor(), method.descriptor->output_type());
    EXPECT_TRUE(method.answer || method.pool == Pool::kInline);
  }
}

// ---- Permissions ----

TEST(Permissions, RefusedCallsStoreNothing) {
  const auto guard = std::make_shared<Guard>();
  RunningServer running(GuardedBy(guard));
  running.Create(kLedger);
  running.Append(RoundBatch(kLedger, "w", "r1", 1));
  const std::string before = running.Get(kLedger).SerializeAsString();
  v1::GrantBudgetRequest grant;
  grant.set_budget("projects/p/ledgers/budget");
  grant.set_ledger("projects/p/ledgers/run");
  grant.set_request_id("grant");
  for (const std::string& name : {grant.budget(), grant.ledger()}) {
    v1::CreateLedgerRequest create = CreateRequest(name);
    v1::Declaration& declaration = *create.mutable_declaration();
    if (name == grant.budget()) {
      declaration.set_kind(v1::BUDGET);
      declaration.set_parameters(v1::ADAPTIVE);
      declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
    } else {
      declaration.set_budget(grant.budget());
    }
    v1::Ledger made;
    ASSERT_TRUE(
        IsOk(Call(running.ledgers(), &v1::LedgerService::Stub::CreateLedger, create, &made)));
  }

  v1::AppendRequest in_stream;
  *in_stream.mutable_batch() = RoundBatch(kLedger, "w", "in stream", 2);
  in_stream.mutable_batch()->set_request_id("in-stream");
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  v1::ForkLedgerRequest fork;
  fork.set_parent(kLedger);
  fork.set_name("projects/p/ledgers/fork");
  fork.set_request_id("fork");
  v1::IssueStatementRequest issue;
  issue.mutable_statement()->set_ledger(kLedger);
  issue.mutable_issuer()->set_organization("o");
  issue.mutable_issuer()->set_name("n");
  issue.mutable_issuer()->set_role("r");
  v1::WithdrawStatementRequest withdraw;
  withdraw.set_number(1);
  withdraw.set_ledger(kLedger);
  withdraw.set_reason("wrong");
  v1::AttentionItem sealed;  // as the ledger has been by then
  sealed.set_reason(v1::AttentionItem::OPEN_WRITERS);
  sealed.set_ledger(kLedger);
  sealed.add_datasets("adult");
  sealed.set_title("sealed while 1 writer had not closed");
  sealed.set_message(
      "They never said that they had released no more than the record holds. Ask who ran them.");
  v1::NoteAttentionRequest note;
  note.set_id(IdOf(sealed, {}));
  note.set_ledger(kLedger);
  // In an order in which all of them work.
  const std::string service = "/dpledger.v1.LedgerService/";
  const std::vector<std::pair<std::string, std::string>> writing = {
      {service + "CreateLedger", CreateRequest("projects/p/ledgers/new").SerializeAsString()},
      {service + "Append", in_stream.SerializeAsString()},
      {service + "AppendBatch", RoundBatch(kLedger, "w", "r3", 3).SerializeAsString()},
      {service + "ForkLedger", fork.SerializeAsString()},
      {service + "GrantBudget", grant.SerializeAsString()},
      {service + "SealLedger", seal.SerializeAsString()},
      {service + "NoteAttention", note.SerializeAsString()},
      {"/dpledger.v1.StatementService/IssueStatement", issue.SerializeAsString()},
      {"/dpledger.v1.StatementService/WithdrawStatement", withdraw.SerializeAsString()}};
  const std::map<std::string, std::string> requests(writing.begin(), writing.end());

  for (const Method& method : running.server().desk().methods()) {
    if (!method.permission.has_value()) continue;
    SCOPED_TRACE(method.path);
    // This server has no tokens to change.
    const bool administers = method.permission == Permission::kAdminister;
    EXPECT_EQ(method.no_side_effects || administers, !requests.contains(method.path));
    guard->Refuse(method.permission);
    const std::string request =
        method.no_side_effects || administers ? "" : requests.at(method.path);
    const AnyAnswer answer = CallAny(running.channel(), method.path, {request});
    EXPECT_TRUE(IsError(answer.status, StatusCode::PERMISSION_DENIED, "REFUSED", "not for you"));
    EXPECT_EQ(answer.responses, 0);
    guard->Refuse(std::nullopt);
    EXPECT_EQ(running.Get(kLedger).SerializeAsString(), before);
    v1::ListLedgersRequest list;
    list.set_parent("projects/-");
    v1::ListLedgersResponse ledgers;
    ASSERT_TRUE(
        IsOk(Call(running.ledgers(), &v1::LedgerService::Stub::ListLedgers, list, &ledgers)));
    EXPECT_EQ(ledgers.ledgers_size(), 3);
  }
  // The same requests store something where nobody refuses them.
  for (const auto& [path, request] : writing) {
    SCOPED_TRACE(path);
    const AnyAnswer answer = CallAny(running.channel(), path, {request});
    EXPECT_TRUE(IsOk(answer.status));
    EXPECT_EQ(answer.responses, 1);
  }
}

// A stream is asked about batch by batch: what was acknowledged stays, what comes after is refused.
TEST(Permissions, EachBatchOfAStreamIsAskedAbout) {
  const auto guard = std::make_shared<Guard>();
  RunningServer running(GuardedBy(guard));
  running.Create(kLedger);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = running.ledgers().Append(&context);
  v1::AppendRequest request;
  v1::AppendResponse response;
  *request.mutable_batch() = RoundBatch(kLedger, "w", "r1", 1);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  guard->Refuse(Permission::kAppend);
  *request.mutable_batch() = RoundBatch(kLedger, "w", "r2", 2);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(IsError(stream->Finish(), StatusCode::PERMISSION_DENIED, "REFUSED", "not for you"));
  guard->Refuse(std::nullopt);
  EXPECT_EQ(running.Get(kLedger).size(), 3u);
}

TEST(Permissions, ARequestNeedsAllThatItTouches) {
  RunningServer running;
  std::map<std::string, const Method*> rows;
  for (const Method& method : running.server().desk().methods()) {
    rows[method.descriptor->name()] = &method;
  }
  using Wanted = std::vector<std::tuple<Permission, Resource::Kind, std::string>>;
  const auto demands = [&](const std::string& name, const Message& request) {
    Wanted all;
    for (const Demand& demand : rows.at(name)->demands(request)) {
      all.emplace_back(demand.permission, demand.resource.kind, demand.resource.name);
    }
    return all;
  };
  const auto ledger = Resource::Kind::kLedger;

  v1::ForkLedgerRequest fork;
  fork.set_parent("a");
  fork.set_name("b");
  EXPECT_EQ(demands("ForkLedger", fork),
            (Wanted{{Permission::kFork, ledger, "a"}, {Permission::kCreate, ledger, "b"}}));

  v1::CreateLedgerRequest create;
  create.set_name("a");
  create.mutable_declaration()->set_budget("b");
  EXPECT_EQ(demands("CreateLedger", create),
            (Wanted{{Permission::kCreate, ledger, "a"}, {Permission::kAppend, ledger, "b"}}));
  create.mutable_declaration()->clear_budget();
  create.mutable_declaration()->set_kind(v1::BUDGET);
  EXPECT_EQ(demands("CreateLedger", create),
            (Wanted{{Permission::kCreate, ledger, "a"},
                    {Permission::kAdminister, Resource::Kind::kServer, ""}}));
  v1::GrantBudgetRequest grant;
  grant.set_ledger("a");
  grant.set_budget("b");
  EXPECT_EQ(demands("GrantBudget", grant),
            (Wanted{{Permission::kAppend, ledger, "a"}, {Permission::kAppend, ledger, "b"}}));

  v1::SealLedgerRequest seal;
  seal.set_name("a");
  EXPECT_EQ(demands("SealLedger", seal), (Wanted{{Permission::kSeal, ledger, "a"}}));
  seal.add_missing_writers("w");
  EXPECT_EQ(demands("SealLedger", seal), (Wanted{{Permission::kSeal, ledger, "a"},
                                                 {Permission::kSealWithMissing, ledger, "a"}}));

  v1::AppendRequest append;
  append.mutable_batch()->set_ledger("a");
  append.mutable_batch()->add_entries()->mutable_note();
  EXPECT_EQ(demands("Append", append), (Wanted{{Permission::kAppend, ledger, "a"}}));
  append.mutable_batch()->add_entries()->mutable_correction();
  const Wanted correcting = {{Permission::kAppend, ledger, "a"},
                             {Permission::kCorrect, ledger, "a"}};
  EXPECT_EQ(demands("Append", append), correcting);
  EXPECT_EQ(demands("AppendBatch", append.batch()), correcting);

  const auto asks = [&]<typename Request>(const std::string& name, Request ask) {
    EXPECT_EQ(demands(name, ask), (Wanted{{Permission::kAsk, Resource::Kind::kServer, ""}}));
    ask.mutable_subject()->add_ledgers("a");
    ask.mutable_subject()->add_ledgers("b");
    EXPECT_EQ(demands(name, ask),
              (Wanted{{Permission::kAsk, ledger, "a"}, {Permission::kAsk, ledger, "b"}}))
        << name;
  };
  asks("ComputeEpsilon", v1::ComputeEpsilonRequest());
  asks("ComputeDelta", v1::ComputeDeltaRequest());
  asks("Calibrate", v1::CalibrateRequest());
  asks("ComputeTuningCost", v1::ComputeTuningCostRequest());
  asks("ComputeProfile", v1::ComputeProfileRequest());
  asks("AuditClaim", v1::AuditClaimRequest());

  v1::GetTileRequest tile;
  EXPECT_EQ(demands("GetTile", tile),
            (Wanted{{Permission::kVerify, Resource::Kind::kRegistry, ""}}));
  tile.set_path("tile/entries/000.p/5");
  EXPECT_EQ(demands("GetTile", tile),
            (Wanted{{Permission::kVerify, Resource::Kind::kRegistry, ""}}));
  tile.set_log("a");
  EXPECT_EQ(demands("GetTile", tile), (Wanted{{Permission::kReadEntries, ledger, "a"}}));
  tile.set_path("tile/0/000.p/5");
  EXPECT_EQ(demands("GetTile", tile), (Wanted{{Permission::kVerify, ledger, "a"}}));

  v1::ReadEntriesRequest read;
  read.set_ledger("a");
  EXPECT_EQ(demands("ReadEntries", read), (Wanted{{Permission::kReadEntries, ledger, "a"}}));
  read.set_for_export(true);
  EXPECT_EQ(demands("ReadEntries", read), (Wanted{{Permission::kExport, ledger, "a"}}));

  v1::IssueStatementRequest issue;
  issue.mutable_statement()->set_ledger("a");
  EXPECT_EQ(demands("IssueStatement", issue), (Wanted{{Permission::kAsk, ledger, "a"},
                                                      {Permission::kVerify, ledger, "a"},
                                                      {Permission::kCorrect, ledger, "a"}}));
  v1::NoteAttentionRequest note;
  note.set_ledger("a");
  EXPECT_EQ(demands("NoteAttention", note), (Wanted{{Permission::kCorrect, ledger, "a"}}));
  note.clear_about();
  EXPECT_EQ(demands("NoteAttention", note),
            (Wanted{{Permission::kAdminister, Resource::Kind::kServer, ""}}));
  v1::WithdrawStatementRequest withdraw;
  withdraw.set_dataset("d");
  EXPECT_EQ(demands("WithdrawStatement", withdraw),
            (Wanted{{Permission::kCorrect, Resource::Kind::kDataset, "d"}}));
}

TEST(Permissions, HealthAndReflectionNeedNone) {
  const auto guard = std::make_shared<Guard>();
  RunningServer running(GuardedBy(guard));
  guard->Refuse(std::nullopt);
  EXPECT_EQ(running.Health(""), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_TRUE(guard->asked().empty());
}

// ---- Requests that wait for the end of their input ----

// Two callers filled everybody's bytes with messages that never ended, and nobody was served.
TEST(Waiting, TakesNothingFromCallsThatRun) {
  RunningServer running;
  std::vector<std::unique_ptr<Quotas::Permit>> held;
  for (const char* party : {"one", "two"}) {
    CallContext context;
    context.party = party;
    for (int i = 0; i < 1000; ++i) {
      auto permit = running.server().desk().AdmitWaiting(context, size_t{1} << 20);
      if (!permit.ok()) break;
      held.push_back(*std::move(permit));
    }
  }
  EXPECT_EQ(held.size(), 64u) << "a quarter of 256";
  running.Create(kLedger);
  EXPECT_GT(running.Append(RoundBatch(kLedger, "w", "r", 1)).size(), 1u);
}

// ---- Ending streams ----

TEST(Streams, EndAfterAcknowledgingWhatTheyHaveTaken) {
  RunningServer running;
  running.Create(kLedger);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto stream = running.ledgers().Append(&context);
  v1::AppendRequest request;
  v1::AppendResponse response;
  *request.mutable_batch() = RoundBatch(kLedger, "w", "r1", 1);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  const auto why =
      WithReason(absl::UnauthenticatedError("the token was revoked"), {"REVOKED_TOKEN", {}});
  running.server().desk().EndStreams(
      [&](const Caller& c) { return c.name == "somebody" ? why : absl::OkStatus(); });
  *request.mutable_batch() = RoundBatch(kLedger, "w", "r2", 2);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));  // another one's token
  running.server().desk().EndStreams(
      [&](const Caller& c) { return c.name == "anonymous" ? why : absl::OkStatus(); });
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(IsError(stream->Finish(), StatusCode::UNAUTHENTICATED, "REVOKED_TOKEN",
                      "the token was revoked; send what is not acknowledged again"));
  EXPECT_EQ(running.Get(kLedger).size(), 5u);
}

}  // namespace
}  // namespace dpledger::server
