// The kernels of vector_math.h on one vector, for code that is compiled once per target. Include
// after hwy/foreach_target.h; vector_math.h states bounds and domains.
//
// Written with + - * / alone, never a fused multiply-add, and with the same order of operations for
// every width: every target gives the same bits. Polynomials are interpolants at Chebyshev nodes,
// by tests/oracle/vector_math.py.

// Not #pragma once: read again for each target.
#if defined(DPLEDGER_ACCOUNTANT_NUMERIC_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DPLEDGER_ACCOUNTANT_NUMERIC_VECTOR_MATH_INL_H_
#undef DPLEDGER_ACCOUNTANT_NUMERIC_VECTOR_MATH_INL_H_
#else
#define DPLEDGER_ACCOUNTANT_NUMERIC_VECTOR_MATH_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dpledger::accountant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// log 2 and π/2 in parts: products of the leading ones with whole numbers below 2^11 and 2^21 are
// exact.
inline constexpr double kLn2Hi = 0x1.62e42fefa3000p-1, kLn2Lo = 0x1.3de6af278ece6p-42;
inline constexpr double kHalfPi1 = 0x1.921fb54400000p+0, kHalfPi2 = 0x1.0b4611a600000p-34,
                        kHalfPi3 = 0x1.3198a2e037073p-69;
// error 8.6e-19
inline constexpr double kExp[] = {
    0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,  0x1.11111111100dcp-7,
    0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13, 0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19,
    0x1.27e4db646b17ep-22, 0x1.af4de97ca4194p-26, 0x1.1f730349868cep-29};
// error 9.3e-18
inline constexpr double kLog[] = {0x1.5555555555558p-1, 0x1.99999999952d7p-2, 0x1.2492492df281ap-2,
                                  0x1.c71c62e3f11e6p-3, 0x1.7462b51cb66b1p-3, 0x1.39fe51a7c18f9p-3,
                                  0x1.2b5900de53b32p-3};
// error 1.8e-17
inline constexpr double kSin[] = {-0x1.5555555555555p-3,  0x1.1111111110bb2p-7,
                                  -0x1.a01a019e83816p-13, 0x1.71de379654304p-19,
                                  -0x1.ae600aca92c64p-26, 0x1.5e0b05bff20f2p-33};
// error 9.0e-19
inline constexpr double kCos[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16967p-10,
                                  0x1.a01a019f4e9b4p-16, -0x1.27e4fa17bf139p-22,
                                  0x1.1eeb68cd22f56p-29, -0x1.907d8f29fe831p-37};
// error 3.0e-18
inline constexpr double kAtan[] = {
    -0x1.5555555555555p-2, 0x1.9999999999953p-3, -0x1.249249248d7dcp-3, 0x1.c71c71c303dbbp-4,
    -0x1.745d165dc9713p-4, 0x1.3b1392d519db1p-4, -0x1.110e87b4357d2p-4, 0x1.e19a0bfa3eef9p-5,
    -0x1.ac7a5a79b3f26p-5, 0x1.74dccfb93fff0p-5, -0x1.1b311bb48c215p-5, 0x1.0acd9e91a5a35p-6};
// Adding it leaves a number's nearest whole number in the last bits.
inline constexpr double kRounder = 0x1.8p52;

// c0 + c1 x + ..., by pairs (Estrin).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Pair(D d, V x, double c0, double c1) {
  return hn::Add(hn::Set(d, c0), hn::Mul(hn::Set(d, c1), x));
}

