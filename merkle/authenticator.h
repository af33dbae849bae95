// Authenticates what this server keeps for itself: who does not have the signing key cannot make,
// change or move such a row unnoticed. Nobody else can check it; what others check is signed
// (merkle/signed_note.h). Immutable; thread safe.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "merkle/ed25519.h"

namespace dpledger::merkle {

class Authenticator {
 public:
  // The key is derived for this purpose alone: Ed25519PrivateKey::Derive.
  Authenticator(const Ed25519PrivateKey& key, std::string_view purpose);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;

  // HMAC-SHA256 (RFC 2104) of the fields, each behind its length as 8 bytes, big-endian.
  Hash HashOf(std::initializer_list<std::string_view> fields) const;
  // The same as 32 bytes of text.
  std::string Of(std::initializer_list<std::string_view> fields) const;
  // Whether `code` is that of the fields. Takes the same time wherever they differ.
  bool Holds(std::string_view code, std::initializer_list<std::string_view> fields) const;

 private:
  struct Keyed;  // both hashes of RFC 2104, with the key taken in
  std::unique_ptr<Keyed> keyed_;
};

}  // namespace dpledger::merkle
