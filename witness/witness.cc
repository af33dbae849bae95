#include "witness/witness.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "merkle/proof.h"

namespace dpledger::witness {
namespace {

using merkle::Checkpoint;
using merkle::Note;
using merkle::NoteSignature;
using merkle::VerifierKey;
using merkle::WitnessRequest;

Answer Refusal(int status, std::string_view why) {
  return {.status = status, .body = absl::StrCat(ToAbsl(why), "\n")};
}

// The note with only those signatures that are of these keys.
Note SignedBy(const std::vector<VerifierKey>& keys, const Note& note) {
  Note kept{note.text, {}};
  for (const NoteSignature& signature : note.signatures) {
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const VerifierKey& key) {
      return key.name == signature.name && key.Id() == signature.key_id;
    });
    if (known) kept.signatures.push_back(signature);
  }
  return kept;
}

absl::Status CheckLogKeys(const std::vector<VerifierKey>& keys) {
  if (keys.empty()) return FieldError("log_key", "must name at least one log");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].type != merkle::SignatureType::kEd25519) {
      return FieldError("log_key", absl::StrCat("must be an Ed25519 key of a log (type 1), got ",
                                                keys[i].ToText()));
    }
    const auto same = std::find_if(keys.begin(), keys.begin() + i, [&](const VerifierKey& key) {
      return key.name == keys[i].name && key.Id() == keys[i].Id();
    });
    if (same != keys.begin() + i) {
      return FieldError("log_key", absl::StrCat("is given twice: ", keys[i].ToText()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Witness::Witness(const WitnessOptions& options, merkle::Ed25519PrivateKey key,
                 std::unique_ptr<StateFolder> state)
    : options_(options),
      key_(std::move(key)),
      verifier_key_{options.name, merkle::SignatureType::kCosignature, key_.public_key()},
      state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<Witness>> Witness::Open(const WitnessOptions& options,
                                                       merkle::Ed25519PrivateKey key) {
  RETURN_IF_ERROR(merkle::CosignNote("x\n", options.name, 1, key).status());
  RETURN_IF_ERROR(CheckLogKeys(options.log_keys));
  ASSIGN_OR_RETURN(std::unique_ptr<StateFolder> state, StateFolder::Open(options.state_folder));
  auto witness = std::unique_ptr<Witness>(new Witness(options, std::move(key), std::move(state)));
  for (const VerifierKey& log_key : options.log_keys) {
    witness->logs_[log_key.name].keys.push_back(log_key);
  }
  for (auto& [origin, log] : witness->logs_) {
    witness->hashes_[OriginHash(origin)] = &log;
    const auto source = options.sources.find(origin);
    if (source != options.sources.end()) {
      log.source = source->second;
      ASSIGN_OR_RETURN(log.follower, registry::Follower::Open(
                                         {.state_file = witness->state_->RegistryPathOf(origin),
                                          .trusted = log.keys}));
    }
    RETURN_IF_ERROR(witness->Load(origin, log));
  }
  return witness;
}

absl::Status Witness::Load(const std::string& origin, WitnessedLog& log) {
  ASSIGN_OR_RETURN(std::optional<Note> note, state_->Read(origin));
  if (!note.has_value()) return absl::OkStatus();
  const std::string path = state_->PathOf(origin);
  // By our own key: those of the log may have changed since.
  absl::StatusOr<Checkpoint> checkpoint =
      merkle::OpenCheckpoint(*note, origin, {&verifier_key_, 1});
  if (absl::IsPermissionDenied(checkpoint.status())) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "state: ", path, ": was not cosigned with this signing key and name")),
                      {"KEY_MISMATCH", {}});
  }
  if (!checkpoint.ok()) {
    return absl::DataLossError(absl::StrCat("state: ", path, ": ", checkpoint.status().message()));
  }
  absl::MutexLock lock(&log.mutex);
  log.last = Cosigned{*std::move(checkpoint), *std::move(note)};
  return absl::OkStatus();
}

std::optional<Answer> Witness::CheckEntries(const WitnessRequest& request,
                                            const Checkpoint& checkpoint, WitnessedLog& log) {
  if (log.follower == nullptr) return std::nullopt;
  const auto read =
      log.follower->Advance(request.checkpoint, *log.source, absl::Now() + options_.reading);
  if (read.ok()) return std::nullopt;
  if (ReasonOf(read.status()).reason == registry::kContradiction) {
    for (const auto& [name, content] : log.follower->evidence())
      state_->KeepEvidence(checkpoint.origin, name, content).IgnoreError();
    return Refuse(422, FromAbsl(read.status().message()), request, checkpoint);
  }
  // Not the log's fault, as far as can be proved: it asks again.
  return Refuse(503, absl::StrCat("its entries: ", read.status().message()), request, checkpoint);
}

