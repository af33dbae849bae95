// The services that the table's rows call.
#pragma once

#include "server/questions/accounting_service.h"
#include "server/recompute/recompute_service.h"
#include "server/services/admin_service.h"
#include "server/services/audit_service.h"
#include "server/services/ledger_service.h"
#include "server/statement/statement_service.h"
#include "server/summaries/listing_service.h"

namespace dpledger::server {

struct Services {
  LedgerService* ledgers;
  AccountingService* accounting;
  // Null, here and below: this process has no such service, and the table no rows for it.
  AuditService* audit = nullptr;
  ListingService* lists = nullptr;
  StatementService* statements = nullptr;
  RecomputeService* recompute = nullptr;
  AdminService* admin = nullptr;  // null: the server knows no callers, and has no tokens
};

}  // namespace dpledger::server
