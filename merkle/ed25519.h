// Ed25519 signatures (RFC 8032) through OpenSSL: pure, without context. The private key is a type
// that cannot be copied or printed; its memory is wiped when it goes. Thread safe, but for moving a
// key while it signs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace dpledger::merkle {

using Ed25519PublicKey = std::array<uint8_t, 32>;  // RFC 8032, section 5.1.5
using Ed25519Signature = std::array<uint8_t, 64>;  // RFC 8032, section 5.1.6

class Ed25519PrivateKey {
 public:
  // From the system's random source. UNAVAILABLE if that gives nothing.
  static absl::StatusOr<Ed25519PrivateKey> Generate();
  // The 32 bytes that RFC 8032, section 5.1.5, calls the private key. INVALID_ARGUMENT if they are
  // not 32.
  static absl::StatusOr<Ed25519PrivateKey> FromSeed(std::string_view seed);
  // One unencrypted PKCS #8 key (RFC 8410) in PEM, "-----BEGIN PRIVATE KEY-----". INVALID_ARGUMENT,
  // which quotes nothing of the text, if it is something else.
  static absl::StatusOr<Ed25519PrivateKey> FromPem(std::string_view pem);

  // The secret itself, for its file. Whoever holds the text wipes it: Wipe.
  std::string ToPem() const;

  const Ed25519PublicKey& public_key() const { return public_key_; }
  Ed25519Signature Sign(std::string_view message) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  using KeyPointer = std::unique_ptr<evp_pkey_st, Free>;
  explicit Ed25519PrivateKey(KeyPointer key);

  KeyPointer key_;
  Ed25519PublicKey public_key_;
};

// False for a signature that does not fit and for bytes that are no public key.
bool Ed25519Verify(const Ed25519PublicKey& public_key, std::string_view message,
                   const Ed25519Signature& signature);

// Overwrites a secret, and leaves it empty.
void Wipe(std::string& secret);

}  // namespace dpledger::merkle
