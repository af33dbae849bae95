// The AuditService, without a transport: proto/dpledger/v1/audit_service.proto says what each call
// means. Everything is verified against a signed checkpoint before it is returned
// (ledger_store/evidence/log_reader.h). Thread safe. Calls may wait for a signature.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dpledger/v1/audit_service.pb.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

class AuditService {
 public:
  // All must outlive the service. `notary` has taken over the store's registry.
  AuditService(LedgerReader* store, const Notary* notary, SignedLogs* logs)
      : store_(*store), notary_(*notary), logs_(*logs) {}

  absl::StatusOr<v1::GetCheckpointResponse> GetCheckpoint(const v1::GetCheckpointRequest& request,
                                                          const CallContext& call);
  absl::StatusOr<v1::GetInclusionProofResponse> GetInclusionProof(
      const v1::GetInclusionProofRequest& request, const CallContext& call);
  absl::StatusOr<v1::GetConsistencyProofResponse> GetConsistencyProof(
      const v1::GetConsistencyProofRequest& request, const CallContext& call);
  absl::StatusOr<v1::GetTileResponse> GetTile(const v1::GetTileRequest& request,
                                              const CallContext& call);
  absl::StatusOr<v1::ListRegistrationsResponse> ListRegistrations(
      const v1::ListRegistrationsRequest& request, const CallContext& call);

 private:
  // A checkpoint of the log with at least `size` entries; waits until one is signed. OUT_OF_RANGE
  // (BEYOND_LOG), naming `field`, if the log has fewer entries.
  absl::StatusOr<SignedCheckpoint> AtLeast(std::string_view field, const std::string& log,
                                           uint64_t size, const CallContext& call);
  // That the ledger's checkpoint is the last one that the registry has of it.
  absl::StatusOr<v1::RegistryEvidence> EvidenceFor(const SignedCheckpoint& checkpoint,
                                                   const PublicRegistry& registry);
  // An entry of the registry and its proof at the checkpoint's size.
  absl::StatusOr<v1::LedgerEntry> ProvenEntry(uint64_t index, const SignedCheckpoint& registry,
                                              std::string& bytes, LeafProof& proof);

  LedgerReader& store_;
  const Notary& notary_;
  SignedLogs& logs_;
};

}  // namespace dpledger::server
