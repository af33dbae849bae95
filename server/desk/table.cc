#include "server/desk/table.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <type_traits>
#include <utility>

#include "base/out_of_memory.h"
#include "base/status.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/audit_service.pb.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/desk/append_stream.h"
#include "server/desk/reflection.h"
#include "server/desk/row.h"
#include "server/desk/watch_stream.h"

namespace dpledger::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

using Demands = std::vector<Demand>;

Resource LedgerCalled(const std::string& name) { return {Resource::Kind::kLedger, name}; }
Resource NewLedger(const std::string& name, const v1::Declaration& declaration) {
  return {Resource::Kind::kLedger, name, declaration.dataset()};
}

// Of a ledger or of all those over a data set.
template <typename About>
Resource ResourceOf(const About& about) {
  return about.has_dataset() ? Resource{Resource::Kind::kDataset, about.dataset()}
                             : LedgerCalled(about.ledger());
}

// A row that needs `permission` for the resource that `wanted` finds in its request; or, where a
// request needs several permissions, or one for several resources, the demands.
template <typename Request, typename Wanted>
Method For(Permission permission, const Wanted& wanted, Method row) {
  row.permission = permission;
  row.demands = [permission, wanted](const Message& message) -> Demands {
    const auto& request = static_cast<const Request&>(message);
    if constexpr (std::is_same_v<decltype(wanted(request)), Demands>) {
      return wanted(request);
    } else {
      return {{permission, wanted(request)}};
    }
  };
  return row;
}

// ---- LedgerService ----

// As who makes a budget, who retires its blocks decides what runs may spend.
Demands DemandsOfBatch(const v1::AppendBatchRequest& batch) {
  Demands demands = {{Permission::kAppend, LedgerCalled(batch.ledger())}};
  const auto any = [&](bool (v1::NewEntry::*has)() const) {
    return std::any_of(batch.entries().begin(), batch.entries().end(),
                       [&](const v1::NewEntry& entry) { return (entry.*has)(); });
  };
  if (any(&v1::NewEntry::has_correction)) {
    demands.push_back({Permission::kCorrect, LedgerCalled(batch.ledger())});
  }
  if (any(&v1::NewEntry::has_retired_blocks)) {
    demands.push_back({Permission::kAdminister, Resource(), "entries.retired_blocks"});
  }
  return demands;
}

Demands DemandsOfSeal(const v1::SealLedgerRequest& request) {
  Demands demands = {{Permission::kSeal, LedgerCalled(request.name())}};
  const bool all = request.open_writers_are_missing();
  if (all || request.missing_writers_size() > 0) {
    demands.push_back({Permission::kSealWithMissing, LedgerCalled(request.name()),
                       all ? "open_writers_are_missing" : "missing_writers"});
  }
  return demands;
}

Demands DemandsOfFork(const v1::ForkLedgerRequest& request) {
  Resource fork = NewLedger(request.name(), request.declaration());
  if (!request.has_declaration()) fork.parent = request.parent();
  return {{Permission::kFork, LedgerCalled(request.parent())}, {Permission::kCreate, fork}};
}

// Who makes a budget decides what runs may spend: an administrator. Who makes a run under one, or
// asks for a grant, must be allowed to write to both.
Demands DemandsOfCreate(const v1::CreateLedgerRequest& request) {
  const v1::Declaration& declaration =
      request.has_import() ? request.import().declaration() : request.declaration();
  Demands demands = {{Permission::kCreate, NewLedger(request.name(), declaration)}};
  if (request.has_import()) return demands;
  if (declaration.kind() == v1::BUDGET) {
    demands.push_back({Permission::kAdminister, Resource(), "declaration.kind"});
  }
  if (!declaration.budget().empty()) {
    demands.push_back(
        {Permission::kAppend, LedgerCalled(declaration.budget()), "declaration.budget"});
  }
  return demands;
}

Demands DemandsOfGrant(const v1::GrantBudgetRequest& request) {
  return {{Permission::kAppend, LedgerCalled(request.ledger())},
          {Permission::kAppend, LedgerCalled(request.budget())}};
}

Demands DemandsOfRead(const v1::ReadEntriesRequest& request) {
  const bool keeps = request.for_export();
  return {{keeps ? Permission::kExport : Permission::kReadEntries, LedgerCalled(request.ledger())}};
}

