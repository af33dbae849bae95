// Takes a ledger home: reads it from those who keep it and writes its bundle into a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/served_ledger.h"
#include "merkle/checkpoint.h"

namespace dpledger::bundle {

struct ExportHooks {
  // Told of every entry that was read, of `size`. May be null.
  std::function<void(uint64_t read, uint64_t size)> progress;
  // Gives the JSON that the bundle has as its statement, for the first `size` entries. Null: none.
  std::function<absl::StatusOr<std::string>(uint64_t size)> statement;
};

// Writes the ledger's bundle, which docs/formats.md describes, into `file`, and gives it its name.
// The ledger is as it was when it was asked for, or later; entries that come meanwhile are not in
// the bundle. Errors of the calls and of the disk; DATA_LOSS if the entries do not have the signed
// root. Not thread safe.
absl::StatusOr<merkle::Checkpoint> ExportLedger(const std::string& ledger, ServedLedgers& server,
                                                NewFile& file, const ExportHooks& hooks = {});

}  // namespace dpledger::bundle
