// A lower pair for an epoch of random allocation with several contributions, from what parts of its
// outcomes show. It takes some ten milliseconds to make (allocation/several.h), is made when it is
// first asked for, and once for all copies of a composition.
//
// Thread safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "accountant/pair/pair.h"

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
