// One of some answers: the true one, or a uniformly random one. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct RandomizedResponse {
  double noise_parameter;  // the probability of a random one, in [0, 1]
  uint64_t num_buckets;    // >= 2

  static constexpr char kName[] = "randomized_response";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"noise_parameter", &RandomizedResponse::noise_parameter, rules::Probability},
        Field{"num_buckets", &RandomizedResponse::num_buckets, WholeBetween(2, rules::kMaxWhole)});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
