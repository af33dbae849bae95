#include "server/summaries/ledger_tail.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

// Other servers' ledgers are looked for this often, as long as that takes a twentieth of the time.
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
constexpr int kRest = 20;
// At the latest; and listeners are told so often if nothing has changed, for their heartbeats.
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// An append storm is followed in steps of this length.
constexpr absl::Duration kGather = absl::Milliseconds(50);
constexpr size_t kPage = 1000;

}  // namespace

void LedgerTail::Start(Loaded loaded, Changed changed) {
  loaded_ = std::move(loaded);
  changed_ = std::move(changed);
  thread_ = std::thread([this] { Run(); });
}

void LedgerTail::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void LedgerTail::OnGroup(const CommittedGroup&) {
  last_group_ms_ = absl::ToUnixMillis(absl::Now());
  // A group that comes while the last one has not been looked at costs no lock.
  if (dirty_.exchange(true)) return;
  absl::MutexLock lock(&mutex_);
  nudged_ = true;
}

absl::Status LedgerTail::Refresh(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const uint64_t mine = ++asked_;
  const auto done = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || polled_ >= mine;
  };
  if (!mutex_.AwaitWithDeadline(absl::Condition(&done), deadline)) {
    return absl::DeadlineExceededError("the ledgers are still being read");
  }
  if (polled_ < mine) return absl::UnavailableError("the server is shutting down");
  return last_;
}

absl::Status LedgerTail::Load() {
  ASSIGN_OR_RETURN(since_, store_.ChangesEnd());
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(LedgerHeads page, store_.Heads("projects/", after, kPage));
    if (page.empty()) return absl::OkStatus();
    after = page.back()->name;
    for (auto& head : page) index_.PutLedger(std::move(head));
  }
}

absl::Status LedgerTail::Poll() {
  if (!is_loaded_) {
    RETURN_IF_ERROR(Load());
    RETURN_IF_ERROR(loaded_());
    is_loaded_ = true;
  }
  const KnownSizes known = [this](const std::string& name) -> uint64_t {
    const auto row = index_.Find(name);
    return row == nullptr ? 0 : row->size();
  };
  std::vector<DamagedLedger> damaged;
  while (true) {
    ASSIGN_OR_RETURN(ChangedLedgers changed, store_.Changed(since_, kPage, known));
    damaged.insert(damaged.end(), changed.damaged.begin(), changed.damaged.end());
    std::vector<std::string> names;
    for (auto& head : changed.heads) {
      std::string name = head->name;
      if (index_.PutLedger(std::move(head))) names.push_back(std::move(name));
    }
    since_ = changed.next;
    if (!names.empty()) changed_(names);
    if (!changed.more) break;
  }
  TakeDamaged(damaged);
  return absl::OkStatus();
}

void LedgerTail::TakeDamaged(const std::vector<DamagedLedger>& found) {
  std::erase_if(damaged_, [&](const auto& before) {
    absl::StatusOr<std::shared_ptr<const LedgerHead>> head = store_.Head(before.first);
    if (!head.ok()) return false;
    if (index_.PutLedger(*std::move(head))) changed_({before.first});
    return true;
  });
  for (const DamagedLedger& ledger : found) {
    if (!damaged_.insert_or_assign(ledger.name, ledger.status).second || log_ == nullptr) continue;
    log_->Write(LogLevel::kError, "ledger_damaged",
                {{"ledger", ledger.name}, {"message", std::string(ledger.status.message())}});
  }
  std::vector<DamagedLedger> now;
  for (const auto& [name, status] : damaged_) now.push_back({name, status});
  index_.SetDamaged(std::move(now));
}

void LedgerTail::Run() {
  ::pthread_setname_np(::pthread_self(), "tail");  // as top and perf show it
  absl::Time told = absl::InfinitePast();
  uint64_t told_changes = 0;
  while (true) {
    const absl::Time begin = absl::Now();
    uint64_t asked = 0;
    {
      absl::MutexLock lock(&mutex_);
      asked = asked_;
      nudged_ = false;
    }
    dirty_ = false;  // what is made durable from here on nudges again
    absl::Status polled = OutOfMemory();
    try {
      polled = Poll();
      // Without it no watch says that nothing has changed: nobody knows.
      if (polled.ok() && (index_.changes() != told_changes || begin - told >= kLongestPause)) {
        told = begin;
        told_changes = index_.changes();
        index_.Tell();
      }
    } catch (const std::bad_alloc&) {
      // The next poll brings it.
    }
    if (!polled.ok() && !complained_ && log_ != nullptr) {
      log_->Write(LogLevel::kWarning, "ledgers_not_followed",
                  {{"code", absl::StatusCodeToString(polled.code())},
                   {"message", std::string(polled.message())}});
    }
    complained_ = !polled.ok();
    const absl::Duration pause =
        polled.ok() ? std::clamp(kRest * (absl::Now() - begin), kLookEvery, kLongestPause)
                    : kLongestPause;
    absl::MutexLock lock(&mutex_);
    polled_ = asked;
    last_ = std::move(polled);
    const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || nudged_ || asked_ > polled_;
    };
    const auto at_once = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || asked_ > polled_;
    };
    // What another server made durable has waited for the pause already.
    if (mutex_.AwaitWithTimeout(absl::Condition(&wanted), pause))
      mutex_.AwaitWithTimeout(absl::Condition(&at_once), kGather);
    if (stopping_) return;
  }
}

}  // namespace dpledger::server
