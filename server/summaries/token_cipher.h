// Hides a number in a token that one server gives out and takes back: how many changes a server has
// seen tells of ledgers that the token's holder may not see. A token of another key is no token of
// this one: each start of a server has a key of its own.
//
// Immutable; thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "merkle/authenticator.h"

namespace dpledger::server {

class TokenCipher {
 public:
  explicit TokenCipher(std::shared_ptr<const merkle::Authenticator> key) : key_(std::move(key)) {}
  // The purpose of the key of one start of a server (merkle::Authenticator).
  static std::string NewPurpose();

  std::string Hide(uint64_t number) const;
  // nullopt for what is no token of this object.
  std::optional<uint64_t> Find(const std::string& token) const;

 private:
  // A Feistel network of four rounds over both halves, keyed by HMAC (Luby and Rackoff 1988).
  uint32_t Round(int round, uint32_t half) const;

  const std::shared_ptr<const merkle::Authenticator> key_;
};

}  // namespace dpledger::server
