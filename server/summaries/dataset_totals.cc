#include "server/summaries/dataset_totals.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "base/out_of_memory.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "server/summaries/summarise.h"

namespace dpledger::server {
namespace {

constexpr int kNiceness = 10;  // as the threads that answer questions have it
constexpr size_t kMostTasks = 1024;

std::string DigestOf(const std::vector<uint64_t>& numbers) {
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(uint64_t));
  return merkle::ToBytes(merkle::Sha256({bytes}));
}

}  // namespace

void DatasetTotals::Stop() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

DatasetTotals::Total& DatasetTotals::TotalOf(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front();
  }
  if (recent_.size() == kMostTotals) {
    by_key_.erase(recent_.back().key);
    recent_.pop_back();
  }
  recent_.push_front({.key = key});
  by_key_[key] = recent_.begin();
  return recent_.front();
}

void DatasetTotals::Fill(const std::vector<LedgerRows>& sets, absl::Time deadline,
                         std::vector<v1::DatasetSummary>& into) {
  struct Wanted {
    size_t set;
    std::string key;
    std::string state;
  };
  std::vector<Wanted> wanted;
  absl::MutexLock lock(&mutex_);
  for (size_t set = 0; set < sets.size(); ++set) {
    into[set].set_delta(delta_);
    if (sets[set].size() == 1) {  // its own is it
      const auto& summary = sets[set][0]->summary;
      if (summary == nullptr) {
        into[set].mutable_refusal()->set_reason(kUnderWay);
      } else if (summary->has_epsilon()) {
        *into[set].mutable_epsilon() = summary->epsilon();
        const bool adaptive = sets[set][0]->declaration().parameters() == v1::ADAPTIVE;
        into[set].set_regime(adaptive ? v1::FILTER : v1::FIXED_PLAN);
      } else {
        *into[set].mutable_refusal() = summary->refusal();
      }
      continue;
    }
    // Numbers, which are much shorter than names and roots: a ledger of one size is the same here.
    std::vector<uint64_t> numbers, sizes;
    for (const auto& row : sets[set]) {
      numbers.push_back(row->number);
      sizes.push_back(row->size());
    }
    Wanted& one = wanted.emplace_back(Wanted{set, DigestOf(numbers), DigestOf(sizes)});
    Total& total = TotalOf(one.key);
    if (total.state == one.state || total.wanted == one.state || tasks_.size() >= kMostTasks) {
      continue;
    }
    total.wanted = one.state;
    tasks_.push_back({one.key, one.state, {}});
    for (const auto& row : sets[set]) tasks_.back().ledgers.push_back(row->name());
  }
  if (!tasks_.empty() && !thread_.joinable() && !stopping_) {
    thread_ = std::thread([this] { Run(); });
  }
  const auto known = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_) return true;
    for (const Wanted& one : wanted) {
      const auto found = by_key_.find(one.key);
      if (found != by_key_.end() && found->second->wanted == one.state) return false;
    }
    return true;
  };
  size_t queued = 0;
  for (const Task& task : tasks_) queued += task.ledgers.size();
  if (queued < kMostAwaited && absl::Now() < deadline) {
    mutex_.AwaitWithDeadline(absl::Condition(&known), deadline);
  }
  for (const Wanted& one : wanted) {
    const auto found = by_key_.find(one.key);
    if (found == by_key_.end() || found->second->state.empty()) {
      into[one.set].mutable_refusal()->set_reason(kUnderWay);
      into[one.set].mutable_refusal()->set_message("it is being computed; ask again");
    } else {
      into[one.set].MergeFrom(found->second->summary);
    }
  }
}

void DatasetTotals::Run() {
  ::pthread_setname_np(::pthread_self(), "totals");  // as top and perf show it
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  const auto cancelled = [this] {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  };
  while (true) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !tasks_.empty();
      };
      mutex_.Await(absl::Condition(&ready));
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    absl::StatusOr<v1::ComputeEpsilonResponse> answer = OutOfMemory();
    try {
      answer = ask_(task.ledgers, delta_, cancelled);
    } catch (const std::bad_alloc&) {
      // It is the answer already.
    }
    absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(task.key);
    if (found == by_key_.end()) continue;
    Total& total = *found->second;
    if (total.wanted == task.state) total.wanted.clear();
    std::optional<v1::Refusal> refusal = answer.ok() ? std::nullopt : RefusalOf(answer.status());
    if (!answer.ok() && !refusal.has_value()) continue;  // whoever asks again tries again
    total.state = task.state;
    total.summary.Clear();
    if (answer.ok()) {
      *total.summary.mutable_epsilon() = answer->epsilon();
      total.summary.set_regime(answer->details().regime());
    } else {
      *total.summary.mutable_refusal() = *std::move(refusal);
    }
  }
}

}  // namespace dpledger::server
