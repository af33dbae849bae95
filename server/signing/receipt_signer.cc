#include "server/signing/receipt_signer.h"

#include "merkle/receipt_text.h"

namespace dpledger::server {

void ReceiptSigner::Sign(const merkle::Hash& request, v1::Receipt& receipt) const {
  const merkle::StatedReceipt stated = {
      .request = request,
      .first_sequence = receipt.first_sequence(),
      .count = receipt.count(),
      .size = receipt.size(),
      .root = merkle::HashFrom(receipt.root_hash()).value_or(merkle::Hash{})};
  const merkle::Ed25519Signature signature = key_->Sign(merkle::ReceiptText(origin_, stated));
  receipt.set_signature(signature.data(), signature.size());
}

}  // namespace dpledger::server
