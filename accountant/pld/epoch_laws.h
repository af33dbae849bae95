// Laws of epochs of random allocation, and values of the profiles of replaced ones, as one question
// has made them. Its loss grids, and the compositions above and below that it is answered by, ask
// for the same ones again: each is a bound whatever it was made for, so what is asked for is
// answered by what is as fine, and only what is not there yet is made.
//
// Not thread safe: one question's.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/allocation/ratio_law.h"
#include "accountant/allocation/replaced.h"
#include "accountant/limits.h"

namespace dpledger::accountant::pld {

class EpochLaws {
 public:
  // As in allocation/ratio_law.h and allocation/replaced.h, of `mesh` or a finer one; a few times
  // `tail` may be cut. `products` of what is returned says what it took when it was made.
  absl::StatusOr<std::shared_ptr<const allocation::RatioLaw>> Upper(
      const allocation::Rounds& rounds, double mesh, double tail, const Limits& limits);
  absl::StatusOr<std::shared_ptr<const allocation::RatioLaw>> Lower(
      const allocation::Rounds& rounds, double mesh, double tail, const Limits& limits);
  absl::StatusOr<allocation::ReplacedAbove> DeltaAbove(const allocation::Rounds& rounds,
                                                       double epsilon, double mesh, double tail,
                                                       const Limits& limits);
  absl::StatusOr<allocation::ReplacedBelow> DeltaBelow(const allocation::Rounds& rounds,
                                                       double epsilon, double mesh, double tail,
                                                       const Limits& limits);

  // The work that it took to make all laws that are here (pld/work.h).
  double work() const { return work_; }

 private:
  struct Asked {
    allocation::Rounds rounds;
    double mesh, tail;
    double epsilon = 0;  // of a value
  };
  template <typename Found>
  struct Entry {
    Asked asked;
    Found found;
  };
  template <typename Found>
  using Entries = std::vector<Entry<Found>>;

  // The entry that answers, or what `make` finds.
  template <typename Found, typename Make>
  absl::StatusOr<Found> Get(Entries<Found>& entries, const Asked& asked, const Make& make);

  Entries<std::shared_ptr<const allocation::RatioLaw>> upper_, lower_;
  Entries<allocation::ReplacedAbove> above_;
  Entries<allocation::ReplacedBelow> below_;
  double work_ = 0;
};

}  // namespace dpledger::accountant::pld
