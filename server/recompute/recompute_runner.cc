// The threads that compute: server/recompute/recompute_service.h.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/proto_json.h"
#include "google/protobuf/util/time_util.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/recompute/recompute_service.h"
#include "server/summaries/summarise.h"

namespace dpledger::server {
namespace {

// As the desk's background threads (server/desk/worker_pool.cc).
constexpr int kBackgroundNiceness = 10;
// How often a thread without work looks for what others have begun, and after an error.
constexpr absl::Duration kLookAgain = absl::Seconds(1);

// A pair of summaries has to go into one note.
constexpr size_t kMaxMessageBytes = 400;

v1::LedgerSummary ForNote(v1::LedgerSummary summary) {
  if (summary.has_refusal()) {
    v1::Refusal& refusal = *summary.mutable_refusal();
    refusal.set_message(PlainText(refusal.message(), kMaxMessageBytes));
  }
  return summary;
}

uint64_t GroupOf(const v1::AccountingOptions& options) {
  return std::max<uint64_t>(1, options.group_size());
}

// Errors that say something of the server, not of the ledger: it is asked about again.
bool Passes(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         ReasonOf(status).reason == "OUT_OF_MEMORY";
}

}  // namespace

RecomputeService::RecomputeService(LedgerStore* store, AccountingService* accounting,
                                   LedgerFinder* finder, RecomputeOptions options, Clock* clock,
                                   const Log* log)
    : store_(*store),
      accounting_(*accounting),
      finder_(*finder),
      options_(std::move(options)),
      clock_(*clock),
      failed_(log, "recompute_failed", absl::Minutes(1)),
      holder_(NewServerName()) {}

RecomputeService::~RecomputeService() { Stop(); }

void RecomputeService::Start() {
  const size_t threads =
      options_.threads > 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void RecomputeService::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void RecomputeService::Run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNiceness);
  while (!stopping_) {
    absl::StatusOr<std::optional<Task>> task = std::optional<Task>();
    uint64_t begun = 0;
    {
      absl::MutexLock lock(&mutex_);
      begun = begun_;
      task = NextTask();
    }
    absl::Status done = task.status();
    if (task.ok() && task->has_value()) {
      done = Compute(**task);
      absl::MutexLock lock(&mutex_);
      operations_.at((*task)->id)->under_way.erase((*task)->chunk);
    }
    if (!done.ok() && !stopping_) failed_.Write("", "", FromAbsl(done.message()));
    if (done.ok() && task->has_value()) continue;
    absl::MutexLock lock(&mutex_);
    const auto something = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || (done.ok() && begun_ != begun);
    };
    mutex_.AwaitWithTimeout(absl::Condition(&something), kLookAgain);
  }
}

absl::StatusOr<std::optional<RecomputeService::Task>> RecomputeService::NextTask() {
  // Alone with the store, this process has begun every operation since its first look.
  if (scanned_ == absl::InfinitePast() ||
      (options_.shared_store && clock_.Now() >= scanned_ + kLookAgain)) {
    RETURN_IF_ERROR(Scan());
  }
  for (const auto& [id, operation] : operations_) {
    if (operation->log.ended()) continue;
    RETURN_IF_ERROR(Find(id).status());
    if (operation->log.ended()) continue;
    if (operation->log.AllStored()) {
      RETURN_IF_ERROR(End(*operation, v1::Operation::DONE));
      continue;
    }
    for (uint64_t chunk = 0; chunk < operation->log.chunks(); ++chunk) {
      if (operation->log.stored(chunk) || operation->under_way.contains(chunk)) continue;
      Task task;
      task.id = id;
      task.chunk = chunk;
      ASSIGN_OR_RETURN(const bool mine, Claim(*operation, task));
      if (!mine) continue;
      task.request = operation->log.operation().request();
      task.ledgers = operation->log.LedgersOf(chunk);
      task.ended = operation->ended;
      operation->under_way.insert(chunk);
      return std::optional<Task>(std::move(task));
    }
  }
  return std::optional<Task>();
}

absl::StatusOr<bool> RecomputeService::Claim(Operation& operation, Task& task) {
  if (!options_.shared_store) return true;
  const v1::RecomputeNote::Claim* const last = operation.log.ClaimOf(task.chunk, &task.claims);
  if (last != nullptr && absl::FromUnixSeconds(last->until().seconds()) > clock_.Now()) {
    return false;
  }
  return WriteClaim(task);
}

absl::StatusOr<bool> RecomputeService::WriteClaim(Task& task) {
  std::vector<v1::RecomputeNote> notes(1);
  v1::RecomputeNote::Claim& claim = *notes[0].mutable_claim();
  claim.set_chunk(task.chunk);
  claim.set_holder(holder_);
  task.until = clock_.Now() + options_.lease;
  claim.mutable_until()->set_seconds(absl::ToUnixSeconds(task.until));
  const std::string request_id = absl::StrCat("claim-", task.chunk, "-", task.claims);
  ++task.claims;
  return Store(OperationLedger(task.id), request_id, notes);
}

