#include "tests/simulation/shared_store.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::simulation {

// As ledger_store/postgres/postgres_checkpoints.cc: the epoch of a lease that ran out never comes
// back, to the same holder neither.
absl::StatusOr<uint64_t> SharedStore::AcquireLease(const std::string& holder,
                                                   absl::Duration duration) {
  options_.between();
  RETURN_IF_ERROR(PassingStore::AcquireLease(holder, duration).status());
  const absl::Time now = clock_.Now();
  const bool expired = lease_.expires <= now;
  if (!expired && lease_.holder != holder && options_.fenced) {
    return WithReason(absl::UnavailableError(absl::StrCat(lease_.holder, " signs")),
                      {"SIGNER_ELSEWHERE", {}});
  }
  if (expired) ++lease_.epoch;
  lease_.holder = holder;
  lease_.expires = now + duration;
  return lease_.epoch;
}

absl::Status SharedStore::Publish(const Publication& publication) {
  options_.between();
  Publication published = publication;
  published.lease_epoch = 0;  // the embedded store's own
  if (options_.fenced) {
    if (publication.lease_epoch != lease_.epoch) {
      return WithReason(absl::AbortedError("the lease to sign has another epoch"),
                        {"SIGNER_REPLACED", {}});
    }
  } else {
    const absl::StatusOr<v1::StoredCheckpoint> latest = Latest(kRegistryLog);
    if (!latest.ok() && !absl::IsNotFound(latest.status())) return latest.status();
    published.registry_size = latest.ok() ? latest->size() : 0;
  }
  return PassingStore::Publish(published);
}

}  // namespace dpledger::simulation
