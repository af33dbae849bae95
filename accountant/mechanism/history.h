// A stream of events in run-length form: events grouped into rounds, equal rounds counted. It is
// derived from the events and never stored in place of them. Adding an event takes O(log n) for n
// distinct rounds.
//
// Invariants:
//  1. No event is lost: the counts sum to the number of rounds and mechanisms added.
//  2. A round is (writer, round number). It stays open, and counts as it stands, until its writer
//     goes on to another round.
// Not thread safe; copies are independent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "accountant/event/event.h"

namespace dpledger::accountant {

class History {
 public:
  // Events of one writer come in the order they were written; writers may interleave.
  // Precondition: a writer's round numbers do not decrease (the store refuses others).
  void Add(const std::string& writer, const Event& event);
  // Closes the writer's open round, whatever number comes next.
  void End(const std::string& writer);

  struct CountedRound {
    Round round;
    uint64_t count;
    // Epoch schemes only: whose epochs these are, a writer or "writer#" with what tells its
    // incarnations apart, and grouped rounds from sampled ones. Epochs with one number by two of
    // them are two epochs.
    std::string writer;
  };
  // The writer of such a name: its fixed bins are one draw over all its incarnations, and over
  // ledgers of one family.
  static std::string_view WriterOf(std::string_view owner) {
    return owner.substr(0, owner.find('#'));
  }
  // Every distinct round with its count, open rounds included. Rounds without a sum query are left
  // out: they released nothing.
  std::vector<CountedRound> Rounds() const;
  // Mechanisms in order of arrival; equal ones are not merged.
  const std::vector<Mechanism>& Mechanisms() const { return mechanisms_; }

  // A round that its writer may still add to.
  struct OpenRound {
    uint64_t number = 0;
    Round round;
  };
  // The history's contents, for storing it. FromParts makes an equal history, to which events can
  // be added. Precondition: no Merge into this history.
  struct Parts {
    std::vector<CountedRound> closed;
    std::map<std::string, OpenRound> open;  // by writer
    std::vector<Mechanism> mechanisms;
  };
  Parts ToParts() const;
  static History FromParts(Parts parts);

  // Whether no event was added.
  bool Empty() const { return open_.empty() && closed_.empty() && mechanisms_.empty(); }
  // Rounds that released something, over all writers and schemes. Saturates at 2^64 - 1.
  uint64_t RoundCount() const;
  // The greatest number of records that a round's scheme states; 0: none does.
  uint64_t GreatestPopulation() const;
  // Adds everything in `other`; counts its open rounds as closed. Its writers are others than all
  // so far; of one `family` (not empty), those of one name are one writer, as a fork goes on with
  // what its parent drew.
  void Merge(const History& other, const std::string& family = "");

 private:
  void Close(const std::string& writer, const Round& round, uint64_t count);

  std::map<std::string, OpenRound> open_;       // by writer
  std::map<std::string, CountedRound> closed_;  // by canonical key
  std::vector<Mechanism> mechanisms_;
  uint64_t merged_ = 0;  // histories merged so far
};

}  // namespace dpledger::accountant