absl::Status RecomputeService::Compute(Task& task) {
  std::vector<v1::RecomputeNote> notes;
  size_t bytes = kMaxNoteBytes;
  for (const std::string& ledger : task.ledgers) {
    if (clock_.Now() > task.until - options_.lease / 2) {
      // Whoever has claimed it meanwhile goes on with it.
      ASSIGN_OR_RETURN(const bool mine, WriteClaim(task));
      if (!mine) return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(std::optional<v1::Recomputed> result, Ask(task, ledger));
    if (!result.has_value()) return absl::OkStatus();
    const size_t more = events::MessageToJson(*result).size() + 1;
    constexpr size_t kAround = 64;  // {"chunk":{"chunk":"…","results":[…]}}
    if (bytes + more > kMaxNoteBytes) {
      notes.emplace_back().mutable_chunk()->set_chunk(task.chunk);
      bytes = kAround;
    }
    bytes += more;
    *notes.back().mutable_chunk()->add_results() = *std::move(result);
  }
  if (task.ended->load()) return absl::OkStatus();
  // Where it is stored already, another server was faster.
  return Store(OperationLedger(task.id), absl::StrCat("chunk-", task.chunk), notes).status();
}

absl::StatusOr<std::optional<v1::Recomputed>> RecomputeService::Ask(const Task& task,
                                                                    const std::string& name) {
  const double delta = DeltaOf(task.request);
  CallContext call;
  call.cancelled = [this, ended = task.ended] { return stopping_ || ended->load(); };
  if (call.cancelled()) return std::optional<v1::Recomputed>();
  v1::Recomputed result;
  ASSIGN_OR_RETURN(std::optional<v1::LedgerSummary> before, Before(name, task.request));
  absl::StatusOr<v1::Ledger> got = store_.Get(name, kNoWriters);
  if (Passes(got.status())) return got.status();
  v1::Ledger ledger;
  ledger.set_name(name);
  if (!got.ok()) {  // a damaged one keeps no others waiting
    *result.mutable_now() = ForNote(SummaryOf(ledger, delta, got.status(), clock_.Now()));
    return std::optional<v1::Recomputed>(std::move(result));
  }
  ledger = *std::move(got);
  v1::ComputeEpsilonRequest question;
  question.mutable_subject()->add_ledgers(name);
  question.set_delta(delta);
  *question.mutable_options() = task.request.options();
  // The same entries, so that the two numbers can be compared.
  if (before.has_value() && before->has_epsilon() && before->size() > 0 &&
      before->size() < ledger.size()) {
    question.mutable_subject()->set_up_to_sequence(before->size());
    ledger.set_size(before->size());
    ledger.set_root_hash(before->root_hash());
  }
  const absl::StatusOr<v1::ComputeEpsilonResponse> answer =
      accounting_.ComputeEpsilon(question, call);
  if (!answer.ok() && call.cancelled()) return std::optional<v1::Recomputed>();
  if (Passes(answer.status())) return answer.status();
  if (before.has_value()) *result.mutable_before() = ForNote(*std::move(before));
  *result.mutable_now() = ForNote(SummaryOf(ledger, delta, answer, clock_.Now()));
  return std::optional<v1::Recomputed>(std::move(result));
}

absl::StatusOr<std::optional<v1::LedgerSummary>> RecomputeService::Before(
    const std::string& ledger, const v1::StartRecomputeRequest& question) {
  const double delta = DeltaOf(question);
  if (options_.said_before) return options_.said_before(ledger, delta);
  std::vector<const OperationLog*> ended;
  {
    absl::MutexLock lock(&mutex_);
    if (scanned_ == absl::InfinitePast()) RETURN_IF_ERROR(Scan());
    // An operation that has ended changes no more, and stays here.
    for (const auto& [id, operation] : operations_) {
      if (operation->log.ended()) ended.push_back(&operation->log);
    }
  }
  absl::MutexLock lock(&earlier_mutex_);
  for (const OperationLog* log : ended) {
    if (earlier_read_.contains(log->ledger())) continue;
    uint64_t next = 0;
    ASSIGN_OR_RETURN(const std::vector<v1::Recomputed> results,
                     log->Results(store_, 0, static_cast<size_t>(-1), &next));
    const v1::AccountingOptions& asked = log->operation().request().options();
    for (const v1::Recomputed& result : results) {
      v1::LedgerSummary& known = earlier_[{result.now().delta(), asked.adjacency(), GroupOf(asked),
                                           result.now().ledger()}];
      if (known.compute_time() <= result.now().compute_time()) known = result.now();
    }
    earlier_read_.insert(log->ledger());
  }
  // What was said last: by an earlier operation, or in lists.
  const v1::AccountingOptions& options = question.options();
  const auto found = earlier_.find({delta, options.adjacency(), GroupOf(options), ledger});
  std::optional<v1::LedgerSummary> last;
  if (found != earlier_.end()) last = found->second;
  // Lists speak of one record, in the ledger's own adjacency.
  if (options.adjacency() != v1::ADJACENCY_UNSPECIFIED || GroupOf(options) > 1) return last;
  const std::shared_ptr<const v1::LedgerSummary> listed = finder_.SummaryOf(ledger);
  if (listed != nullptr && listed->delta() == delta &&
      (!last.has_value() || listed->compute_time() > last->compute_time())) {
    last = *listed;
  }
  return last;
}

}  // namespace dpledger::server
