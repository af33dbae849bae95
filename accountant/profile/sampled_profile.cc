#include "accountant/profile/sampled_profile.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dpledger::accountant::profile {

absl::StatusOr<Interval> SampledProfile::DeltaIn(Direction direction, double epsilon) {
  const auto nothing = nothing_from_.find(direction);
  if (nothing != nothing_from_.end() && epsilon >= nothing->second.first) {
    return Interval{0, nothing->second.second.upper()};
  }
  ASSIGN_OR_RETURN(const Answer answer, deltas_at_.In(direction, epsilon));
  origin_.Add(answer);
  if (answer.value.upper() < nothing_) nothing_from_[direction] = {epsilon, answer.value};
  return answer.value;
}

absl::Status SampledProfile::Sample(double epsilon) {
  if (deltas_.count(epsilon) > 0) return absl::OkStatus();
  RETURN_IF_ERROR(options_.limits.Check());
  ASSIGN_OR_RETURN(const Interval remove, DeltaIn(Direction::kRemove, epsilon));
  ASSIGN_OR_RETURN(const Interval add, DeltaIn(Direction::kAdd, epsilon));
  deltas_[epsilon] = {remove, add};
  return absl::OkStatus();
}

Interval SampledProfile::WorseOf(const Deltas& deltas) {
  return {std::fmax(deltas.remove.lower(), deltas.add.lower()),
          std::fmax(deltas.remove.upper(), deltas.add.upper())};
}

RiskFunction SampledProfile::Risk(Side above, Side below) const {
  std::vector<RiskPoint> points;
  // Two ε that differ in their last digit may have the same e^ε.
  const auto add = [&](const RiskPoint& point) {
    if (points.empty() || points.back().x < point.x) points.push_back(point);
  };
  for (auto at = deltas_.rbegin(); at != deltas_.rend(); ++at) {
    if (at->first > 0) add(RiskBelow(at->first, below(at->second)));
  }
  for (const auto& [epsilon, deltas] : deltas_) add(RiskAt(epsilon, above(deltas)));
  return RiskFunction(std::move(points));
}

RiskFunction SampledProfile::Remove() const {
  return Risk([](const Deltas& deltas) { return deltas.remove; },
              [](const Deltas& deltas) { return deltas.add; });
}

RiskFunction SampledProfile::Add() const {
  return Risk([](const Deltas& deltas) { return deltas.add; },
              [](const Deltas& deltas) { return deltas.remove; });
}

RiskFunction SampledProfile::Symmetric() const { return Risk(&WorseOf, &WorseOf); }

std::vector<ProfilePoint> SampledProfile::Worse() const {
  std::vector<ProfilePoint> points;
  for (const auto& [epsilon, deltas] : deltas_) points.push_back({epsilon, WorseOf(deltas)});
  return points;
}

}  // namespace dpledger::accountant::profile
