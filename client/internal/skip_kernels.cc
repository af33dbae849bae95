#include "client/internal/skip_kernels.h"

#include <bit>

// Every target, the plainest too: the tests compare each with MPFR.
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/skip_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kSkipLanes>;
using Words = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VWord = hn::Vec<Words>;

// 2^52: its last place is 1.
constexpr uint64_t kOne52 = 0x4330000000000000;

HWY_INLINE V Number(uint64_t bits) { return hn::BitCast(D(), hn::Set(Words(), bits)); }

// word + 1/2, with one rounding each for the conversion and the half. The upper half of the word
// becomes the last digits of a number in [2^84, 2^85), the lower one those of one in [2^52, 2^53).
HWY_INLINE V Midpoint(VWord word) {
  const D d;
  const Words words;
  const VWord low = hn::And(word, hn::Set(words, 0xffffffff));
  const V upper =
      hn::BitCast(d, hn::Or(hn::ShiftRight<32>(word), hn::Set(words, 0x4530000000000000)));
  const V lower = hn::BitCast(d, hn::Or(low, hn::Set(words, kOne52)));
  const V value = hn::Add(hn::Sub(upper, hn::Set(d, 0x1.00000001p84)), lower);
  return hn::Add(value, hn::Set(d, 0.5));
}

// -ln of the middle of [word, word + 1] 2^-64: U = 2^-k (1 + f), 1 + f from sqrt(1/2) to sqrt(2);
// ln(1 + f) = 2 atanh(f / (2 + f)) by its series. Where k = 0, f is taken from the end at 1, so
// that it keeps its digits.
HWY_INLINE V NegativeLog(VWord word) {
  const D d;
  const Words words;
  constexpr uint64_t kExponents = uint64_t{1} << 52;
  constexpr uint64_t kSqrtHalf = std::bit_cast<uint64_t>(0x1.6a09e667f3bcdp-1);
  // Bits of the midpoint less those of sqrt(1/2) 2^64; 1024 more in the exponent keep it positive.
  const VWord shifted = hn::Add(hn::BitCast(words, Midpoint(word)),
                                hn::Set(words, (1024 - 64) * kExponents - kSqrtHalf));
  const VWord exponent = hn::ShiftRight<52>(shifted);  // 1024 - k
  const VWord mantissa = hn::And(shifted, hn::Set(words, kExponents - 1));
  const V one_plus_f = hn::BitCast(d, hn::Add(mantissa, hn::Set(words, kSqrtHalf)));
  const V k =
      hn::Sub(hn::Set(d, 0x1p52 + 1024), hn::BitCast(d, hn::Or(exponent, hn::Set(words, kOne52))));
  const V from_one = hn::Mul(Midpoint(hn::Not(word)), hn::Set(d, -0x1p-64));
  const V f =
      hn::IfThenElse(hn::Eq(k, hn::Zero(d)), from_one, hn::Sub(one_plus_f, hn::Set(d, 1.0)));

  const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const V z = hn::Mul(s, s);
  V series = hn::Set(d, 2.0 / 17);
  for (const double next : {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3}) {
    series = hn::MulAdd(series, z, hn::Set(d, next));
  }
  const V log = hn::MulAdd(hn::Mul(s, z), series, hn::Add(s, s));
  return hn::MulSub(k, hn::Set(d, 0x1.62e42fefa39efp-1), log);
}

bool SkipsKernel(const uint64_t* words, size_t count, double inverse_rate, uint64_t* skips) {
  const D d;
  const Words u64;
  // The bound of line V: relative, and what an interval at U = 1 is wide.
  const V relative = hn::Set(d, 0x1p-43);
  const V absolute = hn::Set(d, 0x1p-63 * inverse_rate);
  // -ln 2^-23: the interval of a word at 2^40 or below is too wide for the relative bound.
  const V greatest_log = hn::Set(d, 16.0);
  const V greatest = hn::Set(d, static_cast<double>(kSkipLimit) + 0.5);
  const V inverse = hn::Set(d, inverse_rate), one52 = Number(kOne52);
  auto all_decided = hn::Eq(one52, one52);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V log = NegativeLog(hn::LoadU(u64, words + i));
    const V quotient = hn::Min(hn::Mul(log, inverse), greatest);
    const V error = hn::MulAdd(quotient, relative, absolute);
    const V skip = hn::Floor(quotient);
    const V above = hn::Sub(quotient, skip);  // exact
    const V below = hn::Sub(hn::Set(d, 1.0), above);
    const auto decided = hn::And(hn::Lt(error, hn::Min(above, below)), hn::Lt(log, greatest_log));
    all_decided = hn::And(all_decided, decided);
    // The last digits of 2^52 + skip.
    const VWord whole = hn::Xor(hn::BitCast(u64, hn::Add(skip, one52)), hn::Set(u64, kOne52));
    const VWord result =
        hn::IfThenElse(hn::RebindMask(u64, decided), whole, hn::Set(u64, kUndecided));
    hn::StoreU(result, u64, skips + i);
  }
  return hn::AllTrue(d, all_decided);
}

}  // namespace
}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dpledger::client::internal {

HWY_EXPORT(SkipsKernel);

bool GeometricSkips(const uint64_t* words, size_t count, double rate, uint64_t* skips) {
  return HWY_DYNAMIC_DISPATCH(SkipsKernel)(words, count, 1 / rate, skips);
}

}  // namespace dpledger::client::internal
#endif
