// AES-128 in counter mode by the processor's AES instructions, on the widest registers that it has
// them for. Highway's dispatch also reaches processors without such instructions, where it would
// imitate them in tables and at a crawl: there HasAesInstructions() says so, and everything else
// here aborts.
//
// Constant time: no branch and no address depends on a key. Thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

// Of the processor, and of the targets that Highway may choose from.
bool HasAesInstructions();

// The eleven round keys (FIPS 197, section 5.2), wiped when destroyed.
class AesRoundKeys {
 public:
  explicit AesRoundKeys(const std::array<uint8_t, 16>& key);
  AesRoundKeys(const AesRoundKeys&) = delete;
  AesRoundKeys& operator=(const AesRoundKeys&) = delete;
  ~AesRoundKeys();

  const uint8_t* bytes() const { return bytes_.data(); }

 private:
  alignas(16) std::array<uint8_t, 11 * 16> bytes_;
};

// words[0, count) = words 2 first_block, 2 first_block + 1, ... of the stream: blocks are the
// encryptions of stream, block number (8 bytes big-endian each), words their little-endian halves
// (docs/formats.md, section 3.1). No alignment is needed.
void AesCounterWords(const AesRoundKeys& keys, uint64_t stream, uint64_t first_block,
                     uint64_t* words, size_t count);

}  // namespace dpledger::client::internal
