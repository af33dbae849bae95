#include "accountant/filter/tally.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::filter {
namespace {

constexpr int kUnitBits = 80;
constexpr double kGreatestUse = 4294967296.0;  // 2^32: 2^112 units
// A sum of two that are below does not wrap.
constexpr absl::uint128 kGreatestSum = absl::uint128(1) << 126;

}  // namespace

void Tally::AddTo(Sum& sum, absl::uint128 units) {
  if (units >= kGreatestSum || (sum.units += units) >= kGreatestSum) sum.lost = true;
  if (sum.lost) sum.units = 0;
}

void Tally::Add(const Uses& uses, uint64_t times) {
  if (times == 0) return;
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (!(uses[i] < kGreatestUse)) {
      ++sums_[i].infinite;
      continue;
    }
    // The scaling is exact: a use this side of 2^-28 loses no bit, and others are rounded up.
    const auto units = static_cast<absl::uint128>(std::ceil(std::ldexp(uses[i], kUnitBits)));
    const bool wraps = units != 0 && absl::uint128(times) > kGreatestSum / units;
    AddTo(sums_[i], wraps ? kGreatestSum : units * times);
  }
}

void Tally::Add(const Tally& other) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].infinite += other.sums_[i].infinite;
    sums_[i].lost |= other.sums_[i].lost;
    AddTo(sums_[i], other.sums_[i].units);
  }
}

void Tally::RaiseTo(const Tally& other) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].infinite = std::max(sums_[i].infinite, other.sums_[i].infinite);
    sums_[i].lost |= other.sums_[i].lost;
    sums_[i].units = sums_[i].lost ? 0 : std::max(sums_[i].units, other.sums_[i].units);
  }
}

void Tally::Widen() {
  constexpr int kShareBits = 40;
  for (Sum& sum : sums_) {
    if (sum.units > 0) AddTo(sum, (sum.units >> kShareBits) + 1);
  }
}

void Tally::Remove(const Tally& part) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].infinite -= part.sums_[i].infinite;
    if (!sums_[i].lost) sums_[i].units -= part.sums_[i].units;
  }
}

Uses Tally::Total() const {
  Uses total;
  total.reserve(sums_.size());
  for (const Sum& sum : sums_) {
    if (sum.lost || sum.infinite > 0) {
      total.push_back(std::numeric_limits<double>::infinity());
    } else if (sum.units == 0) {
      total.push_back(0);
    } else {
      // Whichever way the conversion rounds, its neighbour above is no less.
      total.push_back(NextUp(std::ldexp(static_cast<double>(sum.units), -kUnitBits)));
    }
  }
  return total;
}

bool Tally::Within(const Tally& bound) const {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Sum &sum = sums_[i], &most = bound.sums_[i];
    if (most.lost || most.infinite > 0) continue;
    if (sum.lost || sum.infinite > 0 || sum.units > most.units) return false;
  }
  return true;
}

}  // namespace dpledger::accountant::filter
