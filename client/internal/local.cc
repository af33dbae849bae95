#include "client/internal/local.h"

#include <cstdio>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#ifdef DPLEDGER_LOCAL_LEDGER
#include "local/local_ledgers.h"
#endif

namespace dpledger::client::internal {

std::string LastName(const std::string& ledger) { return ledger.substr(ledger.rfind('/') + 1); }

std::string DefaultPath(const std::string& ledger) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const said = new std::set<std::string>;
  const std::string path = absl::StrCat(LastName(ledger), ".ledger");
  absl::MutexLock lock(&mutex);
  if (said->insert(path).second) {
    std::fprintf(stderr, "dpledger: no server is named: the ledger is kept in this folder, in %s\n",
                 path.c_str());
  }
  return path;
}

#ifdef DPLEDGER_LOCAL_LEDGER
bool HasLocalLedgers() { return true; }

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLocal(const std::string& folder) {
  return local::OpenLedgers(folder);
}

absl::StatusOr<AtRest> OpenAtRest(const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(local::Reading reading, local::OpenToRead(paths));
  return AtRest{std::move(reading.channel), std::move(reading.ledgers), std::move(reading.dataset),
                std::move(reading.assumptions), reading.in_bundles};
}
#else
bool HasLocalLedgers() { return false; }

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLocal(const std::string&) {
  return FieldError("path",
                    "must not be given to this library, which was built without local ledgers "
                    "(DPLEDGER_LOCAL_LEDGER); give a server");
}

absl::StatusOr<AtRest> OpenAtRest(const std::vector<std::string>&) {
  return FieldError("paths",
                    "cannot be read by this library, which was built without local ledgers "
                    "(DPLEDGER_LOCAL_LEDGER)");
}
#endif

}  // namespace dpledger::client::internal
