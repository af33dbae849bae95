// Which ledgers a call is about that names none: those over a data set, or those that a filter
// finds. Functions; thread safe. They may wait for the disk.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/store.h"

namespace dpledger::server {

// The ledgers of all projects that declare the data set, by name, without writers and without the
// server's own. At most
// `limit` + 1 of them: one more than the limit shows that there are more.
absl::StatusOr<std::vector<v1::Ledger>> LedgersOver(LedgerReader& store, const std::string& dataset,
                                                    size_t limit);

// The names of the ledgers of `parent` ("projects/p" or "projects/-") that the filter finds, by
// name. Ledgers of the server's own are left out. INVALID_ARGUMENT, naming the field.
absl::StatusOr<std::vector<std::string>> FindLedgers(LedgerReader& store, const std::string& parent,
                                                     const std::string& filter);

// The subject of a question about all that these ledgers hold.
v1::Subject SubjectOver(const std::vector<v1::Ledger>& ledgers);

}  // namespace dpledger::server
