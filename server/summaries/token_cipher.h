// Hides a number in a token that one server gives out and takes back: how many changes a server has
// seen tells of ledgers that the token's holder may not see. A token of another object is no token
// of this one: each has a random key of its own, and so each start of a server.
//
// Immutable; thread safe.
#pragma once

#include <openssl/aes.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dpledger::server {

class TokenCipher {
 public:
  TokenCipher();

  std::string Hide(uint64_t number) const;
  // nullopt for what is no token of this object.
  std::optional<uint64_t> Find(const std::string& token) const;

 private:
  // A token is one block of AES-128: the number; 32 random bits, so that of two tokens nobody can
  // tell whether their numbers are the same; and 32 zero bits, by which it is known.
  AES_KEY encrypt_, decrypt_;
};

}  // namespace dpledger::server