// Inline: a thread that waits for the disk would keep others from joining the same sync.
Method AppendBatchRow(LedgerService* ledgers) {
  Method row = RowOf("LedgerService", "AppendBatch", v1::AppendBatchRequest::default_instance(),
                     v1::AppendBatchResponse::default_instance());
  row.start = [ledgers](MessagePointer request, const CallContext& call, Method::Done done) {
    ledgers->AppendBatch(std::move(static_cast<v1::AppendBatchRequest&>(*request)),
                         call.NameInEntries(), nullptr,
                         [done = std::move(done)](absl::StatusOr<v1::Receipt> receipt) {
                           if (!receipt.ok()) {
                             done(receipt.status());
                             return;
                           }
                           absl::StatusOr<MessagePointer> answer = OutOfMemory();
                           try {
                             auto made = std::make_unique<v1::AppendBatchResponse>();
                             *made->mutable_receipt() = *std::move(receipt);
                             answer = std::move(made);
                           } catch (const std::bad_alloc&) {
                             // It is stored; the caller learns that when it sends the batch again.
                           }
                           done(std::move(answer));
                         });
  };
  return row;
}

Method AppendRow(LedgerService* ledgers, size_t window) {
  Method row = RowOf("LedgerService", "Append", v1::AppendRequest::default_instance(),
                     v1::AppendResponse::default_instance());
  row.open = [ledgers, window](const CallContext& call, StreamDoor* door, MessagePointer) {
    return std::make_shared<AppendStream>(ledgers, door, window, call.NameInEntries());
  };
  return row;
}

void AddLedgerService(LedgerService* service, size_t append_window, std::vector<Method>& rows) {
  using S = LedgerService;
  const auto unary = [service](const char* name, Pool pool, auto method) {
    return Unary("LedgerService", name, pool, service, method);
  };
  rows.push_back(For<v1::CreateLedgerRequest>(
      Permission::kCreate, DemandsOfCreate, unary("CreateLedger", Pool::kStore, &S::CreateLedger)));
  rows.push_back(For<v1::GetLedgerRequest>(
      Permission::kList, [](const auto& r) { return LedgerCalled(r.name()); },
      unary("GetLedger", Pool::kStore, &S::GetLedger)));
  rows.push_back(
      For<v1::AppendBatchRequest>(Permission::kAppend, DemandsOfBatch, AppendBatchRow(service)));
  rows.push_back(For<v1::AppendRequest>(
      Permission::kAppend, [](const auto& r) { return DemandsOfBatch(r.batch()); },
      AppendRow(service, append_window)));
  rows.push_back(For<v1::ReadEntriesRequest>(Permission::kReadEntries, DemandsOfRead,
                                             unary("ReadEntries", Pool::kStore, &S::ReadEntries)));
  rows.back().entries = [](const Message&, const Message& response) {
    return static_cast<uint64_t>(
        static_cast<const v1::ReadEntriesResponse&>(response).entries_size());
  };
  rows.push_back(For<v1::SealLedgerRequest>(Permission::kSeal, DemandsOfSeal,
                                            unary("SealLedger", Pool::kStore, &S::SealLedger)));
  // On the pool of those who wait for signatures: it may be one of them.
  rows.push_back(For<v1::ForkLedgerRequest>(Permission::kFork, DemandsOfFork,
                                            unary("ForkLedger", Pool::kAudit, &S::ForkLedger)));
  rows.push_back(For<v1::GrantBudgetRequest>(Permission::kAppend, DemandsOfGrant,
                                             unary("GrantBudget", Pool::kStore, &S::GrantBudget)));
}

