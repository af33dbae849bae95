// Requests to set aside of a budget (proto/dpledger/v1/ledger_service.proto, GrantChange), worked
// out as whole plans and stored.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "ledger_store/store.h"
#include "server/questions/subject_source.h"

namespace dpledger::server {

class Grants {
 public:
  // Both must outlive the object. Without `subjects` only whole plans are taken.
  Grants(LedgerStore* store, SubjectSource* subjects) : store_(*store), subjects_(subjects) {}

  // INVALID_ARGUMENT naming the field; FAILED_PRECONDITION (WRITERS_OPEN; NOTHING_TO_GIVE_BACK, if
  // what is spent comes to more than what is granted by a measure of the budget's filter); errors
  // of SubjectSource::ReadLineage and of LedgerStore::Grant.
  absl::StatusOr<v1::Receipt> Make(const v1::GrantBudgetRequest& request, const std::string& caller,
                                   const accountant::Limits& limits);

  // Gives back what the ledger, which was just sealed by that request, was granted and has not
  // spent. What cannot be given back stays granted, as it was until then.
  void GiveBack(const v1::SealLedgerRequest& seal, const std::string& budget,
                const std::string& caller, const accountant::Limits& limits);

 private:
  // As of now.
  absl::StatusOr<GrantAtSize> WorkOut(const v1::GrantBudgetRequest& request,
                                      const accountant::Limits& limits);

  LedgerStore& store_;
  SubjectSource* const subjects_;
};

}  // namespace dpledger::server
