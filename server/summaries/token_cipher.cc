// As merkle/sha256.cc.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "server/summaries/token_cipher.h"

#include <openssl/rand.h>

#include <array>
#include <bit>
#include <random>

#include "base/hex.h"
#include "merkle/sha256.h"

namespace dpledger::server {
namespace {

using Bytes = std::array<uint8_t, AES_BLOCK_SIZE>;
using Block = std::array<uint64_t, 2>;  // the number; 32 bits at random, and zeros
constexpr uint64_t kRandom = 0xffffffff;

}  // namespace

TokenCipher::TokenCipher() {
  std::random_device random;
  std::array<uint32_t, 4> words;
  for (uint32_t& word : words) word = random();
  const auto key = std::bit_cast<Bytes>(words);
  AES_set_encrypt_key(key.data(), 128, &encrypt_);
  AES_set_decrypt_key(key.data(), 128, &decrypt_);
}

std::string TokenCipher::Hide(uint64_t number) const {
  uint64_t salt = 0;
  RAND_bytes(reinterpret_cast<uint8_t*>(&salt), sizeof(salt));
  auto bytes = std::bit_cast<Bytes>(Block{number, salt & kRandom});
  AES_encrypt(bytes.data(), bytes.data(), &encrypt_);
  return HexEncode(merkle::View(bytes));
}

std::optional<uint64_t> TokenCipher::Find(const std::string& token) const {
  const auto hidden = HexDecode(token);
  Bytes bytes;
  if (!hidden.ok() || hidden->size() != bytes.size()) return std::nullopt;
  AES_decrypt(reinterpret_cast<const uint8_t*>(hidden->data()), bytes.data(), &decrypt_);
  const auto block = std::bit_cast<Block>(bytes);
  return (block[1] & ~kRandom) == 0 ? std::optional(block[0]) : std::nullopt;
}

}  // namespace dpledger::server
