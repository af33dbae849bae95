#include "merkle/receipt_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "merkle/base64.h"
#include "merkle/compact_tree.h"

namespace dpledger::merkle {

std::string ReceiptText(std::string_view origin, const StatedReceipt& receipt) {
  return absl::StrCat("dpledger receipt 1\n", ToAbsl(origin), "\n",
                      Base64Encode(ToBytes(receipt.request)), "\n", receipt.first_sequence, "\n",
                      receipt.count, "\n", receipt.size, "\n", Base64Encode(ToBytes(receipt.root)),
                      "\n");
}

bool IsSigned(const std::vector<VerifierKey>& keys, const StatedReceipt& receipt,
              std::string_view signature) {
  Ed25519Signature bytes;
  if (signature.size() != bytes.size()) return false;
  std::copy(signature.begin(), signature.end(), bytes.begin());
  return std::any_of(keys.begin(), keys.end(), [&](const VerifierKey& key) {
    return key.type == SignatureType::kEd25519 &&
           Ed25519Verify(key.public_key, ReceiptText(key.name, receipt), bytes);
  });
}

}  // namespace dpledger::merkle
