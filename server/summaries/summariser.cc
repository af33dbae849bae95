#include "server/summaries/summariser.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/summaries/stored_summary.h"

namespace dpledger::server {
namespace {

// As the threads that answer questions have it (desk/worker_pool.cc).
constexpr int kNiceness = 10;
// A ledger that goes on is asked about after so long.
constexpr absl::Duration kSettle = absl::Milliseconds(300);
// While somebody appends, the thread rests so many times as long as it has computed: 3 % of a
// processor.
constexpr int kRests = 32;
constexpr absl::Duration kLongestRest = absl::Seconds(10);
// So long after a group, somebody appends.
constexpr absl::Duration kAppending = absl::Seconds(1);
// Rows are stored together, but not kept waiting for each other.
constexpr size_t kGroup = 256;
constexpr absl::Duration kGroupTime = absl::Milliseconds(500);
// After an error that may pass.
constexpr absl::Duration kTryAgain = absl::Seconds(5);

// Of this thread.
absl::Duration ProcessorTime() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

Summariser::Summariser(double delta, bool on, LedgerStore* store, LedgerIndex* index,
                       AskEpsilon ask, std::function<absl::Time()> last_group,
                       std::shared_ptr<const merkle::Authenticator> key, const Log* log)
    : delta_(delta),
      on_(on),
      store_(*store),
      index_(*index),
      ask_(std::move(ask)),
      last_group_(std::move(last_group)),
      key_(std::move(key)),
      log_(log) {}

void Summariser::Start() {
  if (on_) thread_ = std::thread([this] { Run(); });
}

void Summariser::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool Summariser::stopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Summariser::TakeRow(const SummaryRow& row) {
  absl::StatusOr<v1::LedgerSummary> summary = FromRow(*key_, row);
  const std::shared_ptr<const LedgerRow> known = index_.Find(row.ledger);
  if (known == nullptr) return;
  // A row that another server wrote for entries that are not known here yet is no forgery.
  if (summary.ok() && summary->size() > known->size()) return;
  if (summary.ok() && Fits(*summary, *known->head)) {
    if (known->summary != nullptr && known->summary->size() >= summary->size()) return;
    index_.PutSummary(std::make_shared<const v1::LedgerSummary>(*std::move(summary)));
    return;
  }
  if (dropped_++ == 0) first_dropped_ = row.ledger;
}

void Summariser::LogDropped() {
  if (dropped_ > 0 && log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "summaries_dropped",
                {{"count", static_cast<int64_t>(dropped_)}, {"ledger", first_dropped_}});
  }
  dropped_ = 0;
}

absl::Status Summariser::Load() {
  if (key_ != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<SummaryRow> rows, store_.ReadSummaries({}));
    absl::MutexLock lock(&taking_);
    for (const SummaryRow& row : rows) TakeRow(row);
    LogDropped();
  }
  for (const auto& row : index_.Of("projects/-")) {
    if (IsCurrent(row->summary.get(), *row->head, delta())) continue;
    Note(row->name(), absl::InfinitePast());
    if (!on_ || row->declaration().budget().empty()) continue;
    absl::MutexLock lock(&mutex_);
    urgent_.push_back(row->name());  // what came late before the start
  }
  return absl::OkStatus();
}

void Summariser::OnChanged(const std::vector<std::string>& ledgers) {
  const absl::Time due = absl::Now() + kSettle;
  for (const std::string& ledger : ledgers) {
    Note(ledger, due);
    if (!on_ || !IsUrgent(ledger)) continue;
    Note(ledger, absl::InfinitePast());  // wakes the thread
    absl::MutexLock lock(&mutex_);
    urgent_.push_back(ledger);
  }
}

bool Summariser::IsUrgent(const std::string& ledger) const {
  const std::shared_ptr<const LedgerRow> row = index_.Find(ledger);
  return row != nullptr && row->has_uncounted_late && !row->declaration().budget().empty();
}

std::vector<std::string> Summariser::TakeUrgent() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(urgent_, {});
}

void Summariser::OnAnswer(const v1::ComputeEpsilonRequest& request,
                          const v1::ComputeEpsilonResponse& response) {
  if (!IsSummaryQuestion(request, delta())) return;
  const std::string& ledger = request.subject().ledgers(0);
  const std::shared_ptr<const LedgerRow> row = index_.Find(ledger);
  if (row == nullptr || IsCurrent(row->summary.get(), *row->head, delta())) return;
  Note(ledger, absl::Now(), std::make_shared<const v1::ComputeEpsilonResponse>(response));
}

