// What a bundle says in words for people and scripts, held against its verified entries: nobody
// signed events.jsonl and statement.json, and whoever reads them must be able to believe them all
// the same. Not thread safe.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bundle_check.h"

namespace dpledger::cli {

// events.jsonl of the bundle against its entries, line by line; whether there is one. A difference
// of class events names the first line that does not say what the entry says. Precondition: the
// file is verified, and `check` is what became of that.
absl::StatusOr<bool> CheckEvents(const std::string& path, const LedgerCheck& check);

// The server's statement in the bundle against what the entries come to, recomputed in the
// statement's own terms (delta, adjacency if it was stated, group size). A difference of class
// statement unless it speaks of this ledger, claims no less than its upper bounds, and everything
// else that it says is so. What depends on the version that made it (method, wording of assumptions
// and warnings) is compared if that is this one. The δ that it is about.
absl::StatusOr<double> CheckStatement(const VerifiedLineage& lineage, const std::string& json);

}  // namespace dpledger::cli
