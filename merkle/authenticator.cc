#include "merkle/authenticator.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace dpledger::merkle {

Authenticator::Authenticator(const Ed25519PrivateKey& key, std::string_view purpose)
    : key_(key.Derive(purpose)) {}

Authenticator::~Authenticator() { OPENSSL_cleanse(key_.data(), key_.size()); }

std::string Authenticator::Of(std::initializer_list<std::string_view> fields) const {
  std::string message;
  for (const std::string_view field : fields) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      message.push_back(static_cast<char>(static_cast<uint64_t>(field.size()) >> shift & 0xff));
    }
    message.append(field);
  }
  std::string code(sizeof(Hash), '\0');
  if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const uint8_t*>(message.data()), message.size(),
           reinterpret_cast<uint8_t*>(code.data()), nullptr) == nullptr) {
    std::fprintf(stderr, "HMAC failed\n");  // without memory or the algorithm
    std::abort();
  }
  return code;
}

bool Authenticator::Holds(std::string_view code,
                          std::initializer_list<std::string_view> fields) const {
  const std::string right = Of(fields);
  return code.size() == right.size() && CRYPTO_memcmp(code.data(), right.data(), right.size()) == 0;
}

}  // namespace dpledger::merkle
