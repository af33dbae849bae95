#include "client/internal/receipts.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "connection/connection.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"

namespace dpledger::client::internal {
namespace {

constexpr int kMaxProofHashes = 64;

}  // namespace

absl::StatusOr<AcknowledgedTree> TreeOf(const v1::Receipt& receipt) {
  const std::optional<merkle::Hash> root = merkle::HashFrom(receipt.root_hash());
  if (receipt.size() > 0 && root.has_value()) return AcknowledgedTree{receipt.size(), *root};
  return absl::DataLossError("server: acknowledges without a receipt of size and root");
}

absl::Status KeepLarger(const AcknowledgedTree& tree, AcknowledgedTree& kept) {
  if (tree.size == kept.size && tree.root != kept.root) {
    return absl::DataLossError(absl::StrCat("server: has acknowledged two different histories of ",
                                            tree.size, " entries, with the roots ",
                                            HexEncode(merkle::ToBytes(kept.root)), " and ",
                                            HexEncode(merkle::ToBytes(tree.root))));
  }
  if (tree.size > kept.size) kept = tree;
  return absl::OkStatus();
}

absl::Status ReceiptCheck::Broken(const std::string& how) const {
  return WithReason(
      absl::DataLossError(absl::StrCat("server: has lost or rewritten what it acknowledged of ",
                                       ledger_, ": ", how)),
      {"RECEIPT_BROKEN", {}});
}

template <typename Stub, typename Request, typename Response>
absl::Status ReceiptCheck::Call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + call_timeout_));
  {
    absl::MutexLock lock(&mutex_);
    if (cancelled_) return absl::CancelledError("the delivery ends");
    call_ = &context;
  }
  const absl::Status status = connection::FromGrpc((stub.*method)(&context, request, response));
  absl::MutexLock lock(&mutex_);
  call_ = nullptr;
  return status;
}

void ReceiptCheck::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->TryCancel();
}

absl::Status ReceiptCheck::Run(const std::shared_ptr<grpc::Channel>& channel,
                               const AcknowledgedTree& kept) {
  if (kept.size == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const AcknowledgedTree present,
                   PresentTree(*v1::LedgerService::NewStub(channel), kept));
  if (present.size == kept.size) {
    if (present.root == kept.root) return absl::OkStatus();
    return Broken(absl::StrCat("its ", kept.size, " entries have the root ",
                               HexEncode(merkle::ToBytes(present.root)), ", it acknowledged ",
                               HexEncode(merkle::ToBytes(kept.root))));
  }
  return CheckByProof(*v1::AuditService::NewStub(channel), kept, present);
}

absl::StatusOr<AcknowledgedTree> ReceiptCheck::PresentTree(v1::LedgerService::Stub& ledgers,
                                                           const AcknowledgedTree& kept) {
  v1::GetLedgerRequest request;
  request.set_name(ledger_);
  v1::Ledger ledger;
  const absl::Status found = Call(ledgers, &v1::LedgerService::Stub::GetLedger, request, &ledger);
  if (absl::IsNotFound(found)) {
    return Broken(
        absl::StrCat("it does not hold the ledger, and acknowledged ", kept.size, " entries"));
  }
  RETURN_IF_ERROR(found);
  if (ledger.size() < kept.size) {
    return Broken(
        absl::StrCat("it holds ", ledger.size(), " entries, and acknowledged ", kept.size));
  }
  const std::optional<merkle::Hash> root = merkle::HashFrom(ledger.root_hash());
  if (!root.has_value()) return Broken("it names no root");
  return AcknowledgedTree{ledger.size(), *root};
}

absl::Status ReceiptCheck::CheckByProof(v1::AuditService::Stub& audits,
                                        const AcknowledgedTree& kept,
                                        const AcknowledgedTree& present) {
  // Proofs reach as far as what is signed; the answer itself is of no interest.
  v1::GetCheckpointRequest signed_request;
  signed_request.set_log(ledger_);
  signed_request.set_at_least(present.size);
  v1::GetCheckpointResponse checkpoint;
  RETURN_IF_ERROR(
      Call(audits, &v1::AuditService::Stub::GetCheckpoint, signed_request, &checkpoint));
  v1::GetConsistencyProofRequest request;
  request.set_log(ledger_);
  request.set_old_size(kept.size);
  request.set_new_size(present.size);
  v1::GetConsistencyProofResponse response;
  RETURN_IF_ERROR(Call(audits, &v1::AuditService::Stub::GetConsistencyProof, request, &response));
  if (response.proof_size() > kMaxProofHashes) return Broken("its proof has more than 64 hashes");
  std::vector<merkle::Hash> proof;
  for (const std::string& bytes : response.proof()) {
    const std::optional<merkle::Hash> hash = merkle::HashFrom(bytes);
    if (!hash.has_value()) return Broken("its proof has a hash that is not 32 bytes");
    proof.push_back(*hash);
  }
  // Against the root that the ledger shows to writers, whatever root the proof came with.
  const absl::Status consistent =
      merkle::VerifyConsistency(kept.size, kept.root, present.size, present.root, proof);
  if (consistent.ok()) return consistent;
  return Broken(absl::StrCat("no proof from ", kept.size, " to ", present.size,
                             " entries: ", consistent.message()));
}

}  // namespace dpledger::client::internal