Answer Witness::AddCheckpoint(std::string_view body) {
  const absl::StatusOr<WitnessRequest> request = merkle::ParseWitnessRequest(body);
  if (!request.ok()) return Refusal(400, FromAbsl(request.status().message()));
  const Checkpoint checkpoint = merkle::ParseCheckpoint(request->checkpoint.text).value();
  const auto log = logs_.find(checkpoint.origin);
  if (log == logs_.end()) return Refusal(404, "origin: no log of this witness");
  const auto signers = merkle::VerifyNote(request->checkpoint, log->second.keys);
  if (!signers.ok()) {
    return Refuse(403, FromAbsl(signers.status().message()), *request, checkpoint);
  }
  if (request->old_size > checkpoint.size) {
    return Refuse(400, "request: old size must not be above the checkpoint's", *request,
                  checkpoint);
  }
  return Cosign(*request, checkpoint, log->second);
}

Answer Witness::Cosign(const WitnessRequest& request, const Checkpoint& checkpoint,
                       WitnessedLog& log) {
  absl::MutexLock lock(&log.mutex);
  const uint64_t last_size = log.last.has_value() ? log.last->checkpoint.size : 0;
  if (request.old_size != last_size) {
    return {409, "text/x.tlog.size", absl::StrCat(last_size, "\n")};
  }
  // Before the first checkpoint the log was empty for us.
  const merkle::Hash last_root =
      log.last.has_value() ? log.last->checkpoint.root : merkle::EmptyRoot();
  const absl::Status consistent = merkle::VerifyConsistency(last_size, last_root, checkpoint.size,
                                                            checkpoint.root, request.proof);
  if (!consistent.ok()) {
    return Refuse(422, FromAbsl(consistent.message()), request, checkpoint);
  }
  if (failed_) return Refusal(500, "the disk has failed; nothing more is cosigned");
  if (std::optional<Answer> refused = CheckEntries(request, checkpoint, log)) return *refused;
  absl::StatusOr<NoteSignature> cosignature = Sign(request.checkpoint);
  if (!cosignature.ok()) {
    return Refuse(500, FromAbsl(cosignature.status().message()), request, checkpoint);
  }
  Cosigned next{checkpoint, SignedBy(log.keys, request.checkpoint)};
  next.note.signatures.push_back(*cosignature);
  if (const absl::Status kept = state_->Write(checkpoint.origin, next.note); !kept.ok()) {
    failed_ = true;
    options_.log->Write(LogLevel::kError, "state_failed",
                        {{"origin", checkpoint.origin}, {"message", std::string(kept.message())}});
    return Refusal(500, "the disk has failed; nothing more is cosigned");
  }
  log.last = std::move(next);
  options_.log->Write(LogLevel::kInfo, "cosigned",
                      {{"origin", checkpoint.origin},
                       {"old_size", static_cast<int64_t>(request.old_size)},
                       {"size", static_cast<int64_t>(checkpoint.size)}});
  return {.body = cosignature->ToLine()};
}

absl::StatusOr<NoteSignature> Witness::Sign(const Note& note) const {
  const int64_t now = absl::ToUnixSeconds(options_.clock->Now());
  // The time says until when nothing else was seen; the document forbids 0.
  if (now <= 0) return absl::InternalError("the clock is before 1970");
  return merkle::CosignNote(note.text, options_.name, static_cast<uint64_t>(now), key_);
}

Answer Witness::Refuse(int status, std::string_view why, const WitnessRequest& request,
                       const Checkpoint& checkpoint) const {
  // A checkpoint that the log signed and that does not fit is evidence against it.
  const bool evidence = status == 422;
  options_.log->Write(evidence ? LogLevel::kError : LogLevel::kInfo, "refused",
                      {{"status", int64_t{status}},
                       {"message", std::string(why)},
                       {"origin", checkpoint.origin},
                       {"old_size", static_cast<int64_t>(request.old_size)},
                       {"size", static_cast<int64_t>(checkpoint.size)},
                       {"checkpoint", evidence ? request.checkpoint.ToText() : "not kept"}});
  return Refusal(status, why);
}

Answer Witness::LatestCheckpoint(std::string_view origin_hash) const {
  const auto log = hashes_.find(origin_hash);
  if (log == hashes_.end()) return Refusal(404, "no log of this witness");
  absl::MutexLock lock(&log->second->mutex);
  if (!log->second->last.has_value()) return Refusal(404, "nothing of this log was cosigned yet");
  return {.body = log->second->last->note.ToText()};
}

}  // namespace dpledger::witness
