// What parts of the outcomes of an epoch of random allocation with several contributions show: a
// lower pair that takes some ten milliseconds to make (allocation/several.h). It is made when it is
// first asked for, once for all copies of a composition.
//
// Thread safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "accountant/mechanism/pair.h"

namespace dpledger::accountant {

class OutcomeParts {
 public:
  // `distance` of one round's means, rounded down. 1 < contributions < rounds.
  OutcomeParts(uint64_t rounds, uint64_t contributions, double distance)
      : rounds_(rounds), contributions_(contributions), distance_(distance) {}

  // nullptr if no partition says anything.
  const Pair* pair() const;

 private:
  const uint64_t rounds_, contributions_;
  const double distance_;
  mutable std::once_flag once_;
  mutable Pair pair_;  // without atoms if nothing is known
};

}  // namespace dpledger::accountant
