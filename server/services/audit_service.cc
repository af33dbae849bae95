#include "server/services/audit_service.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/registry.h"
#include "merkle/compact_tree.h"

namespace dpledger::server {
namespace {

using events::CheckNoUnknownFields;

// How often a ledger may be signed again while we look at it.
constexpr int kMaxLooks = 100;
constexpr uint64_t kMaxPagePoints = 20'000, kMaxReadEntries = 256;

absl::Status CheckLog(const std::string& log) {
  return log == kRegistryLog ? absl::OkStatus() : events::CheckLedgerName("log", log);
}

void AddHashes(const std::vector<merkle::Hash>& hashes,
               google::protobuf::RepeatedPtrField<std::string>& field) {
  for (const merkle::Hash& hash : hashes) *field.Add() = merkle::ToBytes(hash);
}

absl::Status BeyondLog(std::string_view field, const std::string& log, uint64_t size,
                       uint64_t asked) {
  return WithReason(absl::OutOfRangeError(absl::StrCat(
                        ToAbsl(field), ": ", log == kRegistryLog ? "the registry" : log, " has ",
                        size, " entries, ", asked, " are asked for")),
                    {"BEYOND_LOG", {{"field", std::string(field)}, {"size", absl::StrCat(size)}}});
}

// Whether the registry's map has the head that the ledger's checkpoint keeps.
bool IsLast(const SignedCheckpoint& of, const PublicRegistry& registry) {
  const merkle::Hash key = registry::HeadKey(of.checkpoint.origin);
  const auto path = registry.map.Prove(key);
  return path.has_value() &&
         path->RootFrom(key, registry::HeadLeaf(of.checkpoint.origin, of.head)) ==
             registry.map.Root();
}

}  // namespace

absl::StatusOr<SignedCheckpoint> AuditService::AtLeast(std::string_view field,
                                                       const std::string& log, uint64_t size,
                                                       const CallContext& call) {
  ASSIGN_OR_RETURN(std::optional<SignedCheckpoint> latest, notary_.Latest(log));
  if (latest.has_value() && latest->checkpoint.size >= size) return *std::move(latest);
  if (log == kRegistryLog) {  // all of it is always signed
    return BeyondLog(field, log, latest.has_value() ? latest->checkpoint.size : 0, size);
  }
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store_.Get(log, kNoWriters));
  if (size > ledger.size()) return BeyondLog(field, log, ledger.size(), size);
  return logs_.AwaitSigned(log, size, call);
}

absl::StatusOr<v1::GetCheckpointResponse> AuditService::GetCheckpoint(
    const v1::GetCheckpointRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckLog(request.log()));
  const uint64_t at_least = std::max<uint64_t>(request.at_least(), 1);
  ASSIGN_OR_RETURN(SignedCheckpoint checkpoint, AtLeast("at_least", request.log(), at_least, call));
  // Taken after the ledger's, so that it holds the entry that registers it.
  std::shared_ptr<const PublicRegistry> registry = notary_.registry();
  v1::GetCheckpointResponse response;
  if (request.log() != kRegistryLog) {
    // Signed again between the two looks?
    for (int look = 0; look < kMaxLooks && !IsLast(checkpoint, *registry); ++look) {
      ASSIGN_OR_RETURN(checkpoint, AtLeast("at_least", request.log(), at_least, call));
      registry = notary_.registry();
    }
    ASSIGN_OR_RETURN(*response.mutable_registry(), EvidenceFor(checkpoint, *registry));
  }
  response.set_note(checkpoint.note);
  for (const merkle::VerifierKey& key : registry->keys) {
    response.add_verifier_keys(key.ToText());
  }
  return response;
}

