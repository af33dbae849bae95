// The client's random bits: AES-128 in counter mode under keys that never leave the process.
//
// 1. A root key comes from the kernel (getrandom) at each start; it is never written or printed,
//    and is wiped when its holder is destroyed. Keys of single steps are derived from it, so no two
//    steps share a key stream.
// 2. Every 64-bit word has an address (key, stream, index), so samples can be computed in any
//    order, in parallel and again: docs/formats.md, section 3.1.
// 3. A failing generator ends the process: no safe result exists without random bits.
//
// Thread safety: one AesCtr per thread. RootKey is thread-compatible.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace dpledger::client {

class AesCtr {
 public:
  using Key = std::array<uint8_t, 16>;

  explicit AesCtr(const Key& key);

  // Words 2*first_block, 2*first_block + 1, ... of `stream`: an AES block holds two.
  void Words(uint64_t stream, uint64_t first_block, absl::Span<uint64_t> words);
  std::array<uint64_t, 2> Block(uint64_t stream, uint64_t block);

 private:
  struct Free {
    // Wipes the key schedule, too.
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

// What a derived key is for. Part of the format.
enum class KeyPurpose : uint64_t { kNoise = 1, kSampling = 2 };

class RootKey {
 public:
  // 128 bits from the kernel. UNAVAILABLE if it has none to give.
  static absl::StatusOr<RootKey> FromKernel();
  // A key that anyone can compute: its noise hides nothing. For replay in tests only.
  static RootKey NonPrivateForTesting(uint64_t seed);

  RootKey(RootKey&& other);
  RootKey& operator=(RootKey&&) = delete;
  ~RootKey();

  bool non_private() const { return non_private_; }
  // FAILED_PRECONDITION in a child that was forked after the key was drawn, for both sides would
  // draw the same noise; and under a rounding mode other than to nearest, which the certified
  // samplers assume.
  absl::Status CheckSafeToDraw() const;
  AesCtr Derive(KeyPurpose purpose, uint64_t step) const;

 private:
  RootKey();

  AesCtr::Key key_;
  int64_t process_;
  bool non_private_ = false;
};

// The stream of a sample's words: `level` 0 holds their first 64 bits, level j the bits from 64*j
// on, which are drawn only where the ones before leave a result open. `part` < 2^48 is a group's
// index or a block of records.
constexpr uint64_t StreamOf(uint64_t level, uint64_t part) { return level << 48 | part; }

}  // namespace dpledger::client
