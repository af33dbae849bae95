#include "server/desk/turns.h"

#include <algorithm>

namespace dpledger::server {

void Turns::Wait(const std::string& party, Waiter* waiter) {
  {
    absl::MutexLock lock(&mutex_);
    Party& found = parties_[party];
    if (found.places == limit_) {
      found.waiting.push_back(waiter);
      return;
    }
    ++found.places;
  }
  waiter->OnTurn();
}

bool Turns::GiveUp(const std::string& party, Waiter* waiter) {
  absl::MutexLock lock(&mutex_);
  const auto found = parties_.find(party);
  if (found == parties_.end()) return false;
  std::deque<Waiter*>& waiting = found->second.waiting;
  const auto place = std::find(waiting.begin(), waiting.end(), waiter);
  if (place == waiting.end()) return false;
  waiting.erase(place);
  return true;
}

void Turns::Leave(const std::string& party) {
  Waiter* next = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = parties_.find(party);
    if (found->second.waiting.empty()) {
      if (--found->second.places == 0) parties_.erase(found);
      return;
    }
    next = found->second.waiting.front();
    found->second.waiting.pop_front();
  }
  next->OnTurn();
}

}  // namespace dpledger::server