void Summariser::Note(const std::string& ledger, absl::Time due,
                      std::shared_ptr<const v1::ComputeEpsilonResponse> answer) {
  if (!on_ || IsOfServer(ledger)) return;
  absl::MutexLock lock(&mutex_);
  const auto [place, is_new] = waiting_.try_emplace(ledger, Waiting{due, nullptr});
  if (!is_new && due < place->second.due) {
    by_due_.erase({place->second.due, ledger});
    place->second.due = due;
  }
  if (answer != nullptr) place->second.answer = std::move(answer);
  by_due_.insert({place->second.due, ledger});
}

std::vector<Summariser::Due> Summariser::TakeDue() {
  std::vector<Due> taken;
  absl::MutexLock lock(&mutex_);
  while (!stopping_ && taken.empty()) {
    const absl::Time next = by_due_.empty() ? absl::InfiniteFuture() : by_due_.begin()->first;
    const auto earlier = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || (!by_due_.empty() && by_due_.begin()->first < next);
    };
    if (next > absl::Now()) mutex_.AwaitWithDeadline(absl::Condition(&earlier), next);
    const absl::Time now = absl::Now();
    while (!stopping_ && taken.size() < kGroup && !by_due_.empty() &&
           by_due_.begin()->first <= now) {
      const std::string ledger = by_due_.begin()->second;
      by_due_.erase(by_due_.begin());
      auto waiting = waiting_.extract(ledger);
      taken.emplace_back(ledger, std::move(waiting.mapped().answer));
    }
  }
  return taken;
}

void Summariser::TakeStored(const std::vector<Due>& due) {
  if (key_ == nullptr) return;
  std::vector<std::string> names;
  for (const Due& one : due) names.push_back(one.first);
  const auto rows = store_.ReadSummaries(names);
  if (!rows.ok()) return;
  absl::MutexLock lock(&taking_);
  for (const SummaryRow& row : *rows) TakeRow(row);
  LogDropped();
}

void Summariser::Compute(const Due& due, std::vector<SummaryRow>& rows) {
  const std::shared_ptr<const LedgerRow> row = index_.Find(due.first);
  if (row == nullptr || IsCurrent(row->summary.get(), *row->head, delta())) return;
  absl::StatusOr<v1::LedgerSummary> summary = absl::NotFoundError("not made yet");
  if (due.second != nullptr) {
    summary =
        Summarise(store_, row->Described(), delta(), *due.second, row->summary.get(), absl::Now());
  }
  if (!summary.ok() || !IsCurrent(&*summary, *row->head, delta())) {
    summary = Summarise(store_, row->Described(), delta(),
                        ask_(SummaryQuestion(due.first, delta())), row->summary.get(), absl::Now());
  }
  if (!summary.ok()) {
    Note(due.first, absl::Now() + kTryAgain);
    return;
  }
  if (key_ != nullptr) rows.push_back(ToRow(*key_, *summary));
  index_.PutSummary(std::make_shared<const v1::LedgerSummary>(*std::move(summary)));
}

void Summariser::Yield(absl::Duration used) {
  if (absl::Now() - last_group_() > kAppending) return;
  absl::MutexLock lock(&mutex_);
  const auto needed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !urgent_.empty();
  };
  mutex_.AwaitWithTimeout(absl::Condition(&needed), std::min(used * kRests, kLongestRest));
}

void Summariser::Run() {
  ::pthread_setname_np(::pthread_self(), "summaries");  // as top and perf show it
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  absl::Duration before = ProcessorTime();
  while (true) {
    try {
      const std::vector<Due> due = TakeDue();
      if (due.empty()) return;
      TakeStored(due);
      std::vector<SummaryRow> rows;
      absl::Time stored = absl::Now();
      const auto store = [&] {
        if (!rows.empty()) {
          const absl::Status put = store_.PutSummaries(rows);
          if (!put.ok() && !complained_ && log_ != nullptr) {
            log_->Write(LogLevel::kWarning, "summaries_not_stored",
                        {{"code", absl::StatusCodeToString(put.code())},
                         {"message", std::string(put.message())}});
          }
          complained_ = !put.ok();
          rows.clear();
          index_.Tell();
        }
        stored = absl::Now();
      };
      for (const Due& one : due) {
        if (stopping()) break;
        for (const std::string& ledger : TakeUrgent()) Compute({ledger, nullptr}, rows);
        Compute(one, rows);
        if (absl::Now() - stored > kGroupTime) store();
        const absl::Duration now = ProcessorTime();
        Yield(now - before);
        before = ProcessorTime();
      }
      store();
    } catch (const std::bad_alloc&) {
      // What was taken is asked about when it changes again, or at the next start.
    }
  }
}

}  // namespace dpledger::server
