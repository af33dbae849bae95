#include "client/internal/band_kernels.h"

#include <algorithm>

#include "client/internal/buffer_plan.h"

// Every target, the plainest too: the tests compare each with plain loops and integers.
#define HWY_COMPILE_ALL_ATTAINABLE
// Vectors of no fixed size cannot be elements of arrays; such machines use NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/band_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using Floats = hn::Rebind<float, D>;
using Signed = hn::RebindToSigned<D>;
using Words = hn::RebindToUnsigned<D>;

// ---- Bands ----

// Vectors whose results are in registers at once; narrow ones go over a block in parts.
constexpr size_t kVectors = 8;

// coefficient * value modulo 2^64, for coefficients below 2^32: two products of halves, where a
// full one takes three or is slow.
HWY_INLINE hn::Vec<Words> Product(hn::Vec<Words> coefficient, hn::Vec<Words> value) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Mul(coefficient, value);
#else
  const hn::Repartition<uint32_t, Words> halves;
  const auto a = hn::BitCast(halves, coefficient);
  const auto low = hn::MulEven(a, hn::BitCast(halves, value));
  const auto high = hn::MulEven(a, hn::BitCast(halves, hn::ShiftRight<32>(value)));
  return hn::Add(low, hn::ShiftLeft<32>(high));
#endif
}

// Calls add(age, place) for the steps of the ring, the oldest first.
template <typename Add>
HWY_INLINE void ForEachAge(size_t band, uint64_t step, Add add) {
  const size_t oldest = static_cast<size_t>(step % band);
  size_t age = band;
  for (size_t place = oldest; place < band; ++place) add(age--, place);
  for (size_t place = 0; place < oldest; ++place) add(age--, place);
}

// One block of whole vectors; `ring` is its history.
HWY_INLINE void EncodeBlock(const uint32_t* coefficients, size_t band, uint64_t step,
                            const uint64_t* sums, uint64_t* ring, uint64_t* message) {
  const Words words;
  const size_t n = hn::Lanes(words);
  for (size_t begin = 0; begin < kHistoryBlock; begin += kVectors * n) {
    hn::Vec<Words> sum[kVectors];
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) sum[v] = hn::LoadU(words, message + begin + v * n);
    const auto add = [&](uint32_t coefficient, const uint64_t* values) HWY_ATTR {
      const auto a = hn::Set(words, coefficient);
      HWY_UNROLL(8)
      for (size_t v = 0; v < kVectors; ++v)
        sum[v] = hn::Add(sum[v], Product(a, hn::LoadU(words, values + v * n)));
    };
    ForEachAge(band, step, [&](size_t age, size_t place) HWY_ATTR {
      add(coefficients[age], ring + place * kHistoryBlock + begin);
    });
    add(coefficients[0], sums + begin);
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], words, message + begin + v * n);
  }
  std::copy(sums, sums + kHistoryBlock, ring + step % band * kHistoryBlock);
}

HWY_INLINE void DecodeBlock(const uint32_t* coefficients, size_t band, uint64_t step,
                            const int64_t* message, float* ring, float* estimates) {
  const D d;
  const Floats floats;
  const Signed integers;
  const size_t n = hn::Lanes(d);
  const auto inverse = hn::Set(d, 1.0 / coefficients[0]);
  for (size_t begin = 0; begin < kHistoryBlock; begin += kVectors * n) {
    hn::Vec<D> x[kVectors];
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v)
      x[v] = hn::ConvertTo(d, hn::LoadU(integers, message + begin + v * n));
    ForEachAge(band, step, [&](size_t age, size_t place) HWY_ATTR {
      const auto a = hn::Set(d, coefficients[age]);
      const float* values = ring + place * kHistoryBlock + begin;
      HWY_UNROLL(8)
      for (size_t v = 0; v < kVectors; ++v)
        x[v] = hn::NegMulAdd(a, hn::PromoteTo(d, hn::LoadU(floats, values + v * n)), x[v]);
    });
    HWY_UNROLL(8)
    for (size_t v = 0; v < kVectors; ++v)
      hn::StoreU(hn::DemoteTo(floats, hn::Mul(x[v], inverse)), floats, estimates + begin + v * n);
  }
  std::copy(estimates, estimates + kHistoryBlock, ring + step % band * kHistoryBlock);
}

// Whole blocks where they are; the rest is filled up with zeros.
void EncodeKernel(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                  const uint64_t* sums, uint64_t* history, uint64_t* message) {
  size_t i = 0;
  for (; i + kHistoryBlock <= size; i += kHistoryBlock) {
    EncodeBlock(coefficients, band, step, sums + i, history + i * band, message + i);
  }
  if (i == size) return;
  uint64_t last_sums[kHistoryBlock] = {}, last_message[kHistoryBlock] = {};
  std::copy(sums + i, sums + size, last_sums);
  std::copy(message + i, message + size, last_message);
  EncodeBlock(coefficients, band, step, last_sums, history + i * band, last_message);
  std::copy(last_message, last_message + (size - i), message + i);
}

void DecodeKernel(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                  const int64_t* message, float* history, float* estimates) {
  size_t i = 0;
  for (; i + kHistoryBlock <= size; i += kHistoryBlock) {
    DecodeBlock(coefficients, band, step, message + i, history + i * band, estimates + i);
  }
  if (i == size) return;
  int64_t last_message[kHistoryBlock] = {};
  float last_estimates[kHistoryBlock];
  std::copy(message + i, message + size, last_message);
  DecodeBlock(coefficients, band, step, last_message, history + i * band, last_estimates);
  std::copy(last_estimates, last_estimates + (size - i), estimates + i);
}

