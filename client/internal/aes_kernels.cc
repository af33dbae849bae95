#include "client/internal/aes_kernels.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

// Every target, the plainest too: the tests compare each with OpenSSL. AVX3_DL has VAES. The
// scalable targets are left to NEON, for they may lack AES where it has it.
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/aes_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
// clang-format on
#if HWY_ARCH_ARM_A64
#include <sys/auxv.h>
#endif

// Where AESRound is an instruction.
#undef DPLEDGER_AES_INSTRUCTIONS
#if defined(HWY_DISABLE_PCLMUL_AES)
#define DPLEDGER_AES_INSTRUCTIONS 0
#elif HWY_ARCH_X86
#define DPLEDGER_AES_INSTRUCTIONS (HWY_TARGET <= HWY_SSE4)  // wider is smaller
#elif HWY_ARCH_ARM_A64 && (HWY_HAVE_RUNTIME_DISPATCH || defined(__ARM_FEATURE_AES))
#define DPLEDGER_AES_INSTRUCTIONS (HWY_TARGET == HWY_NEON)
#else
#define DPLEDGER_AES_INSTRUCTIONS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if DPLEDGER_AES_INSTRUCTIONS

bool AesKernelExists() { return true; }

// SubWord of FIPS 197: with four equal columns ShiftRows changes nothing.
HWY_INLINE uint32_t SubWord(uint32_t word) {
  const hn::Full128<uint32_t> words;
  const hn::Full128<uint8_t> bytes;
  const auto state = hn::BitCast(bytes, hn::Set(words, word));
  return hn::GetLane(hn::BitCast(words, hn::AESLastRound(state, hn::Zero(bytes))));
}

// FIPS 197, section 5.2, on little-endian words: RotWord rotates to the right.
void ExpandKernel(const uint8_t* key, uint8_t* round_keys) {
  std::memcpy(round_keys, key, 16);
  uint32_t last;
  std::memcpy(&last, key + 12, 4);
  uint32_t round_constant = 1;
  for (size_t i = 4; i < 44; ++i) {
    if (i % 4 == 0) {
      const uint32_t substituted = SubWord(last);
      last = (substituted >> 8 | substituted << 24) ^ round_constant;
      round_constant = round_constant << 1 ^ (round_constant >> 7) * 0x11b;
    }
    uint32_t before;
    std::memcpy(&before, round_keys + 4 * (i - 4), 4);
    last ^= before;
    std::memcpy(round_keys + 4 * i, &last, 4);
  }
}

// Wider vectors pay only where an instruction takes them whole.
#if HWY_TARGET == HWY_AVX3_DL
using Bytes = hn::ScalableTag<uint8_t>;
#else
using Bytes = hn::Full128<uint8_t>;
#endif
using Words = hn::Repartition<uint64_t, Bytes>;
using V = hn::Vec<Bytes>;
using Counters = hn::Vec<Words>;

struct Cipher {
  V keys[11];
  V reverse;       // the bytes of each word
  Counters ahead;  // by one vector

  HWY_INLINE explicit Cipher(const uint8_t* round_keys) {
    const Bytes bytes;
    const Words words;
    HWY_UNROLL(11)
    for (size_t i = 0; i < 11; ++i) keys[i] = hn::LoadDup128(bytes, round_keys + 16 * i);
    alignas(16) static constexpr uint8_t kReverse[16] = {7,  6,  5,  4,  3,  2,  1, 0,
                                                         15, 14, 13, 12, 11, 10, 9, 8};
    reverse = hn::LoadDup128(bytes, kReverse);
    alignas(16) const uint64_t blocks[2] = {0, hn::Lanes(words) / 2};
    ahead = hn::LoadDup128(words, blocks);
  }

  // The next kCount vectors, side by side: one alone would wait for each of its rounds.
  template <size_t kCount>
  HWY_INLINE void Encrypt(Counters& counters, uint64_t* out) const {
    const Bytes bytes;
    const Words words;
    V states[kCount];
    HWY_UNROLL(8)
    for (size_t i = 0; i < kCount; ++i) {
      states[i] = hn::Xor(hn::TableLookupBytes(hn::BitCast(bytes, counters), reverse), keys[0]);
      counters = hn::Add(counters, ahead);
    }
    HWY_UNROLL(9)
    for (size_t round = 1; round < 10; ++round) {
      HWY_UNROLL(8)
      for (size_t i = 0; i < kCount; ++i) states[i] = hn::AESRound(states[i], keys[round]);
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kCount; ++i) {
      const V block = hn::AESLastRound(states[i], keys[10]);
      hn::StoreU(hn::BitCast(words, block), words, out + i * hn::Lanes(words));
    }
  }
};

void WordsKernel(const uint8_t* round_keys, uint64_t stream, uint64_t first_block, uint64_t* words,
                 size_t count) {
  const Words d;
  const size_t n = hn::Lanes(d);
  const Cipher cipher(round_keys);
  HWY_ALIGN uint64_t first[hn::MaxLanes(d)];
  for (size_t i = 0; i < n; i += 2) {
    first[i] = stream;
    first[i + 1] = first_block + i / 2;
  }
  Counters counters = hn::Load(d, first);
  size_t i = 0;
  for (; i + 8 * n <= count; i += 8 * n) cipher.Encrypt<8>(counters, words + i);
  if (i + 4 * n <= count) {
    cipher.Encrypt<4>(counters, words + i);
    i += 4 * n;
  }
  for (; i + n <= count; i += n) cipher.Encrypt<1>(counters, words + i);
  if (i == count) return;
  HWY_ALIGN uint64_t last[hn::MaxLanes(d)];
  cipher.Encrypt<1>(counters, last);
  std::copy(last, last + (count - i), words + i);
}

#else

bool AesKernelExists() { return false; }
void ExpandKernel(const uint8_t*, uint8_t*) { std::abort(); }
void WordsKernel(const uint8_t*, uint64_t, uint64_t, uint64_t*, size_t) { std::abort(); }

#endif

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::client::internal {

HWY_EXPORT(AesKernelExists);
HWY_EXPORT(ExpandKernel);
HWY_EXPORT(WordsKernel);

bool HasAesInstructions() {
#if HWY_ARCH_ARM_A64
  // NEON is chosen on processors without AES, too, when nothing better is there.
  if ((getauxval(AT_HWCAP) & HWCAP_AES) == 0) return false;
#endif
  return HWY_DYNAMIC_DISPATCH(AesKernelExists)();
}

AesRoundKeys::AesRoundKeys(const std::array<uint8_t, 16>& key) {
  HWY_DYNAMIC_DISPATCH(ExpandKernel)(key.data(), bytes_.data());
}

AesRoundKeys::~AesRoundKeys() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

void AesCounterWords(const AesRoundKeys& keys, uint64_t stream, uint64_t first_block,
                     uint64_t* words, size_t count) {
  HWY_DYNAMIC_DISPATCH(WordsKernel)(keys.bytes(), stream, first_block, words, count);
}

}  // namespace dpledger::client::internal
#endif
