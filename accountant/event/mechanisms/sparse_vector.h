// Which queries of a stream are above a threshold, both noised (AboveThreshold; Lyu, Su, Li 2017).
// Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct SparseVector {
  double threshold_noise;  // scale over a query's sensitivity, > 0
  double query_noise;      // the same, > 0
  uint64_t cutoff;         // answers "above", >= 1
  bool monotonic;          // one record moves all queries the same way

  static constexpr char kName[] = "sparse_vector";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"threshold_noise", &SparseVector::threshold_noise, rules::Positive},
                      Field{"query_noise", &SparseVector::query_noise, rules::Positive},
                      Field{"cutoff", &SparseVector::cutoff, rules::Count},
                      Field{"monotonic", &SparseVector::monotonic, kAny});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
