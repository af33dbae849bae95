// Private selection: runs a mechanism a random number of times and releases the best result
// (Papernot, Steinke 2022). Analysis: mechanism/resolver.cc, rdp/best_of_runs.h.
#pragma once

#include <cmath>
#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct RepeatAndSelect {
  std::vector<Mechanism> event;  // one
  double mean;                   // mean number of runs, >= 1 (> 0 for Poisson)
  double shape;                  // η of the truncated negative binomial, > -1; infinity = Poisson

  static constexpr char kName[] = "repeat_and_select";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"mean", &RepeatAndSelect::mean, kAny},
                      Field{"shape", &RepeatAndSelect::shape, kAny},
                      Field{"event", &RepeatAndSelect::event, kOne, Mark::kOne});
  }
  absl::Status Check() const {
    const bool is_poisson = std::isinf(shape) && shape > 0;
    RETURN_IF_ERROR(rules::Must(is_poisson || (std::isfinite(shape) && shape > -1),
                                "be > -1 (infinity = Poisson)", "shape", shape));
    return is_poisson ? rules::Positive("mean", mean) : rules::AtLeast(1, "mean", mean);
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
