#include "local/read_only_store.h"

#include "base/status.h"

namespace dpledger::local {
namespace {

absl::Status ReadOnly() {
  return WithReason(absl::FailedPreconditionError(
                        "these ledgers are open to be read: nothing can be added to them"),
                    {"READ_ONLY", {}});
}

}  // namespace

absl::StatusOr<uint64_t> ReadOnlyCheckpoints::AcquireLease(const std::string&, absl::Duration) {
  return WithReason(absl::UnavailableError("nobody signs ledgers that are open to be read"),
                    {"SIGNER_ELSEWHERE", {}});
}

absl::Status ReadOnlyCheckpoints::Publish(const Publication&) { return ReadOnly(); }

absl::StatusOr<uint64_t> ReadOnlyStore::CountDeclaring(const std::string& dataset) {
  uint64_t count = 0;
  RETURN_IF_ERROR(of_.ForEach("projects/-", [&](const v1::Ledger& ledger) {
    if (ledger.declaration().dataset() == dataset) ++count;
    return absl::OkStatus();
  }));
  return count;
}

absl::StatusOr<v1::Ledger> ReadOnlyStore::Create(const v1::CreateLedgerRequest&,
                                                 const std::string&) {
  return ReadOnly();
}

void ReadOnlyStore::AppendAsync(v1::AppendBatchRequest, const std::string&,
                                std::shared_ptr<AppendLine>, AppendCallback done) {
  done(ReadOnly());
}

absl::StatusOr<v1::Ledger> ReadOnlyStore::Seal(const v1::SealLedgerRequest&, const std::string&) {
  return ReadOnly();
}

absl::StatusOr<v1::Ledger> ReadOnlyStore::Fork(const v1::ForkLedgerRequest&, const LedgerPoint&,
                                               const std::string&) {
  return ReadOnly();
}

absl::StatusOr<v1::Receipt> ReadOnlyStore::Grant(const GrantAtSize&, const std::string&) {
  return ReadOnly();
}

absl::Status ReadOnlyStore::PutHistory(const std::string&, const v1::StoredHistory&) {
  return ReadOnly();
}

}  // namespace dpledger::local
