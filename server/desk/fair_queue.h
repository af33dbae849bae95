// Work of several parties that take turns: the next task is that of the party that has taken the
// least time of a worker, so that one with many long tasks holds up nobody with a short one.
//
// Start-time fair queueing (Goyal, Vin and Cheng 1996, section 2) with the time that a task took in
// the place of its length, which nobody knows before: a party's tasks are charged when they end.
//  1. A party that comes, or comes back, starts from where the one in turn stands: it has saved
//     nothing up, and owes what it owed.
//  2. So with one worker, a party with short tasks waits for the task that runs and, of those who
//     came with nothing owed, one task each; never for a second one of the same party.
//
// Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "absl/time/time.h"

namespace dpledger::server {

class FairQueue {
 public:
  struct Task {
    std::string party;
    std::function<void()> run;
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }  // of those that wait
  // Parties that it knows: those with tasks, and those who still owe.
  size_t parties() const { return parties_.size(); }

  void Push(Task task);
  // Precondition: !empty(). Done follows for each.
  Task Pop();
  void Done(const std::string& party, absl::Duration took);

 private:
  struct Waiting {
    uint64_t arrival;
    std::function<void()> run;
  };
  struct Party {
    absl::Duration used;  // on the scale of now_
    std::deque<Waiting> waiting;
    size_t running = 0;
  };

  void Forget();

  std::unordered_map<std::string, Party> parties_;
  size_t size_ = 0;
  size_t running_ = 0;
  uint64_t arrivals_ = 0;
  absl::Duration now_;  // what the party last in turn had used when its turn came
};

}  // namespace dpledger::server
