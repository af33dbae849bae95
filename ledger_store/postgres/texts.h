// Texts that the servers on one database share: the table `texts`. Each has an authenticator, so
// that who writes to the table without the key can only put an older text back. One who has read a
// newer one says DATA_LOSS then, also of what was made of the older one since: a text names the
// last 256 before it. Functions; thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/shared_text.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

// Changed: also errors of Database::Read, DATA_LOSS if the text is not authentic or has gone back.
// Edit: those of Transact too; durable on return.
std::unique_ptr<SharedText> TextIn(Database& database, const std::string& name);

// The statements that write all texts anew under the current key, in the open transaction.
// DATA_LOSS.
absl::StatusOr<std::vector<Statement>> RenewTexts(Database& database, Connection& connection);

}  // namespace dpledger::postgres