absl::StatusOr<v1::LedgerEntry> AuditService::ProvenEntry(uint64_t index,
                                                          const SignedCheckpoint& registry,
                                                          std::string& bytes, LeafProof& proof) {
  LogReader reader(store_, kRegistryLog, registry);
  ASSIGN_OR_RETURN(proof, reader.ProveInclusion(index, reader.size()));
  ASSIGN_OR_RETURN(std::vector<std::string> entries, ReadLog(store_, kRegistryLog, index, 1));
  v1::LedgerEntry entry;
  if (entries.empty() || merkle::LeafHash(entries[0]) != proof.leaf_hash ||
      !entry.ParseFromString(entries[0])) {
    return absl::DataLossError(
        absl::StrCat("the registry: entry ", index, " is not the one that was signed"));
  }
  bytes = std::move(entries[0]);
  return entry;
}

absl::StatusOr<v1::RegistryEvidence> AuditService::EvidenceFor(const SignedCheckpoint& checkpoint,
                                                               const PublicRegistry& shown) {
  const SignedCheckpoint& registry = shown.checkpoint;
  const uint64_t index = checkpoint.head.last.index;
  v1::RegistryEvidence evidence;
  LeafProof proof;
  ASSIGN_OR_RETURN(const v1::LedgerEntry entry,
                   ProvenEntry(index, registry, *evidence.mutable_entry(), proof));
  if (entry.registered().origin() != checkpoint.checkpoint.origin ||
      entry.registered().size() != checkpoint.checkpoint.size ||
      entry.registered().root_hash() != merkle::ToBytes(checkpoint.checkpoint.root) ||
      !IsLast(checkpoint, shown)) {
    return absl::DataLossError(absl::StrCat("the registry: entry ", index, " does not register ",
                                            checkpoint.checkpoint.origin, " at size ",
                                            checkpoint.checkpoint.size, " as its last size"));
  }
  evidence.set_note(registry.note);
  evidence.set_index(index);
  AddHashes(proof.hashes, *evidence.mutable_proof());
  ASSIGN_OR_RETURN(const v1::LedgerEntry last, ProvenEntry(registry.checkpoint.size - 1, registry,
                                                           *evidence.mutable_map_entry(), proof));
  if (last.map_root().root_hash() != merkle::ToBytes(shown.map.Root()))
    return absl::DataLossError("the registry: its last entry has the root of another map");
  AddHashes(proof.hashes, *evidence.mutable_map_proof());
  evidence.set_map_path(
      shown.map.Prove(registry::HeadKey(checkpoint.checkpoint.origin)).value().ToBytes());
  evidence.set_registrations(checkpoint.head.points);
  return evidence;
}

absl::StatusOr<v1::ListRegistrationsResponse> AuditService::ListRegistrations(
    const v1::ListRegistrationsRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::CheckLedgerName("log", request.log()));
  RETURN_IF_ERROR(AtLeast("log", request.log(), 1, call).status());
  const SignedCheckpoint registry = notary_.registry()->checkpoint;
  const uint64_t known = registry.checkpoint.size;
  const uint64_t size = request.registry_size() == 0 ? known : request.registry_size();
  if (size > known) return BeyondLog("registry_size", kRegistryLog, known, size);
  // Taken after the registry's, so that it has all those below its size.
  ASSIGN_OR_RETURN(const SignedCheckpoint last, AtLeast("log", request.log(), 1, call));
  ASSIGN_OR_RETURN(const uint64_t total,
                   CountRegistrations(store_.checkpoints(), request.log(), last.head.points, size));
  v1::ListRegistrationsResponse response;
  response.set_registry_size(size);
  response.set_total(total);
  const uint64_t end = std::min(total, std::min(total, request.first()) + kMaxPagePoints);
  ASSIGN_OR_RETURN(const std::vector<uint64_t> indices,
                   ReadRegistrations(store_.checkpoints(), request.log(), request.first(), end));
  for (size_t i = 0; i < indices.size();) {
    // Registrations of a busy ledger stand close together: one read gives several.
    const uint64_t first = indices[i];
    const auto beyond = std::lower_bound(indices.begin() + static_cast<ptrdiff_t>(i), indices.end(),
                                         first + kMaxReadEntries);
    const uint64_t wanted = *std::prev(beyond) - first + 1;
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     ReadLog(store_, kRegistryLog, first, wanted));
    if (entries.empty()) return absl::DataLossError("the registry: has lost entries");
    for (; i < indices.size() && indices[i] - first < entries.size(); ++i) {
      v1::LedgerEntry entry;
      entry.ParseFromString(entries[indices[i] - first]);
      const absl::StatusOr<registry::Point> point =
          registry::PointOf(entry, registry.checkpoint.origin);
      if (!point.ok() || entry.registered().origin() != last.checkpoint.origin) {
        return absl::DataLossError(
            absl::StrCat("the registry: entry ", indices[i], " does not register ", request.log()));
      }
      *response.mutable_points() += point->ToBytes();
    }
  }
  return response;
}

