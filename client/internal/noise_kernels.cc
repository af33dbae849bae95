#include "client/internal/noise_kernels.h"

// Every target, the plainest too: the tests compare each with the exact slow paths.
#define HWY_COMPILE_ALL_ATTAINABLE
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "client/internal/noise_kernels.cc"
// clang-format off
#include "hwy/foreach_target.h"  // first: what follows is read once for each target
#include "hwy/highway.h"
#include "client/internal/noise_kernels-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace {

static_assert(kPairStep == 8 && kSkipLanes == 8);
using D = hn::CappedTag<double, 8>;
using Words = hn::RebindToUnsigned<D>;
using Integers = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

// ---- Noise ----

size_t RoundKernel(const uint64_t* words, size_t pairs, int64_t sigma_in, int64_t* noise,
                   uint32_t* undecided) {
  const D d;
  const Words du;
  const Integers di;
  const size_t n = hn::Lanes(d);
  const V sigma = hn::Set(d, static_cast<double>(sigma_in));
  // Exact.
  const V limit = hn::Set(d, 0.5 - kNoiseErrorBound * static_cast<double>(sigma_in));
  const V nearest = hn::Set(d, kNearest);

  size_t open = 0;
  for (size_t begin = 0; begin < pairs; begin += n) {
    auto u1 = hn::LoadU(du, words + 2 * begin), u2 = hn::LoadU(du, words + 2 * begin + n);
    Exchange(u1, u2);
    const V radius = hn::Mul(hn::Sqrt(SquaredRadius(d, u1)), sigma);
    V x, y;
    Direction(d, u2, x, y);
    x = hn::Mul(x, radius);
    y = hn::Mul(y, radius);
    const V shifted_x = hn::Add(x, nearest), shifted_y = hn::Add(y, nearest);
    // Exact: both are multiples of the value's last place, and the difference is at most 1/2.
    const V distance_x = hn::Abs(hn::Sub(x, hn::Sub(shifted_x, nearest)));
    const V distance_y = hn::Abs(hn::Sub(y, hn::Sub(shifted_y, nearest)));
    const auto decided = hn::And(hn::Lt(hn::Max(distance_x, distance_y), limit), Within(d, u1));
    auto first = hn::IfThenElseZero(hn::RebindMask(di, decided),
                                    hn::Sub(hn::BitCast(di, shifted_x), hn::BitCast(di, nearest)));
    auto second = hn::IfThenElseZero(hn::RebindMask(di, decided),
                                     hn::Sub(hn::BitCast(di, shifted_y), hn::BitCast(di, nearest)));
    Exchange(first, second);
    hn::StoreU(first, di, noise + 2 * begin);
    hn::StoreU(second, di, noise + 2 * begin + n);
    if (HWY_UNLIKELY(!hn::AllTrue(d, decided))) {
      uint8_t bits[8] = {};
      hn::StoreMaskBits(d, decided, bits);
      for (size_t lane = 0; lane < n; ++lane) {
        if ((bits[0] >> lane & 1) == 0) {
          undecided[open++] = static_cast<uint32_t>(begin + lane / 2 + (lane % 2) * (n / 2));
        }
      }
    }
  }
  return open;
}

void AddKernel(const int64_t* noise, size_t size, int64_t* sums_in) {
  const Words words;
  const size_t n = hn::Lanes(words);
  const auto* addends = reinterpret_cast<const uint64_t*>(noise);
  auto* sums = reinterpret_cast<uint64_t*>(sums_in);
  size_t i = 0;
  for (; i + n <= size; i += n) {
    hn::StoreU(hn::Add(hn::LoadU(words, sums + i), hn::LoadU(words, addends + i)), words, sums + i);
  }
  for (; i < size; ++i) sums[i] += addends[i];
}

void ScaleKernel(const int64_t* sums, const int64_t* noise, size_t size, double grid,
                 float* released) {
  const D d;
  const Integers di;
  const hn::Rebind<float, D> df;
  const V factor = hn::Set(d, grid);
  const size_t n = hn::Lanes(d);
  size_t i = 0;
  // Without registers, Highway takes what overflows for the greatest float instead of infinity.
  const size_t whole = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 ? 0 : size / n * n;
  for (; i < whole; i += n) {
    const auto sum = hn::Add(hn::LoadU(di, sums + i), hn::LoadU(di, noise + i));
    hn::StoreU(hn::DemoteTo(df, hn::Mul(factor, hn::ConvertTo(d, sum))), df, released + i);
  }
  for (; i < size; ++i) {
    released[i] = static_cast<float>(grid * static_cast<double>(sums[i] + noise[i]));
  }
}

// ---- Skips ----

bool SkipsKernel(const uint64_t* words, size_t count, double inverse_rate, uint64_t* skips) {
  const D d;
  const Words u64;
  // The bound of line V: relative, and what the interval of a U above 1/2 is wide.
  const V relative = hn::Set(d, 0x1p-43);
  const V absolute = hn::Set(d, 0x1p-63 * inverse_rate);
  const V greatest = hn::Set(d, static_cast<double>(kSkipLimit) + 0.5);
  const V half_inverse = hn::Set(d, 0.5 * inverse_rate), one52 = hn::Set(d, 0x1p52);
  auto all_decided = hn::Eq(one52, one52);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto word = hn::LoadU(u64, words + i);
    const V quotient = hn::Min(hn::Mul(SquaredRadius(d, word), half_inverse), greatest);
    const V error = hn::MulAdd(quotient, relative, absolute);
    const V skip = hn::Floor(quotient);
    const V above = hn::Sub(quotient, skip);  // exact
    const V below = hn::Sub(hn::Set(d, 1.0), above);
    const auto decided = hn::And(hn::Lt(error, hn::Min(above, below)), Within(d, word));
    all_decided = hn::And(all_decided, decided);
    // The last digits of 2^52 + skip.
    const auto whole = hn::Xor(hn::BitCast(u64, hn::Add(skip, one52)), hn::BitCast(u64, one52));
    const auto result =
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

double OpenPairShare(int64_t sigma) {
  // A value that is found this near a half-integer is within 1.5 times that of it; the densities of
  // a unimodal distribution one unit apart add up to at most 1 + its greatest.
  const double width = 2 * 1.5 * kNoiseErrorBound * static_cast<double>(sigma);
  return 0x1p-18 + 0x1p-30 + 2 * width * (1 + 1 / static_cast<double>(sigma));
}

HWY_EXPORT(RoundKernel);
HWY_EXPORT(AddKernel);
HWY_EXPORT(ScaleKernel);
HWY_EXPORT(SkipsKernel);

size_t RoundPairs(const uint64_t* words, size_t pairs, int64_t sigma, int64_t* noise,
                  uint32_t* undecided) {
  return HWY_DYNAMIC_DISPATCH(RoundKernel)(words, pairs, sigma, noise, undecided);
}

void AddModulo(const int64_t* addends, size_t size, int64_t* sums) {
  HWY_DYNAMIC_DISPATCH(AddKernel)(addends, size, sums);
}

void AddAndScale(const int64_t* sums, const int64_t* noise, size_t size, double grid,
                 float* released) {
  HWY_DYNAMIC_DISPATCH(ScaleKernel)(sums, noise, size, grid, released);
}

bool GeometricSkips(const uint64_t* words, size_t count, double rate, uint64_t* skips) {
  return HWY_DYNAMIC_DISPATCH(SkipsKernel)(words, count, 1 / rate, skips);
}

}  // namespace dpledger::client::internal
#endif
