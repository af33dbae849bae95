// Keeps a fork from happening while a thread is inside protobuf's locks. What protobuf makes at the
// first use of a message, and what it looks up for JSON, it does under locks of the whole process:
// in the child of a fork in between they would be taken for ever.
//
// Threads that parse or print hold the gate, many at once and for microseconds; none holds it while
// it computes. A fork waits for them. Thread safe.
#pragma once

#include <shared_mutex>

namespace dpledger::accounting {

// For as long as it lives, no fork happens. The first of a process makes what protobuf would make
// later, outside the gate.
class ForkGate {
 public:
  ForkGate();

 private:
  std::shared_lock<std::shared_mutex> held_;
};

}  // namespace dpledger::accounting
