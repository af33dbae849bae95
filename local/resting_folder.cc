#include "local/resting_folder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/evidence/start_check.h"
#include "merkle/authenticator.h"
#include "registry/signing_key_file.h"
#include "server/signing/signing.h"

namespace dpledger::local {
namespace {

absl::Status KeyMissing(const std::string& store_folder, const std::string& key_file) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "path: ", key_file, ", the signing key of ", store_folder,
                        ", is not there, and without it nothing shows that the ledgers are as "
                        "they were written; put it back from its backup")),
                    {"SIGNING_KEY_MISSING", {{"field", "path"}}});
}

absl::Status NoLedger(const std::string& store_folder) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("path: ", store_folder, " holds no ledger yet")),
      {"NO_LEDGER", {{"field", "path"}}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<RestingFolder>> RestingFolder::Open(const std::string& store_folder,
                                                                   bool summaries) {
  const server::SigningOptions places = server::SigningOptions::Beside(store_folder);
  absl::StatusOr<merkle::Ed25519PrivateKey> read = ReadSigningKey(places.key_file);
  if (absl::IsNotFound(read.status())) return KeyMissing(store_folder, places.key_file);
  RETURN_IF_ERROR(read.status());
  NotaryOptions options;
  options.key = std::make_shared<const merkle::Ed25519PrivateKey>(*std::move(read));
  options.holder = "reader";
  HeadKeys keys;
  keys.current = std::make_shared<const merkle::Authenticator>(*options.key, kHeadPurpose);
  ASSIGN_OR_RETURN(std::unique_ptr<LedgerReader> reader, OpenEmbeddedToRead(store_folder, keys));
  std::unique_ptr<RestingFolder> folder(new RestingFolder(std::move(reader)));

  Registry registry;
  RETURN_IF_ERROR(registry.CatchUp(folder->reader_->checkpoints()));
  if (registry.empty()) return NoLedger(store_folder);
  const CheckpointFile second_place(places.checkpoint_file);
  if (second_place.IsThere()) {
    RETURN_IF_ERROR(CheckSecondPlace(*folder->reader_, registry, second_place));
  } else {
    folder->assumptions_.push_back(
        absl::StrCat(places.checkpoint_file,
                     " is not there: the folder is taken for the newest copy of its ledgers"));
  }
  ASSIGN_OR_RETURN(folder->notary_, Notary::Open(std::move(options), folder->store_));
  RETURN_IF_ERROR(folder->notary_->Sign().status());  // it takes over what is signed
  ASSIGN_OR_RETURN(folder->services_, ReadServices::Open({.store = &folder->store_,
                                                          .logs = folder.get(),
                                                          .notary = folder->notary_.get(),
                                                          .summaries = summaries}));
  return folder;
}

absl::StatusOr<SignedCheckpoint> RestingFolder::AwaitSigned(const std::string& log, uint64_t size,
                                                            const server::CallContext&) {
  ASSIGN_OR_RETURN(std::optional<SignedCheckpoint> latest, notary_->Latest(log));
  const uint64_t signed_size = latest.has_value() ? latest->checkpoint.size : 0;
  if (latest.has_value() && signed_size >= size) return *std::move(latest);
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        log, ": of its ", size, " entries ", signed_size,
                        " are signed: the process that wrote the others ended before it signed "
                        "them, and the next recorder that opens the folder does; questions about "
                        "it are answered as it is")),
                    {"NOT_SIGNED_YET", {}});
}

}  // namespace dpledger::local
