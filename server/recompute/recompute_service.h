// The RecomputeService, without a transport: proto/dpledger/v1/recompute_service.proto says what
// each call means. It also runs the operations, on threads of its own that yield to others.
//
//  1. All that is known of an operation is in its ledger (server/recompute/operation_log.h): a
//     server that starts goes on where the ledger ends, whoever wrote it.
//  2. A chunk of ledgers is one batch with one request id, so it is stored once, whichever server
//     computes it. Servers that share a store claim chunks before they compute them, for as long as
//     kLease; the claim of a server that dies expires.
//  3. An operation ends once: DONE and CANCELLED have one request id.
// Thread safe. Calls may wait for the disk; none computes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rare_log.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "dpledger/v1/statement_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/questions/accounting_service.h"
#include "server/recompute/operation_log.h"
#include "server/summaries/ledger_finder.h"

namespace dpledger::server {

// What was said of a ledger at a δ before an operation; nullopt: nothing. May wait for the disk.
using SaidBefore = std::function<absl::StatusOr<std::optional<v1::LedgerSummary>>(
    const std::string& ledger, double delta)>;

struct RecomputeOptions {
  size_t threads = 0;  // 0: one for each processor
  // Other processes may have the same store open: chunks are claimed.
  bool shared_store = false;
  absl::Duration lease = absl::Seconds(30);
  // Null: what was said last, in lists or by an operation.
  SaidBefore said_before;
  // Statements about a ledger that were issued. Null: none are.
  std::function<absl::StatusOr<v1::ListStatementsResponse>(const v1::ListStatementsRequest&,
                                                           const CallContext&)>
      statements;
};

class RecomputeService {
 public:
  // All must outlive the service.
  RecomputeService(LedgerStore* store, AccountingService* accounting, LedgerFinder* finder,
                   RecomputeOptions options, Clock* clock, const Log* log);
  ~RecomputeService();  // as Stop
  RecomputeService(const RecomputeService&) = delete;
  RecomputeService& operator=(const RecomputeService&) = delete;

  // Once: goes on with the operations that have not ended.
  void Start();
  // Gives up what is under way; what was stored stays. The store must still be there.
  void Stop();

  absl::StatusOr<v1::Operation> StartRecompute(const v1::StartRecomputeRequest& request,
                                               const CallContext& call);
  absl::StatusOr<v1::Operation> GetOperation(const v1::GetOperationRequest& request);
  absl::StatusOr<v1::ListOperationsResponse> ListOperations(
      const v1::ListOperationsRequest& request);
  absl::StatusOr<v1::Operation> CancelOperation(const v1::CancelOperationRequest& request);
  absl::StatusOr<v1::ListRecomputedResponse> ListRecomputed(
      const v1::ListRecomputedRequest& request);
  absl::StatusOr<v1::ListAnswersResponse> ListAnswers(const v1::ListAnswersRequest& request,
                                                      const CallContext& call);

 private:
  struct Operation {
    explicit Operation(std::string id) : log(std::move(id)) {}
    OperationLog log;
    std::set<uint64_t> under_way;  // chunks, in this process
    // A thread of this process looks at it until it is set.
    std::shared_ptr<std::atomic<bool>> ended = std::make_shared<std::atomic<bool>>(false);
  };
  // What a thread has to do.
  struct Task {
    std::string id;
    uint64_t chunk = 0;
    uint64_t claims = 0;  // of the chunk, this one included
    absl::Time until = absl::InfiniteFuture();
    v1::StartRecomputeRequest request;
    std::vector<std::string> ledgers;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  absl::Status CheckStart(const v1::StartRecomputeRequest& request, const CallContext& call);
  absl::StatusOr<std::vector<std::string>> Choose(const v1::StartRecomputeRequest& request);
  // The operation with this id, as its ledger is now. NOT_FOUND.
  absl::StatusOr<Operation*> Find(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Operation*> FindNamed(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Learns of operations that others have begun.
  absl::Status Scan() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status End(Operation& operation, v1::Operation::State state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stores notes once. False: others are stored under this id.
  absl::StatusOr<bool> Store(const std::string& ledger, const std::string& request_id,
                             const std::vector<v1::RecomputeNote>& notes);

  void Run();
  absl::StatusOr<std::optional<Task>> NextTask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether this process computes the chunk; true without a claim where it has the store to itself.
  absl::StatusOr<bool> Claim(Operation& operation, Task& task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> WriteClaim(Task& task);
  absl::Status Compute(Task& task);
  // nullopt: the question was given up.
  absl::StatusOr<std::optional<v1::Recomputed>> Ask(const Task& task, const std::string& ledger);
  // What was said last of the ledger in answer to the same question.
  absl::StatusOr<std::optional<v1::LedgerSummary>> Before(
      const std::string& ledger, const v1::StartRecomputeRequest& question);
  // Adds what operations, and what issued statements said of the ledger.
  absl::Status AddOperations(const v1::Ledger& ledger, const CallContext& call,
                             std::vector<v1::SaidAnswer>& said);
  absl::Status AddStatements(const v1::Ledger& ledger, const CallContext& call,
                             std::vector<v1::SaidAnswer>& said);
  double DeltaOf(const v1::StartRecomputeRequest& request) const;

  LedgerStore& store_;
  AccountingService& accounting_;
  LedgerFinder& finder_;
  const RecomputeOptions options_;
  Clock& clock_;
  RareLog failed_;
  const std::string holder_;
  std::atomic<bool> stopping_ = false;

  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Operation>> operations_ ABSL_GUARDED_BY(mutex_);  // by id
  absl::Time scanned_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;  // changes when there may be something new to do
  // Results of earlier operations, by δ, adjacency, group size and ledger; of operations up to the
  // one named.
  absl::Mutex earlier_mutex_;
  std::map<std::tuple<double, v1::Adjacency, uint64_t, std::string>, v1::LedgerSummary> earlier_
      ABSL_GUARDED_BY(earlier_mutex_);
  std::set<std::string> earlier_read_ ABSL_GUARDED_BY(earlier_mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace dpledger::server