// The lists hide what the caller may not list themselves: their pages and totals depend on it.
void AddLists(ListingService* service, WorkerPool* list_pool, std::vector<Method>& rows) {
  using S = ListingService;
  const auto list = [&]<typename Request>(Method row) {
    rows.push_back(For<Request>(
        Permission::kList,
        [](const Request& r) {
          return Resource{Resource::Kind::kProject, r.parent()};
        },
        std::move(row)));
  };
  list.operator()<v1::ListLedgersRequest>(
      Unary("LedgerService", "ListLedgers", Pool::kList, service, &S::ListLedgers));
  // It waits for accounting, though it does none.
  list.operator()<v1::ListDatasetsRequest>(
      Unary("LedgerService", "ListDatasets", Pool::kAudit, service, &S::ListDatasets));
  list.operator()<v1::ListAttentionRequest>(
      Unary("LedgerService", "ListAttention", Pool::kList, service, &S::ListAttention));
  rows.push_back(For<v1::NoteAttentionRequest>(
      Permission::kCorrect,
      [](const auto& request) -> Demands {
        if (request.about_case() == v1::NoteAttentionRequest::ABOUT_NOT_SET)
          return {{Permission::kAdminister, Resource()}};
        return {{Permission::kCorrect, ResourceOf(request)}};
      },
      Unary("LedgerService", "NoteAttention", Pool::kList, service, &S::NoteAttention)));
  Method watch = RowOf("LedgerService", "WatchLedgers", v1::WatchLedgersRequest::default_instance(),
                       v1::WatchLedgersResponse::default_instance());
  watch.open = [service, list_pool](const CallContext& call, StreamDoor* door,
                                    MessagePointer request) {
    return WatchStream::Open(service, list_pool,
                             static_cast<const v1::WatchLedgersRequest&>(*request), call, door);
  };
  list.operator()<v1::WatchLedgersRequest>(std::move(watch));
}

// ---- AccountingService ----

// To ask about each ledger; about events alone, of the server. Which ledgers are over a data set,
// the service knows, and asks for the right to each.
template <typename Request>
Demands DemandsOfQuestion(const Request& request) {
  Demands demands;
  for (const std::string& ledger : request.subject().ledgers()) {
    demands.push_back({Permission::kAsk, LedgerCalled(ledger)});
  }
  if (demands.empty()) demands.push_back({Permission::kAsk, Resource()});
  return demands;
}

void AddAccountingService(AccountingService* service, std::vector<Method>& rows) {
  using S = AccountingService;
  const auto question = [&]<typename Request, typename Response>(
                            const char* name, absl::StatusOr<Response> (S::*method)(
                                                  const Request&, const CallContext&)) {
    rows.push_back(For<Request>(Permission::kAsk, DemandsOfQuestion<Request>,
                                Unary("AccountingService", name, Pool::kQuery, service, method)));
  };
  question("ComputeEpsilon", &S::ComputeEpsilon);
  question("ComputeDelta", &S::Answer<v1::ComputeDeltaRequest>);
  question("Calibrate", &S::Answer<v1::CalibrateRequest>);
  question("ComputeTuningCost", &S::Answer<v1::ComputeTuningCostRequest>);
  question("ComputeProfile", &S::Answer<v1::ComputeProfileRequest>);
  question("AuditClaim", &S::Answer<v1::AuditClaimRequest>);
  rows.push_back(For<v1::ComputeBudgetRequest>(
      Permission::kAsk, [](const auto& r) { return LedgerCalled(r.budget()); },
      Unary("AccountingService", "ComputeBudget", Pool::kQuery, service, &S::ComputeBudget)));
}

// ---- AuditService ----

Resource LogCalled(const std::string& log) {
  return log == kRegistryLog ? Resource{Resource::Kind::kRegistry, ""} : LedgerCalled(log);
}

// The entries of a ledger; those of the registry are for whoever verifies something.
bool ReadsEntries(const v1::GetTileRequest& request) {
  return request.log() != kRegistryLog && request.path().starts_with("tile/entries/");
}

Demands DemandsOfTile(const v1::GetTileRequest& request) {
  return {{ReadsEntries(request) ? Permission::kReadEntries : Permission::kVerify,
           LogCalled(request.log())}};
}

uint64_t EntriesOfTile(const Message& request, const Message&) {
  const auto& asked = static_cast<const v1::GetTileRequest&>(request);
  const absl::StatusOr<merkle::ParsedTilePath> path = merkle::ParseTilePath(asked.path());
  return ReadsEntries(asked) && path.ok() ? static_cast<uint64_t>(path->tile.width) : 0;
}

