// The services that the table's rows call.
#pragma once

#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/ledger_service.h"

namespace dpledger::server {

struct Services {
  LedgerService* ledgers;
  AccountingService* accounting;
  AuditService* audit;
};

}  // namespace dpledger::server