// x = n·log 2 + r + low, |r| <= log(2)/2 and a little; r·P(r) with e^r = 1 + r + r²P(r).
template <class V>
struct ExpParts {
  V n, shifted, r, low, rest;  // rest = low + r²P(r), so that e^{r + low} = 1 + r + rest
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE ExpParts<V> ReduceExp(D d, V x) {
  ExpParts<V> p;
  p.shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.71547652b82fep+0)), hn::Set(d, kRounder));
  p.n = hn::Sub(p.shifted, hn::Set(d, kRounder));
  const V high = hn::Sub(x, hn::Mul(p.n, hn::Set(d, kLn2Hi)));
  const V subtracted = hn::Mul(p.n, hn::Set(d, kLn2Lo));
  p.r = hn::Sub(high, subtracted);
  p.low = hn::Sub(hn::Sub(high, p.r), subtracted);
  const V r = p.r, r2 = hn::Mul(r, r), r4 = hn::Mul(r2, r2), r8 = hn::Mul(r4, r4);
  const V a = Pair(d, r, kExp[0], kExp[1]), b = Pair(d, r, kExp[2], kExp[3]),
          c = Pair(d, r, kExp[4], kExp[5]);
  const V e = Pair(d, r, kExp[6], kExp[7]), f = Pair(d, r, kExp[8], kExp[9]);
  const V lower = hn::Add(hn::Add(a, hn::Mul(r2, b)), hn::Mul(r4, hn::Add(c, hn::Mul(r2, e))));
  const V upper = hn::Mul(r8, hn::Add(f, hn::Mul(r2, hn::Set(d, kExp[10]))));
  p.rest = hn::Add(p.low, hn::Mul(r2, hn::Add(lower, upper)));
  return p;
}

// 2^n, n a whole number in [-1022, 1023].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, V n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d,
                     hn::ShiftLeft<52>(hn::BitCast(di, hn::Add(n, hn::Set(d, kRounder + 1023)))));
}

