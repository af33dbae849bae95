// The run-length form of a stream of events: rounds grouped and equal ones counted. Derived from
// the events, and kept nowhere instead of them; adding an event is O(log of the distinct rounds).
//
// Invariants:
//  1. Nothing that was added is lost: the sum of counts is the number of rounds plus mechanisms
//  added.
//  2. A round is (writer, round number). It stays open, and counts as it stands, until its writer
//  goes on.
// Not thread safe; copies are independent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "accountant/mechanism/event.h"

namespace dpledger::accountant {

class History {
 public:
  // Events of one writer come in the order they were written; writers may interleave.
  // Precondition: a writer's round numbers do not decrease (the store refuses others).
  void Add(const std::string& writer, const Event& event);
  // The writer's open round is over, whatever number comes next.
  void End(const std::string& writer);

  struct CountedRound {
    Round round;
    uint64_t count;
    // Of epoch schemes only: whose epochs these are. Epochs of one number of two of them are two.
    std::string writer;
  };
  // Every distinct round with its count, open rounds included. Rounds without a sum query released
  // nothing and are left out.
  std::vector<CountedRound> Rounds() const;
  // Mechanisms in order of arrival, equal neighbours not merged.
  const std::vector<Mechanism>& Mechanisms() const { return mechanisms_; }

  // A round that its writer may still add to.
  struct OpenRound {
    uint64_t number = 0;
    Round round;
  };
  // What the history is made of, for who keeps it: FromParts makes the same history of it, which
  // goes on as this one would. Precondition: nothing was merged into it.
  struct Parts {
    std::vector<CountedRound> closed;
    std::map<std::string, OpenRound> open;  // by writer
    std::vector<Mechanism> mechanisms;
  };
  Parts ToParts() const;
  static History FromParts(Parts parts);

  // Rounds that released something, over all writers and schemes. Saturates at 2^64 - 1.
  uint64_t RoundCount() const;
  // Adds everything of `other`, its open rounds closed.
  void Merge(const History& other);

 private:
  void Close(const std::string& writer, const Round& round, uint64_t count);

  std::map<std::string, OpenRound> open_;       // by writer
  std::map<std::string, CountedRound> closed_;  // by canonical key
  std::vector<Mechanism> mechanisms_;
  uint64_t merged_ = 0;  // histories merged so far
};

}  // namespace dpledger::accountant
