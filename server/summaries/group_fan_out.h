// Forwards each committed group of a store to all observers.
#pragma once

#include <utility>
#include <vector>

#include "ledger_store/store.h"

namespace dpledger::server {

// Thread safe, once all observers are added.
class GroupFanOut : public StoreObserver {
 public:
  // Before the store is observed. They must outlive the store.
  void Tell(std::vector<StoreObserver*> observers) { observers_ = std::move(observers); }
  void OnGroup(const CommittedGroup& group) override {
    for (StoreObserver* const observer : observers_) observer->OnGroup(group);
  }

 private:
  std::vector<StoreObserver*> observers_;
};

}  // namespace dpledger::server
