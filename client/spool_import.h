// Brings into a ledger, late, what a spool holds and its server refused: the writer had closed, the
// ledger was sealed, or another recorder had opened the writer again. What was released then
// counts, as entries of their own kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::client {

struct SpoolImport {
  std::string path, ledger, writer;
  uint64_t delivered_batches = 0;  // that the server took as they were, or had already
  uint64_t late_events = 0;        // that came in late
};

// The spool files of a folder, by name. NOT_FOUND if there is none.
absl::StatusOr<std::vector<std::string>> SpoolFiles(const std::string& folder);

// Delivers what the spool file holds, each batch as it is if the server still takes it, else its
// events as late ones, and says in the ledger that this was all. Safe to repeat, also after it was
// cut off at any place. The spool is empty then, and its run may be opened again. INVALID_ARGUMENT
// if the file's name is not a spool's; what Spool::Open says; the server's error, and the spool is
// then as it was but for what the server has acknowledged.
absl::StatusOr<SpoolImport> ImportSpool(const std::string& path,
                                        v1::LedgerService::StubInterface& stub);

}  // namespace dpledger::client
