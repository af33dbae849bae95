// Keys of noise and samples.
//
// 1. A root key comes from the kernel (getrandom) at each start, unless a run is carried on
//    (client/run_state.h), and is written for that alone, sealed. It is wiped when its holder is
//    destroyed or moved from, and cannot be copied.
// 2. Keys of single steps are derived from it, so no two steps share a key stream
//    (docs/formats.md, section 3.1).
//
// Thread safety: thread-compatible.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/key_stream.h"

namespace dpledger::client {
namespace internal {
class StateReader;
class StateWriter;
}  // namespace internal

// What a derived key is for. Part of the format.
enum class KeyPurpose : uint64_t {
  kNoise = 1,
  kSampling = 2,
  kFixedSizeSampling = 3,
  kRandomAllocation = 4,
  kShuffling = 5,
  kDigest = 6,
};

class RootKey {
 public:
  // A key for the generator of this machine. UNAVAILABLE if the kernel has none to give.
  static absl::StatusOr<RootKey> FromKernel();
  // A key that anyone can compute: its noise hides nothing. For replay in tests only.
  static RootKey NonPrivateForTesting(uint64_t seed);

  RootKey(RootKey&& other);
  RootKey& operator=(RootKey&&) = delete;
  ~RootKey();

  // For client/run_state.h. FAILED_PRECONDITION if this machine lacks the key's generator,
  // DATA_LOSS if there is no key.
  void Save(internal::StateWriter& to) const;
  static absl::StatusOr<RootKey> Restore(internal::StateReader& from);

  // What the claim assumes to be random (client/CLAIM.md, assumption 1).
  Generator generator() const { return generator_; }
  bool non_private() const { return non_private_; }
  // FAILED_PRECONDITION in a child that was forked after the key was drawn, for both sides would
  // draw the same noise; and under a rounding mode other than to nearest, which the certified
  // samplers assume.
  absl::Status CheckSafeToDraw() const;
  KeyStream Derive(KeyPurpose purpose, uint64_t step) const;

 private:
  RootKey();
  absl::Span<const uint8_t> key() const { return {key_.data(), KeyBytes(generator_)}; }

  std::array<uint8_t, 32> key_ = {};  // its first KeyBytes(generator_) count
  Generator generator_;
  // The process that drew it: pid and fork count; pids repeat across namespaces.
  int64_t process_;
  uint64_t forks_;
  bool non_private_ = false;
};

// The stream of a sample's words: `level` 0 holds their first 64 bits, level j the bits from 64*j
// on, which are drawn only where the ones before leave a result open. `part` < 2^48 is a group's
// index or a block of records.
constexpr uint64_t StreamOf(uint64_t level, uint64_t part) { return level << 48 | part; }

}  // namespace dpledger::client
