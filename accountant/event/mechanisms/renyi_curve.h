// Any mechanism of which a Rényi curve is stated: R(orders[i]) <= epsilons[i]. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct RenyiCurve {
  std::vector<double> orders;    // > 1, increasing; at least one
  std::vector<double> epsilons;  // >= 0, infinity allowed; as many

  static constexpr char kName[] = "renyi_curve";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"orders", &RenyiCurve::orders, Each(kAny)},
                      Field{"epsilons", &RenyiCurve::epsilons, Each(rules::NonNegativeOrInfinite)});
  }
  absl::Status Check() const {
    double previous = 1;
    for (size_t i = 0; i < orders.size(); ++i) {
      RETURN_IF_ERROR(
          rules::GreaterThan(previous, rules::Element("orders", static_cast<int>(i)), orders[i]));
      previous = orders[i];
    }
    return rules::AsMany("epsilons", epsilons.size(), "orders", orders.size());
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