void AddAuditService(AuditService* service, std::vector<Method>& rows) {
  using S = AuditService;
  const auto proof = [&]<typename Request, typename Response>(
                         const char* name, absl::StatusOr<Response> (S::*method)(
                                               const Request&, const CallContext&)) {
    rows.push_back(For<Request>(
        Permission::kVerify, [](const Request& request) { return LogCalled(request.log()); },
        Unary("AuditService", name, Pool::kAudit, service, method)));
  };
  proof("GetCheckpoint", &S::GetCheckpoint);
  proof("GetInclusionProof", &S::GetInclusionProof);
  proof("GetConsistencyProof", &S::GetConsistencyProof);
  rows.push_back(For<v1::GetTileRequest>(
      Permission::kVerify, DemandsOfTile,
      Unary("AuditService", "GetTile", Pool::kAudit, service, &S::GetTile)));
  rows.back().entries = EntriesOfTile;
  proof("ListRegistrations", &S::ListRegistrations);
}

// ---- StatementService ----

// It holds answers, and the checkpoints that they are bound to.
Demands DemandsOfStatement(const v1::GetStatementRequest& request) {
  const Resource about = ResourceOf(request);
  return {{Permission::kAsk, about}, {Permission::kVerify, about}};
}

// Who may write notes about the data may also answer for a statement about it, and take it back.
Demands DemandsOfIssue(const v1::IssueStatementRequest& request) {
  Demands demands = DemandsOfStatement(request.statement());
  demands.push_back({Permission::kCorrect, ResourceOf(request.statement())});
  return demands;
}

void AddStatementService(StatementService* service, std::vector<Method>& rows) {
  using S = StatementService;
  const auto unary = [&](const char* name, auto method, Pool pool = Pool::kQuery) {
    return Unary("StatementService", name, pool, service, method);
  };
  rows.push_back(For<v1::GetStatementRequest>(Permission::kAsk, DemandsOfStatement,
                                              unary("GetStatement", &S::GetStatement)));
  rows.push_back(For<v1::IssueStatementRequest>(Permission::kCorrect, DemandsOfIssue,
                                                unary("IssueStatement", &S::IssueStatement)));
  rows.push_back(For<v1::WithdrawStatementRequest>(
      Permission::kCorrect, [](const auto& request) { return ResourceOf(request); },
      unary("WithdrawStatement", &S::WithdrawStatement)));
  // Who has a document may ask whether it is one that was issued.
  const auto all = [](const auto&) { return Resource{Resource::Kind::kProject, "projects/-"}; };
  rows.push_back(For<v1::FindStatementRequest>(
      Permission::kList, all, unary("FindStatement", &S::FindStatement, Pool::kAudit)));
  Method list = For<v1::ListStatementsRequest>(
      Permission::kList,
      [](const auto& request) -> Demands {
        if (request.about_case() == v1::ListStatementsRequest::ABOUT_NOT_SET)
          return {{Permission::kList, {Resource::Kind::kProject, "projects/-"}}};
        return {{Permission::kAsk, ResourceOf(request)}};
      },
      unary("ListStatements", &S::ListStatements));
  list.hide = [](Message& message, const std::function<bool(const Demand&)>& allowed) {
    auto& statements = *static_cast<v1::ListStatementsResponse&>(message).mutable_statements();
    statements.erase(std::remove_if(statements.begin(), statements.end(),
                                    [&](const v1::IssuedStatement& one) {
                                      return !allowed({Permission::kAsk, ResourceOf(one)});
                                    }),
                     statements.end());
  };
  rows.push_back(std::move(list));
}

// ---- RecomputeService ----

// What an operation finds is of many ledgers: who may ask about all of them may see it. To begin
// and to end one is the administrators', who are recorded.
void AddRecomputeService(RecomputeService* service, std::vector<Method>& rows) {
  using S = RecomputeService;
  const auto add = [&]<typename Request, typename Response, typename... Context>(
                       const char* name, Permission permission,
                       absl::StatusOr<Response> (S::*method)(const Request&, Context...)) {
    rows.push_back(For<Request>(
        permission,
        [](const Request&) {
          return Resource{Resource::Kind::kProject, "projects/-"};
        },
        Unary("RecomputeService", name, Pool::kStore, service, method)));
  };
  add("StartRecompute", Permission::kAdminister, &S::StartRecompute);
  add("CancelOperation", Permission::kAdminister, &S::CancelOperation);
  add("GetOperation", Permission::kAsk, &S::GetOperation);
  add("ListOperations", Permission::kAsk, &S::ListOperations);
  add("ListRecomputed", Permission::kAsk, &S::ListRecomputed);
  rows.push_back(For<v1::ListAnswersRequest>(
      Permission::kAsk, [](const auto& request) { return LedgerCalled(request.ledger()); },
      Unary("RecomputeService", "ListAnswers", Pool::kAudit, service, &S::ListAnswers)));
}