// ---- Buffers ----

using V = hn::Vec<Signed>;

// Beside the fraction's bits: what a buffer adds to a message is summed up in guard units.
constexpr int kPastShift = BufferPlan::kBits - BufferPlan::kMessageBits - BufferPlan::kGuardBits;

// floor(value factor / 2^shift), for factor < 2^31: the halves of the value are multiplied each.
HWY_INLINE V MultiplyAndShift(V value, uint32_t factor, int shift) {
  const Signed d;
  const Words words;
#if HWY_TARGET == HWY_SCALAR
  const int64_t high = (hn::GetLane(value) >> 32) * int64_t{factor};
  const uint64_t low = (static_cast<uint64_t>(hn::GetLane(value)) & 0xffffffff) * factor;
  return hn::BitCast(
      d, hn::Set(words, (static_cast<uint64_t>(high) << (32 - shift)) + (low >> shift)));
#else
  const hn::Repartition<int32_t, Signed> signed_halves;
  const hn::Repartition<uint32_t, Signed> halves;
  const auto factors = hn::Set(words, factor);
  const auto high = hn::MulEven(hn::BitCast(signed_halves, hn::ShiftRight<32>(value)),
                                hn::BitCast(signed_halves, factors));
  const auto low = hn::MulEven(hn::BitCast(halves, value), hn::BitCast(halves, factors));
  return hn::BitCast(d, hn::Add(hn::ShiftLeftSame(hn::BitCast(words, high), 32 - shift),
                                hn::ShiftRightSame(low, shift)));
#endif
}

void EncodeBuffersKernel(const BufferOfSums* buffers, size_t count, size_t size,
                         const int64_t* sums, int64_t* message) {
  const Signed d;
  const Words words;
  const size_t n = hn::Lanes(d);
  const auto encode = [&](size_t at, const int64_t* from, int64_t* to, auto&& values_of) HWY_ATTR {
    const V most = hn::Set(d, BufferPlan::kMostSum), least = hn::Set(d, -BufferPlan::kMostSum);
    const V sum = hn::Max(hn::Min(hn::LoadU(d, from), most), least);
    V past = hn::Zero(d);
    for (size_t b = 0; b < count; ++b) {
      const BufferOfSums& buffer = buffers[b];
      int64_t* const values = values_of(b) + at;
      const V value = hn::LoadU(d, values);
      past =
          hn::Add(past, MultiplyAndShift(value, buffer.weight, buffer.fraction_bits + kPastShift));
      hn::StoreU(hn::Add(MultiplyAndShift(value, buffer.decay, BufferPlan::kBits),
                         hn::ShiftLeftSame(sum, buffer.fraction_bits)),
                 d, values);
    }
    // Without a sign, for which wrapping is defined.
    const auto own = hn::BitCast(words, hn::ShiftLeft<BufferPlan::kMessageBits>(sum));
    const auto added =
        hn::Add(own, hn::BitCast(words, hn::ShiftRight<BufferPlan::kGuardBits>(past)));
    hn::StoreU(hn::BitCast(d, hn::Add(added, hn::BitCast(words, hn::LoadU(d, to)))), d, to);
  };
  size_t i = 0;
  for (; i + n <= size; i += n) {
    encode(i, sums + i, message + i, [&](size_t b) { return buffers[b].values; });
  }
  if (i == size) return;
  // Zeros behind the end; what they become is left.
  constexpr size_t kMax = hn::MaxLanes(Signed());
  int64_t last_sums[kMax] = {}, last_message[kMax] = {},
          last_values[BufferPlan::kMostBuffers][kMax] = {};
  std::copy(sums + i, sums + size, last_sums);
  std::copy(message + i, message + size, last_message);
  for (size_t b = 0; b < count; ++b) {
    std::copy(buffers[b].values + i, buffers[b].values + size, last_values[b]);
  }
  encode(0, last_sums, last_message, [&](size_t b) { return last_values[b]; });
  std::copy(last_message, last_message + (size - i), message + i);
  for (size_t b = 0; b < count; ++b) {
    std::copy(last_values[b], last_values[b] + (size - i), buffers[b].values + i);
  }
}

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::client::internal {

HWY_EXPORT(EncodeKernel);
HWY_EXPORT(DecodeKernel);
HWY_EXPORT(EncodeBuffersKernel);

// The same integers without a sign, for which wrapping is defined.
void EncodeBand(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                const int64_t* sums, int64_t* history, int64_t* message) {
  HWY_DYNAMIC_DISPATCH(EncodeKernel)
  (coefficients, band, step, size, reinterpret_cast<const uint64_t*>(sums),
   reinterpret_cast<uint64_t*>(history), reinterpret_cast<uint64_t*>(message));
}

void DecodeBand(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                const int64_t* message, float* history, float* estimates) {
  HWY_DYNAMIC_DISPATCH(DecodeKernel)
  (coefficients, band, step, size, message, history, estimates);
}

void EncodeBuffers(const BufferOfSums* buffers, size_t count, size_t size, const int64_t* sums,
                   int64_t* message) {
  HWY_DYNAMIC_DISPATCH(EncodeBuffersKernel)(buffers, count, size, sums, message);
}

}  // namespace dpledger::client::internal
#endif
