// Two Gaussians in each lane from two words of random bits (Box and Muller 1958), for code that is
// itself compiled once per target. Include after hwy/foreach_target.h.
//
// Only correctly rounded operations, in a fixed order; multiplications may be fused with the
// addition that follows. Error bound, for both ways: client/CLAIM.md, lines P and N. Assumes
// round-to-nearest.

// Not #pragma once: read again for each target.
#if defined(DPLEDGER_CLIENT_INTERNAL_NOISE_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DPLEDGER_CLIENT_INTERNAL_NOISE_KERNELS_INL_H_
#undef DPLEDGER_CLIENT_INTERNAL_NOISE_KERNELS_INL_H_
#else
#define DPLEDGER_CLIENT_INTERNAL_NOISE_KERNELS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "client/internal/noise_constants.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dpledger::client::internal::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// U1 outside [kLeastU1, kGreatestU1] 2^-64 is left to others: below, 64 bits say too little about
// the radius; above, too little about its square root.
inline constexpr uint64_t kLeastU1 = uint64_t{1} << 46;
inline constexpr uint64_t kGreatestU1 = ~(uint64_t{1} << 34);
// Rounds to the nearest integer when it is added: see clip_kernels.h.
inline constexpr double kNearest = 0x1.8p52;

template <size_t kCount, class D, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, const double (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// table[index % 16], from registers where two hold the table.
template <class D, class VU, class V = hn::Vec<D>>
HWY_INLINE V Lookup(D d, const double (&table)[16], VU index) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V{_mm512_permutex2var_pd(hn::LoadU(d, table).raw, index.raw, hn::LoadU(d, table + 8).raw)};
#else
  const auto low = hn::And(index, hn::Set(hn::RebindToUnsigned<D>(), 15));
  return hn::GatherIndex(d, table, hn::BitCast(hn::RebindToSigned<D>(), low));
#endif
}

// Whether SquaredRadius is near enough for the word.
template <class D, class VU>
HWY_INLINE hn::Mask<D> Within(D d, VU word) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  // As signed numbers, for a comparison that every target has.
  const auto least = hn::Set(du, kLeastU1 + (uint64_t{1} << 63));
  const auto end =
      hn::Set(di, static_cast<int64_t>(kGreatestU1 - kLeastU1 + 1 + (uint64_t{1} << 63)));
  return hn::RebindMask(d, hn::Lt(hn::BitCast(di, hn::Sub(word, least)), end));
}

// -2 ln U1.
template <class D, class VU, class V = hn::Vec<D>>
HWY_INLINE V SquaredRadius(D d, VU u1) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  // The distance of U1 from the nearer end of [0, 1], which near 1 keeps the digits.
  const auto word = hn::BitCast(di, u1);
  const auto distance =
      hn::Add(hn::ConvertTo(d, hn::Xor(word, hn::BroadcastSignBit(word))), hn::Set(d, 0.5));
  const auto near_one = hn::RebindMask(d, hn::Lt(word, hn::Zero(di)));
  const V u = hn::IfThenElse(near_one, hn::Sub(hn::Set(d, 0x1p64), distance), distance);

  // u = 2^64 U1, U1 = m 2^-(e+1) with m in [1, 2): -2 ln U1 = 2 e ln 2 + 2 ln(2 scale) - 2 ln(scale
  // m).
  const auto bits = hn::BitCast(du, u);
  const auto index = hn::ShiftRight<48>(bits);
  const V scale = Lookup(d, kScales, index);
  // 2^52 + 1086 - e.
  const V shifted =
      hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::BitCast(du, hn::Set(d, 0x1p52))));
  const V e = hn::Sub(hn::Set(d, 0x1p52 + 1086), shifted);
  const V base = hn::MulAdd(e, hn::Set(d, 0x1.62e42fefa39efp+0), Lookup(d, kScaleLogs, index));

  // scale m - 1; from 1/2 on m = 2 - 2 distance.
  const V m = hn::BitCast(
      d, hn::Or(hn::And(bits, hn::Set(du, 0x000fffffffffffffu)), hn::BitCast(du, hn::Set(d, 1))));
  const V factor = hn::IfThenElse(near_one, hn::Mul(distance, hn::Set(d, -0x1p-63)), m);
  const V addend =
      hn::IfThenElse(near_one, hn::MulAdd(scale, hn::Set(d, 2), hn::Set(d, -1)), hn::Set(d, -1));
  const V t = hn::MulAdd(scale, factor, addend);
  const V slope = hn::MulAdd(Polynomial(d, t, kLogTail), t, hn::Set(d, 2));
  return hn::NegMulAdd(t, slope, base);
}

// cos and sin of 2 pi U2.
template <class D, class VU, class V = hn::Vec<D>>
HWY_INLINE void Direction(D d, VU u2, V& cosine, V& sine) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  // 2 pi U2 = quarter * pi/2 + angle with abs(angle) <= pi/4; the split is exact, in integers.
  const auto rest = hn::BitCast(di, hn::ShiftLeft<2>(u2));
  const V angle = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, 0x1.921fb54442d18p-64));
  const V z = hn::Mul(angle, angle);
  const V s = hn::MulAdd(hn::Mul(angle, z), Polynomial(d, z, kSineTail), angle);
  const V c = hn::MulAdd(z, Polynomial(d, z, kCosineTail), hn::Set(d, 1));

  // (c, s), (-s, c), (-c, -s), (s, -c) in the four quarters: bit 63 of `quarter` and bit 62.
  const auto quarter = hn::Add(u2, hn::Set(du, uint64_t{1} << 61));
  const auto next = hn::Add(quarter, quarter);
  const auto odd = hn::RebindMask(d, hn::Lt(hn::BitCast(di, next), hn::Zero(di)));
  const V sign = hn::Set(d, -0.0);
  cosine =
      hn::Xor(hn::IfThenElse(odd, s, c), hn::And(hn::BitCast(d, hn::Xor(quarter, next)), sign));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), hn::And(hn::BitCast(d, quarter), sign));
}

// Two vectors of pairs (U1, U2) become one of U1 and one of U2, and back.
template <class V>
HWY_INLINE void Exchange([[maybe_unused]] V& first, [[maybe_unused]] V& second) {
#if HWY_TARGET != HWY_SCALAR  // where a vector is one word already
  const auto lower = hn::InterleaveLower(hn::DFromV<V>(), first, second);
  second = hn::InterleaveUpper(hn::DFromV<V>(), first, second);
  first = lower;
#endif
}

}  // namespace dpledger::client::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DPLEDGER_CLIENT_INTERNAL_NOISE_KERNELS_INL_H_
