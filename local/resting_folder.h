// A store's folder that no process has open, to be read: its ledgers with their signatures. Nothing
// in it is written and nothing is signed: two registries of one size would contradict each other.
// Thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "local/read_only_store.h"
#include "local/read_services.h"
#include "server/signing/signed_logs.h"

namespace dpledger::local {

class RestingFolder : public server::SignedLogs {
 public:
  // The signing key stands beside the folder (SigningOptions::Beside). FAILED_PRECONDITION if a
  // process has it open (STORE_IN_USE), if its key is missing, of another store or exposed to
  // others (SIGNING_KEY_MISSING, KEY_MISMATCH, KEY_FILE_EXPOSED), or if it holds no ledger yet
  // (NO_LEDGER); DATA_LOSS if what it holds was changed, is damaged or was put back to an older
  // copy; UNAVAILABLE and errors of errno from the disk.
  static absl::StatusOr<std::unique_ptr<RestingFolder>> Open(const std::string& store_folder,
                                                             bool summaries);

  const std::shared_ptr<grpc::Channel>& channel() const { return services_->channel(); }
  LedgerReader& store() { return *reader_; }
  // What could not be checked.
  const std::vector<std::string>& assumptions() const { return assumptions_; }

  // FAILED_PRECONDITION (NOT_SIGNED_YET) where a process was killed before it signed so many.
  absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                               const server::CallContext& call) override;
  absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string& log) override {
    return notary_->Latest(log);
  }

 private:
  explicit RestingFolder(std::unique_ptr<LedgerReader> reader)
      : reader_(std::move(reader)), store_(reader_.get()) {}

  const std::unique_ptr<LedgerReader> reader_;
  ReadOnlyStore store_;
  std::unique_ptr<Notary> notary_;
  std::vector<std::string> assumptions_;
  std::unique_ptr<ReadServices> services_;  // last: they go first
};

}  // namespace dpledger::local
