// Ed25519 signatures (RFC 8032) through OpenSSL: pure, without context. A private key cannot be
// copied or printed; its memory is wiped when it is destroyed. Thread safe, except for moving a key
// while it signs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace dpledger::merkle {

using Ed25519PublicKey = std::array<uint8_t, 32>;  // RFC 8032, section 5.1.5
using Ed25519Signature = std::array<uint8_t, 64>;  // RFC 8032, section 5.1.6

class Ed25519PrivateKey {
 public:
  // A new key from the system's random source. UNAVAILABLE if that fails.
  static absl::StatusOr<Ed25519PrivateKey> Generate();
  // The 32 bytes that RFC 8032, section 5.1.5, calls the private key. INVALID_ARGUMENT if they are
  // not 32.
  static absl::StatusOr<Ed25519PrivateKey> FromSeed(std::string_view seed);
  // One unencrypted PKCS #8 key (RFC 8410) in PEM, "-----BEGIN PRIVATE KEY-----". INVALID_ARGUMENT,
  // without any part of the text, for anything else.
  static absl::StatusOr<Ed25519PrivateKey> FromPem(std::string_view pem);

  // The secret, to be written to its file. The caller wipes the text afterwards: Wipe.
  std::string ToPem() const;

  const Ed25519PublicKey& public_key() const { return public_key_; }
  Ed25519Signature Sign(std::string_view message) const;
  // A secret for one other purpose, from which neither this key nor another purpose's secret can be
  // worked out: HKDF-SHA256 (RFC 5869) of the 32 bytes of FromSeed, without salt, with the purpose
  // as info.
  Hash Derive(std::string_view purpose) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  using KeyPointer = std::unique_ptr<evp_pkey_st, Free>;
  explicit Ed25519PrivateKey(KeyPointer key);

  KeyPointer key_;
  Ed25519PublicKey public_key_;
};

// False if the signature does not verify, or if `public_key` is not a valid key.
bool Ed25519Verify(const Ed25519PublicKey& public_key, std::string_view message,
                   const Ed25519Signature& signature);

// Overwrites the secret's memory and empties the string.
void Wipe(std::string& secret);

}  // namespace dpledger::merkle
