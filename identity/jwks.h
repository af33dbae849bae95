// The keys of an issuer, from a JWKS file (RFC 7517). Only public keys for RS256 and ES256 are
// taken; keys of other kinds or uses are passed over, as the RFC asks.
//
// A file is refused whole if one of the keys that would be taken is malformed or weak, if two have
// the same kid, if a private or symmetric key is in it, or if no key is left: whoever wrote it
// hears of it, and the keys before stay in use. RSA: 2048 to 8192 bits, exponent odd and from 65537
// to 2^32. EC: P-256, the point on the curve.
// Immutable; thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "identity/caller.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace dpledger::identity {

enum class JwtAlgorithm { kRs256, kEs256 };
std::string_view AlgorithmName(JwtAlgorithm algorithm);  // "RS256"

struct VerifyingKey {
  std::optional<std::string> kid;
  JwtAlgorithm algorithm;
  std::shared_ptr<evp_pkey_st> key;
  Sha256Hash fingerprint;  // SHA-256 of the SubjectPublicKeyInfo
};

class KeySet {
 public:
  // INVALID_ARGUMENT "keys[2].n: …".
  static absl::StatusOr<std::shared_ptr<const KeySet>> Parse(std::string_view json);

  const std::vector<VerifyingKey>& keys() const { return keys_; }
  bool Has(const Sha256Hash& fingerprint) const;
  // The key of this kid, whatever its algorithm; without a kid the only key for the algorithm.
  // Null if there is none, or more than one.
  const VerifyingKey* Find(const std::optional<std::string>& kid, JwtAlgorithm algorithm) const;

 private:
  std::vector<VerifyingKey> keys_;
};

}  // namespace dpledger::identity
