// So many at once of each party; the others wait for their turn. Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace dpledger::server {

class Turns {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Has a place from now on, until Leave.
    virtual void OnTurn() = 0;
  };

  explicit Turns(size_t limit) : limit_(limit) {}

  // `waiter` has its turn before this returns, or later in another's Leave. It must be there until
  // then, or until GiveUp.
  void Wait(const std::string& party, Waiter* waiter);
  // Whether it was still waiting; it has no turn any more then.
  bool GiveUp(const std::string& party, Waiter* waiter);
  void Leave(const std::string& party);

 private:
  struct Party {
    size_t places = 0;
    std::deque<Waiter*> waiting;
  };

  const size_t limit_;
  absl::Mutex mutex_;
  std::unordered_map<std::string, Party> parties_ ABSL_GUARDED_BY(mutex_);  // that have a place
};

}  // namespace dpledger::server
