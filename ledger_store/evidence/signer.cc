#include "ledger_store/evidence/signer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/bundle/members.h"

namespace dpledger {
namespace {

absl::Status Mismatch(const std::string& what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat("signing_key: ", what)),
                    {"KEY_MISMATCH", {}});
}

}  // namespace

absl::Status CheckSigner(const Registry& registry, const merkle::Ed25519PrivateKey& key,
                         const merkle::Ed25519PrivateKey* previous) {
  if (registry.empty()) return absl::OkStatus();
  const std::vector<merkle::VerifierKey>& keys = registry.keys();
  const merkle::VerifierKey& current = keys.back();
  const merkle::VerifierKey own = {registry.origin(), merkle::SignatureType::kEd25519,
                                   key.public_key()};
  if (own == current) return absl::OkStatus();
  if (std::find(keys.begin(), keys.end(), own) != keys.end()) {
    return Mismatch(absl::StrCat(own.ToText(), " was replaced by ", current.ToText(),
                                 ", and does not sign any more: give the key that replaced it"));
  }
  if (previous == nullptr || previous->public_key() != current.public_key) {
    return Mismatch(absl::StrCat(
        "this store's registry is signed with ", current.ToText(), ", not with ", own.ToText(),
        ": give the file of that key; or, to change keys, give that file as "
        "--previous-signing-key beside the new --signing-key, once"));
  }
  if (keys.size() < bundle::kMaxKeys) return absl::OkStatus();
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "signing_key: this store's registry has had ", keys.size(),
                        " keys, and no bundle takes more: go on with ", current.ToText())),
                    {"TOO_MANY_KEYS", {}});
}

}  // namespace dpledger
