// Plans of grants (proto/dpledger/v1/ledger.proto, BudgetGrant), worked out. Pure.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::questions {

using Plan = std::vector<v1::Event>;

// The scheme of any of its epochs, which all cost the same.
accountant::SamplingScheme WithoutNumber(accountant::SamplingScheme scheme);

// What a history holds: equal rounds are one event, and equal mechanisms are; an epoch begun is a
// whole one. It may have more events than a plan may.
Plan PlanOf(const accountant::History& history);

// What both plans hold, with what the second's last event is of at the end. INVALID_ARGUMENT for an
// event that breaks its rules.
absl::StatusOr<Plan> PlanWith(const Plan& present, const Plan& more);

}  // namespace dpledger::questions
