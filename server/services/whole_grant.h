// What a request to set aside of a budget comes to (proto/dpledger/v1/ledger_service.proto,
// GrantChange).
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "server/questions/subject_source.h"

namespace dpledger::server {

// The same request for the whole plan that is granted from then on. `subjects` has the ledger as it
// stands (null: UNIMPLEMENTED for all but GRANT_PLAN). INVALID_ARGUMENT naming the field;
// FAILED_PRECONDITION (WRITERS_OPEN); errors of SubjectSource::ReadLineage.
absl::StatusOr<v1::GrantBudgetRequest> WholeGrant(const v1::GrantBudgetRequest& request,
                                                  SubjectSource* subjects,
                                                  const accountant::Limits& limits);

}  // namespace dpledger::server