absl::StatusOr<v1::GetInclusionProofResponse> AuditService::GetInclusionProof(
    const v1::GetInclusionProofRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckLog(request.log()));
  const bool at_latest = request.size() == 0;
  if (!at_latest && request.index() >= request.size()) {
    return FieldError(
        "index", absl::StrCat("must be below size ", request.size(), ", got ", request.index()));
  }
  if (request.index() == std::numeric_limits<uint64_t>::max()) {
    return FieldError("index", "must be the index of an entry");
  }
  ASSIGN_OR_RETURN(SignedCheckpoint checkpoint,
                   AtLeast(at_latest ? "index" : "size", request.log(),
                           at_latest ? request.index() + 1 : request.size(), call));
  LogReader reader(store_, request.log(), std::move(checkpoint));
  v1::GetInclusionProofResponse response;
  response.set_size(at_latest ? reader.size() : request.size());
  ASSIGN_OR_RETURN(const LeafProof proof, reader.ProveInclusion(request.index(), response.size()));
  response.set_leaf_hash(merkle::ToBytes(proof.leaf_hash));
  AddHashes(proof.hashes, *response.mutable_proof());
  return response;
}

absl::StatusOr<v1::GetConsistencyProofResponse> AuditService::GetConsistencyProof(
    const v1::GetConsistencyProofRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckLog(request.log()));
  const bool at_latest = request.new_size() == 0;
  if (!at_latest && request.old_size() > request.new_size()) {
    return FieldError("old_size", absl::StrCat("must be at most new_size ", request.new_size(),
                                               ", got ", request.old_size()));
  }
  ASSIGN_OR_RETURN(
      SignedCheckpoint checkpoint,
      AtLeast(at_latest ? "old_size" : "new_size", request.log(),
              at_latest ? std::max<uint64_t>(request.old_size(), 1) : request.new_size(), call));
  LogReader reader(store_, request.log(), std::move(checkpoint));
  v1::GetConsistencyProofResponse response;
  response.set_new_size(at_latest ? reader.size() : request.new_size());
  ASSIGN_OR_RETURN(const PrefixProof proof,
                   reader.ProveConsistency(request.old_size(), response.new_size()));
  response.set_new_root(merkle::ToBytes(proof.new_root));
  AddHashes(proof.hashes, *response.mutable_proof());
  return response;
}

absl::StatusOr<v1::GetTileResponse> AuditService::GetTile(const v1::GetTileRequest& request,
                                                          const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckLog(request.log()));
  ASSIGN_OR_RETURN(SignedCheckpoint checkpoint, AtLeast("log", request.log(), 1, call));
  // Witnesses read the entries of a checkpoint before they cosign it, and so before it is
  // published.
  if (request.log() == kRegistryLog && request.path() != "checkpoint")
    checkpoint = notary_.Readable();
  LogReader reader(store_, request.log(), std::move(checkpoint));
  v1::GetTileResponse response;
  ASSIGN_OR_RETURN(*response.mutable_content(), reader.ReadPath(request.path()));
  return response;
}

}  // namespace dpledger::server
