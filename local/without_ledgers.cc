// What stands for local_ledgers.cc in a build without DPLEDGER_LOCAL_LEDGER.
#include "base/status.h"
#include "local/local_ledgers.h"

namespace dpledger::local {
namespace {

absl::Status NotBuilt() {
  return FieldError("path",
                    "must not be given here, as this was built without local ledgers "
                    "(DPLEDGER_LOCAL_LEDGER); give a server");
}

}  // namespace

bool IsBuilt() { return false; }

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLedgers(const std::string&) {
  return NotBuilt();
}

absl::StatusOr<Reading> OpenToRead(const std::vector<std::string>&, const ReadOptions&) {
  return NotBuilt();
}

}  // namespace dpledger::local
