// The client's random bits: the words of a cipher's key stream.
//
// 1. AES-128 in counter mode where the processor has instructions for it, ChaCha20 elsewhere: both
//    run in constant time. Which one it is depends on the machine alone.
// 2. Every 64-bit word has an address (key, stream, index), so samples can be computed in any
//    order, in parallel and again: docs/formats.md, section 3.1.
// 3. What the keys were expanded to is wiped at the end, and never copied.
// 4. A failing generator ends the process: no safe result exists without random bits.
//
// Thread safety: one KeyStream a thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "client/internal/aes_kernels.h"

struct evp_cipher_ctx_st;  // EVP_CIPHER_CTX

namespace dpledger::client {

enum class Generator { kAes128Ctr, kChaCha20 };

// The one that this machine's processor is made for.
Generator GeneratorOfThisMachine();
// "AES-128-CTR", "ChaCha20".
const char* GeneratorName(Generator generator);
// 16 and 32 bytes.
constexpr size_t KeyBytes(Generator generator) {
  return generator == Generator::kAes128Ctr ? 16 : 32;
}

class KeyStream {
 public:
  // `key` has KeyBytes(generator) bytes, and is the caller's to wipe. AES needs its instructions.
  KeyStream(Generator generator, absl::Span<const uint8_t> key);

  // Words 2*first_block, 2*first_block + 1, ... of `stream`.
  void Words(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words);
  std::array<uint64_t, 2> Block(uint64_t stream, uint64_t block);

 private:
  struct Free {
    // Wipes the key, too.
    void operator()(evp_cipher_ctx_st* context) const;
  };

  void ChaChaWords(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words);

  // One of the two.
  std::unique_ptr<const internal::AesRoundKeys> aes_;
  std::unique_ptr<evp_cipher_ctx_st, Free> chacha_;
};

}  // namespace dpledger::client
