#include "client/key_stream.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "client/internal/state_bytes.h"

namespace dpledger::client {
namespace {

[[noreturn]] void Die(const char* why) {
  std::fprintf(stderr, "dpledger: %s\n", why);
  std::abort();
}

}  // namespace

Generator GeneratorOfThisMachine() {
  return internal::HasAesInstructions() ? Generator::kAes128Ctr : Generator::kChaCha20;
}

const char* GeneratorName(Generator generator) {
  return generator == Generator::kAes128Ctr ? "AES-128-CTR" : "ChaCha20";
}

void KeyStream::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

KeyStream::KeyStream(Generator generator, absl::Span<const uint8_t> key) {
  if (key.size() != KeyBytes(generator)) Die("a key of the wrong length");
  if (generator == Generator::kAes128Ctr) {
    if (!internal::HasAesInstructions()) Die("this processor has no instructions for AES");
    std::array<uint8_t, 16> copy;
    std::copy(key.begin(), key.end(), copy.begin());
    aes_ = std::make_unique<const internal::AesRoundKeys>(copy);
    OPENSSL_cleanse(copy.data(), copy.size());
    return;
  }
  chacha_.reset(EVP_CIPHER_CTX_new());
  if (chacha_ == nullptr || EVP_EncryptInit_ex(chacha_.get(), EVP_chacha20(), /*impl=*/nullptr,
                                               key.data(), /*iv=*/nullptr) != 1) {
    Die("ChaCha20 is not available, so nothing can be made private");
  }
}

void KeyStream::Words(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words) {
  if (chacha_ != nullptr) return ChaChaWords(stream, first_block, words);
  internal::AesCounterWords(*aes_, stream, first_block, words.data(), words.size());
}

void KeyStream::ChaChaWords(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words) {
  // OpenSSL's IV is the last four words of ChaCha20's state: the block number, then the nonce.
  const std::array<uint64_t, 2> tail = {internal::LittleEndian(first_block / 4),
                                        internal::LittleEndian(stream)};
  uint8_t iv[16];
  std::memcpy(iv, tail.data(), sizeof(iv));
  // The key stream is the encryption of zeros, in place; int lengths are why it goes in pieces.
  const auto encrypt = [this](void* bytes, size_t size) {
    std::memset(bytes, 0, size);
    int written = 0;
    return EVP_EncryptUpdate(chacha_.get(), static_cast<uint8_t*>(bytes), &written,
                             static_cast<const uint8_t*>(bytes), static_cast<int>(size)) == 1 &&
           written == static_cast<int>(size);
  };
  // A block of 64 bytes holds four of ours; those before the first are thrown away.
  uint8_t skipped[48];
  bool ok = EVP_EncryptInit_ex(chacha_.get(), nullptr, nullptr, nullptr, iv) == 1 &&
            encrypt(skipped, 16 * (first_block % 4));
  constexpr size_t kPiece = 1 << 20;
  for (size_t begin = 0; ok && begin < words.size(); begin += kPiece) {
    ok = encrypt(words.data() + begin, 8 * std::min(kPiece, words.size() - begin));
  }
  if (!ok) Die("ChaCha20 failed, so no noise can be drawn");
  OPENSSL_cleanse(skipped, sizeof(skipped));
  for (uint64_t& word : words) word = internal::LittleEndian(word);
}

std::array<uint64_t, 2> KeyStream::Block(uint64_t stream, uint64_t block) {
  std::array<uint64_t, 2> words;
  Words(stream, block, absl::MakeSpan(words));
  return words;
}

}  // namespace dpledger::client