// y·2^n for n in [-1076, 1025], in two steps so that neither factor leaves the normal range.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Scale(D d, V y, V n) {
  const V half =
      hn::Sub(hn::Add(hn::Mul(n, hn::Set(d, 0.5)), hn::Set(d, kRounder)), hn::Set(d, kRounder));
  return hn::Mul(hn::Mul(y, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(n, half)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOf(D d, V x) {
  const V inside = hn::Max(hn::Min(x, hn::Set(d, 710.0)), hn::Set(d, -746.0));
  const ExpParts<V> p = ReduceExp(d, inside);
  const V result = Scale(d, hn::Add(hn::Set(d, 1.0), hn::Add(p.r, p.rest)), p.n);
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpM1Of(D d, V x) {
  const V inside = hn::Max(hn::Min(x, hn::Set(d, 710.0)), hn::Set(d, -40.0));
  const ExpParts<V> p = ReduceExp(d, inside);
  // 2^n ((1 - 2^-n) + r + rest); past n = 60 the -2^-n is below rounding.
  const V one_less =
      hn::Sub(hn::Set(d, 1.0), PowerOfTwo(d, hn::Neg(hn::Min(p.n, hn::Set(d, 60.0)))));
  const V result = Scale(d, hn::Add(one_less, hn::Add(p.r, p.rest)), p.n);
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// log(2^k (1 + f)) + correction, 1 + f in [sqrt(1/2), sqrt(2)]: with s = f/(2 + f), log(1 + f) =
// f - f²/2 + s(f²/2 + s²Q(s²)).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfParts(D d, V k, V f, V correction) {
  const V s = hn::Div(f, hn::Add(hn::Set(d, 2.0), f));
  const V z = hn::Mul(s, s), z2 = hn::Mul(z, z), z4 = hn::Mul(z2, z2);
  const V low = hn::Add(Pair(d, z, kLog[0], kLog[1]), hn::Mul(z2, Pair(d, z, kLog[2], kLog[3])));
  const V high = hn::Add(Pair(d, z, kLog[4], kLog[5]), hn::Mul(z2, hn::Set(d, kLog[6])));
  const V rest = hn::Mul(z, hn::Add(low, hn::Mul(z4, high)));
  const V half = hn::Mul(hn::Set(d, 0.5), hn::Mul(f, f));
  const V tail =
      hn::Add(hn::Mul(s, hn::Add(half, rest)), hn::Add(correction, hn::Mul(k, hn::Set(d, kLn2Lo))));
  return hn::Add(hn::Mul(k, hn::Set(d, kLn2Hi)), hn::Sub(f, hn::Sub(half, tail)));
}

// y = 2^k m, m in [sqrt(1/2), sqrt(2)). y normal and positive.
template <class V>
struct LogSplit {
  V k, m;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE LogSplit<V> SplitLog(D d, V y) {
  const hn::RebindToUnsigned<D> du;
  const auto root_half = hn::Set(du, uint64_t{0x3fe6a09e667f3bcd});  // sqrt(1/2)
  const auto moved =
      hn::Add(hn::BitCast(du, y), hn::Set(du, uint64_t{0x3ff0000000000000} - 0x3fe6a09e667f3bcd));
  const auto biased = hn::ShiftRight<52>(moved);
  LogSplit<V> split;
  split.k = hn::Sub(hn::BitCast(d, hn::Or(biased, hn::Set(du, uint64_t{0x4330000000000000}))),
                    hn::Set(d, 0x1p52 + 1023));
  split.m =
      hn::BitCast(d, hn::Add(hn::And(moved, hn::Set(du, uint64_t{0x000fffffffffffff})), root_half));
  return split;
}

// Results of logarithms if the argument is not a finite positive number: -∞ at 0, NaN below, +∞ at
// +∞.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogEdges(D d, V argument, V result) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V zero = hn::Zero(d);
  V edged = hn::IfThenElse(hn::Gt(argument, zero), result,
                           hn::Set(d, std::numeric_limits<double>::quiet_NaN()));
  edged = hn::IfThenElse(hn::Eq(argument, zero), hn::Set(d, -kInfinity), edged);
  return hn::IfThenElse(hn::Eq(argument, hn::Set(d, kInfinity)), argument, edged);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOf(D d, V x) {
  const auto tiny = hn::Lt(x, hn::Set(d, 0x1p-1022));
  const V normal = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p54)), x);
  const LogSplit<V> split = SplitLog(d, normal);
  const V k = hn::Sub(split.k, hn::IfThenElseZero(tiny, hn::Set(d, 54.0)));
  return LogEdges(d, x, LogOfParts(d, k, hn::Sub(split.m, hn::Set(d, 1.0)), hn::Zero(d)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log1POf(D d, V x) {
  const V one = hn::Set(d, 1.0);
  const V y = hn::Add(one, x);
  // 1 + x - y exactly (Knuth's sum of two).
  const V back = hn::Sub(y, one);
  const V lost = hn::Add(hn::Sub(one, hn::Sub(y, back)), hn::Sub(x, back));
  const LogSplit<V> split = SplitLog(d, y);
  const auto whole = hn::Eq(split.k, hn::Zero(d));  // then 1 + x is its own m, and f = x exactly
  const V f = hn::IfThenElse(whole, x, hn::Sub(split.m, one));
  const V correction = hn::IfThenZeroElse(whole, hn::Div(lost, y));
  return LogEdges(d, y, LogOfParts(d, split.k, f, correction));
}

template <class V>
struct SinCosResult {
  V sine, cosine;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE SinCosResult<V> SinCosOf(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.45f306dc9c883p-1)), hn::Set(d, kRounder));
  const V n = hn::Sub(shifted, hn::Set(d, kRounder));
  V r = hn::Sub(x, hn::Mul(n, hn::Set(d, kHalfPi1)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, kHalfPi2)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, kHalfPi3)));
  const V z = hn::Mul(r, r), z2 = hn::Mul(z, z), z4 = hn::Mul(z2, z2);
  const V sp =
      hn::Add(hn::Add(Pair(d, z, kSin[0], kSin[1]), hn::Mul(z2, Pair(d, z, kSin[2], kSin[3]))),
              hn::Mul(z4, Pair(d, z, kSin[4], kSin[5])));
  const V cp =
      hn::Add(hn::Add(Pair(d, z, kCos[0], kCos[1]), hn::Mul(z2, Pair(d, z, kCos[2], kCos[3]))),
              hn::Mul(z4, Pair(d, z, kCos[4], kCos[5])));
  const V sine = hn::Add(r, hn::Mul(hn::Mul(r, z), sp));
  const V half = hn::Mul(hn::Set(d, 0.5), z), one = hn::Set(d, 1.0);
  const V head = hn::Sub(one, half);
  const V cosine = hn::Add(head, hn::Add(hn::Sub(hn::Sub(one, head), half), hn::Mul(z2, cp)));
  // n mod 4 picks the quadrant: odd swaps the two; bit 1 turns the sine's sign, bit 1 of n + 1 the
  // cosine's.
  const auto whole = hn::BitCast(du, shifted);
  const auto odd = hn::Ne(hn::And(whole, hn::Set(du, uint64_t{1})), hn::Zero(du));
  const auto odd_d = hn::RebindMask(d, odd);
  const auto sine_sign = hn::ShiftLeft<62>(hn::And(whole, hn::Set(du, uint64_t{2})));
  const auto cosine_sign = hn::ShiftLeft<62>(
      hn::And(hn::Add(whole, hn::Set(du, uint64_t{1})), hn::Set(du, uint64_t{2})));
  return {hn::Xor(hn::IfThenElse(odd_d, cosine, sine), hn::BitCast(d, sine_sign)),
          hn::Xor(hn::IfThenElse(odd_d, sine, cosine), hn::BitCast(d, cosine_sign))};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Atan2Of(D d, V y, V x) {
  const V zero = hn::Zero(d);
  const V ay = hn::Abs(y), ax = hn::Abs(x);
  const auto steep = hn::Gt(ay, ax);
  const V low = hn::IfThenElse(steep, ax, ay), high = hn::IfThenElse(steep, ay, ax);
  // Past tan(π/8) about π/4: atan(l/h) = π/4 + atan((l - h)/(l + h)).
  const auto middle = hn::Gt(low, hn::Mul(high, hn::Set(d, 0.41421356237309503)));
  const V above = hn::IfThenElse(middle, hn::Sub(low, high), low);
  const V below = hn::IfThenElse(middle, hn::Add(low, high), high);
  const V t = hn::IfThenZeroElse(hn::Eq(below, zero), hn::Div(above, below));
  const V z = hn::Mul(t, t), z2 = hn::Mul(z, z), z4 = hn::Mul(z2, z2), z8 = hn::Mul(z4, z4);
  const V a = hn::Add(Pair(d, z, kAtan[0], kAtan[1]), hn::Mul(z2, Pair(d, z, kAtan[2], kAtan[3])));
  const V b = hn::Add(Pair(d, z, kAtan[4], kAtan[5]), hn::Mul(z2, Pair(d, z, kAtan[6], kAtan[7])));
  const V c =
      hn::Add(Pair(d, z, kAtan[8], kAtan[9]), hn::Mul(z2, Pair(d, z, kAtan[10], kAtan[11])));
  const V series = hn::Add(hn::Add(a, hn::Mul(z4, b)), hn::Mul(z8, c));
  // base + (t + rest): the base is a multiple of π/4 in two parts, t enters with its sign.
  const V rest = hn::Mul(hn::Mul(t, z), series);
  V base = hn::IfThenElseZero(middle, hn::Set(d, 0x1.921fb54442d18p-1));
  V base_low = hn::IfThenElseZero(middle, hn::Set(d, 0x1.1a62633145c07p-55));
  const V sign_t = hn::IfThenElse(steep, hn::Set(d, -1.0), hn::Set(d, 1.0));
  base = hn::IfThenElse(steep, hn::Sub(hn::Set(d, 0x1.921fb54442d18p+0), base), base);
  base_low = hn::IfThenElse(steep, hn::Sub(hn::Set(d, 0x1.1a62633145c07p-54), base_low), base_low);
  const auto left = hn::Lt(x, zero);
  const V sign_left = hn::IfThenElse(left, hn::Set(d, -1.0), hn::Set(d, 1.0));
  base = hn::IfThenElse(left, hn::Sub(hn::Set(d, 0x1.921fb54442d18p+1), base), base);
  base_low = hn::IfThenElse(left, hn::Sub(hn::Set(d, 0x1.1a62633145c07p-53), base_low), base_low);
  const V sign = hn::Mul(sign_t, sign_left);
  const V angle = hn::Add(base, hn::Add(hn::Mul(sign, t), hn::Add(hn::Mul(sign, rest), base_low)));
  return hn::IfThenElse(hn::Lt(y, zero), hn::Neg(angle), angle);
}

}  // namespace dpledger::accountant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
