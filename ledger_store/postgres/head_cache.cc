#include "ledger_store/postgres/head_cache.h"

#include <new>
#include <utility>

namespace dpledger::postgres {
namespace {

// What a ledger counts for: a head without writers takes as much room as some.
size_t Weight(const LedgerHead& head) { return head.writers.size() + 4; }

}  // namespace

std::shared_ptr<const LedgerHead> HeadCache::Find(const std::string& ledger) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_name_.find(ledger);
  if (found == by_name_.end()) return nullptr;
  used_.splice(used_.begin(), used_, found->second);
  return *found->second;
}

void HeadCache::Put(std::shared_ptr<const LedgerHead> head) {
  absl::MutexLock lock(&mutex_);
  try {
    Heads newest = {std::move(head)};
    const LedgerHead& put = *newest.front();
    const auto [place, is_new] = by_name_.try_emplace(put.name, newest.begin());
    if (!is_new) {
      writers_ -= Weight(**place->second);
      used_.erase(std::exchange(place->second, newest.begin()));
    }
    writers_ += Weight(put);
    used_.splice(used_.begin(), newest);
  } catch (const std::bad_alloc&) {
    return;
  }
  while (writers_ > most_writers_ && used_.size() > 1) {
    writers_ -= Weight(*used_.back());
    by_name_.erase(used_.back()->name);
    used_.pop_back();
  }
}

}  // namespace dpledger::postgres
