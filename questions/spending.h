// Parts of a filter or a grant, of what a FilterSpending says of it. μ are not added up, their
// squares are: half of a gdp filter is spent at μ = bound/√2. Pure functions; thread safe.
#pragma once

#include <cmath>

#include "accountant/filter/filter.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::questions {

inline bool AddsUpSquared(const v1::FilterSpending& spending) {
  return spending.filter() == accountant::filter::kMu;
}

// The share of `of` > 0, its bound or its grant, that is spent.
inline double ShareSpent(const v1::FilterSpending& spending, double of) {
  const double share = spending.spent() / of;
  return AddsUpSquared(spending) ? share * share : share;
}

// What a single part more may spend, in the bound's units; about, and not below 0.
inline double LeftOf(const v1::FilterSpending& spending) {
  const double bound = spending.bound(), spent = std::fmin(spending.spent(), bound);
  return AddsUpSquared(spending) ? std::sqrt((bound - spent) * (bound + spent)) : bound - spent;
}

}  // namespace dpledger::questions
