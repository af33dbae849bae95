#include "client/internal/buffer_kernels.h"

#include <algorithm>

// Every target, the plainest too: the tests compare each with plain integers.
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/buffer_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<uint64_t, 8>;
using Signed = hn::RebindToSigned<Words>;
using V = hn::Vec<Signed>;

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

void EncodeKernel(const BufferOfSums* buffers, size_t count, int64_t most_sum, int message_bits,
                  int guard_bits, size_t size, const int64_t* sums, int64_t* message) {
  const Signed d;
  const Words words;
  const size_t n = hn::Lanes(d);
  const auto encode = [&](size_t at, const int64_t* from, int64_t* to, auto&& values_of) HWY_ATTR {
    const V sum = hn::Max(hn::Min(hn::LoadU(d, from), hn::Set(d, most_sum)), hn::Set(d, -most_sum));
    V past = hn::Zero(d);
    for (size_t b = 0; b < count; ++b) {
      const BufferOfSums& buffer = buffers[b];
      int64_t* const values = values_of(b) + at;
      const V value = hn::LoadU(d, values);
      past = hn::Add(past, MultiplyAndShift(value, buffer.weight,
                                            16 + buffer.fraction_bits - message_bits - guard_bits));
      hn::StoreU(hn::Add(MultiplyAndShift(value, buffer.decay, 16),
                         hn::ShiftLeftSame(sum, buffer.fraction_bits)),
                 d, values);
    }
    // Without a sign, for which wrapping is defined.
    const auto own = hn::BitCast(words, hn::ShiftLeftSame(sum, message_bits));
    const auto added = hn::Add(own, hn::BitCast(words, hn::ShiftRightSame(past, guard_bits)));
    hn::StoreU(hn::BitCast(d, hn::Add(added, hn::BitCast(words, hn::LoadU(d, to)))), d, to);
  };
  size_t i = 0;
  for (; i + n <= size; i += n) {
    encode(i, sums + i, message + i, [&](size_t b) { return buffers[b].values; });
  }
  if (i == size) return;
  // Zeros behind the end; what they become is left.
  constexpr size_t kMax = hn::MaxLanes(Signed());
  int64_t last_sums[kMax] = {}, last_message[kMax] = {}, last_values[kMaxBuffers][kMax] = {};
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

void EncodeBuffers(const BufferOfSums* buffers, size_t count, int64_t most_sum, int message_bits,
                   int guard_bits, size_t size, const int64_t* sums, int64_t* message) {
  HWY_DYNAMIC_DISPATCH(EncodeKernel)
  (buffers, count, most_sum, message_bits, guard_bits, size, sums, message);
}

}  // namespace dpledger::client::internal
#endif
