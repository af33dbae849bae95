// Sums of what a filter adds up (filter.h), as whole numbers of 2^-80: exact, the same in any
// order, and parts can be taken away again.
//
// Values; thread safe as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "accountant/filter/filter.h"

namespace dpledger::accountant::filter {

class Tally {
 public:
  explicit Tally(size_t measures = 0) : sums_(measures) {}

  // Adds `times` these uses, each rounded up. One of 2^32 and more counts as infinite.
  void Add(const Uses& uses, uint64_t times);
  void Add(const Tally& other);
  // Makes each sum greater by a share of 2^-40, rounded up: more than the same uses differ by that
  // were worked out from equal numbers in other units.
  void Widen();
  // Makes each sum at least that of the other.
  void RaiseTo(const Tally& other);
  // Precondition: `part` is among what was added.
  void Remove(const Tally& part);

  Uses Total() const;  // rounded up
  // Whether each sum is at most that of `bound`, exactly. What is infinite there bounds nothing.
  bool Within(const Tally& bound) const;

  // The greatest `times` up to `most` for which `holds` is true of this tally with so many of
  // `uses` added. Precondition: once `holds` is false, it stays so for more.
  template <typename Holds>
  uint64_t MostThatHolds(const Uses& uses, uint64_t most, const Holds& holds) const {
    uint64_t fits = 0, too_many = most + 1;
    while (too_many - fits > 1) {
      const uint64_t middle = fits + (too_many - fits) / 2;
      Tally more = *this;
      more.Add(uses, middle);
      (holds(more) ? fits : too_many) = middle;
    }
    return fits;
  }

 private:
  struct Sum {
    absl::uint128 units = 0;
    uint64_t infinite = 0;  // summands without a finite value
    bool lost = false;      // it grew beyond all bounds, and stays infinite
  };
  static void AddTo(Sum& sum, absl::uint128 units);

  std::vector<Sum> sums_;
};

}  // namespace dpledger::accountant::filter