// ---- AdminService ----

absl::StatusOr<MessagePointer> KnowsNoCallers(Message&, const CallContext&) {
  return WithReason(absl::FailedPreconditionError("the server was started without --identity: it "
                                                  "has no tokens, and records no callers"),
                    {"NO_IDENTITY", {}});
}

void AddAdminService(AdminService* service, std::vector<Method>& rows) {
  using S = AdminService;
  const auto change = [&]<typename Request, typename Response>(
                          const char* name, absl::StatusOr<Response> (S::*method)(
                                                const Request&, const CallContext&)) {
    rows.push_back(For<Request>(
        Permission::kAdminister, [](const Request&) { return Resource(); },
        Unary("AdminService", name, Pool::kStore, service, method)));
    if (service == nullptr) rows.back().answer = KnowsNoCallers;
  };
  change("CreateToken", &S::CreateToken);
  change("ListTokens", &S::ListTokens);
  change("RotateToken", &S::RotateToken);
  change("RevokeToken", &S::RevokeToken);
  change("ListAccess", &S::ListAccess);
  rows.back().pool = Pool::kList;
}

// ---- Health and reflection: whoever reaches the port may ask ----

Method HealthCheckRow(Health* health) {
  Method row = RowOf("Health", "Check", HealthCheckRequest::default_instance(),
                     HealthCheckResponse::default_instance());
  row.answer = [health](Message& message, const CallContext&) -> absl::StatusOr<MessagePointer> {
    const auto status = health->Of(static_cast<const HealthCheckRequest&>(message).service());
    if (!status.has_value()) return absl::NotFoundError("service: the server has no such service");
    auto response = std::make_unique<HealthCheckResponse>();
    response->set_status(*status);
    return response;
  };
  return row;
}

Method HealthWatchRow(Health* health) {
  Method row = RowOf("Health", "Watch", HealthCheckRequest::default_instance(),
                     HealthCheckResponse::default_instance());
  row.open = [health](const CallContext&, StreamDoor* door, MessagePointer request) {
    return health->Watch(static_cast<const HealthCheckRequest&>(*request).service(), door);
  };
  return row;
}

Method ReflectionRow(const std::vector<Method>& others) {
  Method row =
      RowOf("ServerReflection", "ServerReflectionInfo", ServerReflectionRequest::default_instance(),
            ServerReflectionResponse::default_instance());
  std::set<std::string> services = {row.descriptor->service()->full_name()};
  for (const Method& other : others) services.insert(other.descriptor->service()->full_name());
  row.open = [services = std::vector<std::string>(services.begin(), services.end())](
                 const CallContext&, StreamDoor* door, MessagePointer) {
    return OpenReflection(services, door);
  };
  return row;
}

}  // namespace

std::vector<std::string> ServedServices() {
  std::vector<std::string> names;
  for (const auto* message :
       {v1::GetLedgerRequest::descriptor(), v1::ComputeEpsilonRequest::descriptor(),
        v1::GetCheckpointRequest::descriptor(), v1::GetStatementRequest::descriptor(),
        v1::StartRecomputeRequest::descriptor()}) {
    names.push_back(message->file()->service(0)->full_name());
  }
  return names;
}

std::vector<Method> MethodTable(const Services& services, size_t append_window, Health* health,
                                WorkerPool* list_pool) {
  std::vector<Method> rows;
  AddLedgerService(services.ledgers, append_window, rows);
  if (services.lists != nullptr) AddLists(services.lists, list_pool, rows);
  AddAccountingService(services.accounting, rows);
  if (services.audit != nullptr) AddAuditService(services.audit, rows);
  if (services.statements != nullptr) AddStatementService(services.statements, rows);
  if (services.recompute != nullptr) AddRecomputeService(services.recompute, rows);
  AddAdminService(services.admin, rows);
  rows.push_back(HealthCheckRow(health));
  rows.push_back(HealthWatchRow(health));
  rows.push_back(ReflectionRow(rows));
  return rows;
}

}  // namespace dpledger::server
