#include <bit>
#include <cmath>

#include "absl/numeric/int128.h"
#include "client/internal/real.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client::internal {
namespace {

using absl::int128;
using absl::uint128;

// Numbers are multiples of 2^-Q of the Q in their names. Everything is rounded down.

constexpr uint128 kOne = 1;

// floor(a b / 2^128).
uint128 MulHigh(uint128 a, uint128 b) {
  const uint64_t a0 = absl::Uint128Low64(a), a1 = absl::Uint128High64(a);
  const uint64_t b0 = absl::Uint128Low64(b), b1 = absl::Uint128High64(b);
  const uint128 cross0 = uint128(a0) * b1, cross1 = uint128(a1) * b0;
  const uint128 middle = absl::Uint128High64(uint128(a0) * b0) +
                         uint128(absl::Uint128Low64(cross0)) + absl::Uint128Low64(cross1);
  return uint128(a1) * b1 + absl::Uint128High64(cross0) + absl::Uint128High64(cross1) +
         absl::Uint128High64(middle);
}

// Terms of the series; what they leave out is in line W.
constexpr int kLogTerms = 20;
constexpr int kTurnTerms = 16;

struct Constants {
  uint128 ln2_120, half_pi_127;
  // Scale i is for m in [i/128, (i+1)/128): not above 1/m, and 1 for the last, which leaves
  // 1 - U itself where U is near 1.
  std::array<uint128, 128> scale_127, scale_log_120;
  std::array<uint128, kLogTerms> inverse_120;                  // 1/(k+1)
  std::array<uint128, kTurnTerms> even_inverse_factorial_127;  // 1/(2k)!
  std::array<uint128, kTurnTerms> odd_inverse_factorial_127;   // 1/(2k+1)!
};

// floor(x 2^q), 0 <= x 2^q < 2^128. Changes x.
uint128 Fixed(Real& x, unsigned q) {
  mpfr_mul_2ui(x, x, q, MPFR_RNDD);
  Real high(64);
  mpfr_div_2ui(high, x, 64, MPFR_RNDZ);
  mpfr_trunc(high, high);
  const uint64_t top = mpfr_get_uj(high, MPFR_RNDZ);
  mpfr_mul_2ui(high, high, 64, MPFR_RNDN);
  mpfr_sub(x, x, high, MPFR_RNDD);
  return absl::MakeUint128(top, mpfr_get_uj(x, MPFR_RNDZ));
}

Constants MakeConstants() {
  Constants constants = {};
  Real x(256);
  mpfr_const_log2(x, MPFR_RNDD);
  constants.ln2_120 = Fixed(x, 120);
  mpfr_const_pi(x, MPFR_RNDD);
  constants.half_pi_127 = Fixed(x, 126);
  for (uint64_t i = 64; i < 128; ++i) {
    const uint64_t scale_16 = (uint64_t{1} << 23) / (i + 1);
    constants.scale_127[i] = uint128(scale_16) << 111;
    mpfr_set_uj(x, scale_16, MPFR_RNDN);
    mpfr_div_2ui(x, x, 16, MPFR_RNDN);
    mpfr_log(x, x, MPFR_RNDD);
    constants.scale_log_120[i] = Fixed(x, 120);
  }
  for (int k = 0; k < kLogTerms; ++k) constants.inverse_120[k] = (kOne << 120) / (k + 1);
  uint128 even = kOne << 127;
  for (int k = 0; k < kTurnTerms; ++k) {
    // Rounding down in turn gives the same as once.
    const uint128 odd = even / (2 * k + 1);
    constants.even_inverse_factorial_127[k] = even;
    constants.odd_inverse_factorial_127[k] = odd;
    even = odd / (2 * k + 2);
  }
  mpfr_free_cache();
  return constants;
}

const Constants& TheConstants() {
  static const Constants constants = MakeConstants();
  return constants;
}

// sum of (-x)^k c_k for terms that shrink.
uint128 AlternatingSeries(uint128 x_128, const std::array<uint128, kTurnTerms>& c_127) {
  uint128 sum_127 = 0;
  for (int k = kTurnTerms; k-- > 0;) sum_127 = c_127[k] - MulHigh(x_128, sum_127);
  return sum_127;
}

struct Radius {
  uint128 value_110;
  double error;
};

// sqrt(-2 ln U1), U1 >= 2^-64 and below 1 - 2^-80.
Radius RadiusOf(uint128 u1, const Constants& constants) {
  // U1 = m 2^-zeros, m in [1/2, 1); -ln U1 = zeros ln 2 + ln scale - ln(1 - t).
  const int zeros = std::countl_zero(absl::Uint128High64(u1));
  const uint128 m_128 = u1 << zeros;
  const uint64_t i = absl::Uint128High64(m_128) >> 57;
  const uint128 t_128 = ((kOne << 127) - MulHigh(m_128, constants.scale_127[i])) << 1;
  uint128 series_120 = 0;
  for (int k = kLogTerms; k-- > 0;) {
    series_120 = constants.inverse_120[k] + MulHigh(t_128, series_120);
  }
  const uint128 square_120 = (constants.ln2_120 * static_cast<uint64_t>(zeros) +
                              constants.scale_log_120[i] + MulHigh(t_128, series_120))
                             << 1;

  // Newton's step from the double.
  const double start = std::sqrt(static_cast<double>(square_120) * 0x1p-120);
  const auto start_60 = static_cast<uint64_t>(start * 0x1p60);
  const auto rest_120 = static_cast<int128>(square_120 - uint128(start_60) * start_60);
  const double step = static_cast<double>(rest_120) * 0x1p-120 / (2 * start);
  const auto step_110 = static_cast<int64_t>(step * 0x1p110);
  // In -2 ln U1; the bits not drawn first.
  const double square_error = std::ldexp(1.0, zeros - 126) + 0x1p-112;
  return {(uint128(start_60) << 50) + static_cast<uint128>(int128(step_110)),
          square_error / start + start * 0x1p-100 + 0x1p-109};
}

// The integer that sigma value +- sigma error rounds to.
std::optional<int64_t> RoundIfCertain(uint128 value_109, double error, int64_t sigma_in) {
  const auto sigma = static_cast<uint64_t>(sigma_in);
  const uint128 low = uint128(absl::Uint128Low64(value_109)) * sigma;
  const uint128 high = uint128(absl::Uint128High64(value_109)) * sigma + (low >> 64);
  const auto whole = static_cast<int64_t>(absl::Uint128Low64(high >> 45));
  const uint128 fraction_109 = (high & ((kOne << 45) - 1)) << 64 | absl::Uint128Low64(low);
  constexpr uint128 kHalf = kOne << 108;
  const bool up = fraction_109 >= kHalf;
  const uint128 distance_109 = up ? fraction_109 - kHalf : kHalf - fraction_109;
  // What the doubles here are off is in the last factor.
  const double distance = static_cast<double>(distance_109) * 0x1p-109;
  if (!(distance > error * static_cast<double>(sigma_in) * (1 + 0x1p-40))) return std::nullopt;
  return whole + up;
}

}  // namespace

std::optional<std::array<int64_t, 2>> WidePair(std::array<uint64_t, 2> u1,
                                               std::array<uint64_t, 2> u2, int64_t sigma) {
  if (u1[0] == 0 || (u1[0] == ~uint64_t{0} && u1[1] >> 48 == 0xffff)) return std::nullopt;
  const Constants& constants = TheConstants();
  const Radius radius = RadiusOf(absl::MakeUint128(u1[0], u1[1]), constants);

  // 2 pi U2 = quarter * pi/2 +- angle, as in the vector kernels.
  const uint128 turn = absl::MakeUint128(u2[0], u2[1]);
  const uint64_t quarter = (absl::Uint128High64(turn) + (uint64_t{1} << 61)) >> 62 & 3;
  const uint128 rest = turn << 2;
  const bool below = absl::Uint128High64(rest) >> 63;
  const uint128 angle_127 = MulHigh(below ? -rest : rest, constants.half_pi_127);
  const uint128 square_128 = MulHigh(angle_127, angle_127) << 2;
  const uint128 cosine_127 = AlternatingSeries(square_128, constants.even_inverse_factorial_127);
  const uint128 sine_127 =
      MulHigh(angle_127, AlternatingSeries(square_128, constants.odd_inverse_factorial_127)) << 1;

  const double error = radius.error + 0x1p-109 + 0x1p-118;
  const auto c = RoundIfCertain(MulHigh(radius.value_110, cosine_127), error, sigma);
  const auto s = RoundIfCertain(MulHigh(radius.value_110, sine_127), error, sigma);
  if (!c || !s) return std::nullopt;
  const int64_t cosine = *c, sine = below ? -*s : *s;
  const std::array<int64_t, 2> first = {quarter & 1 ? sine : cosine, quarter & 1 ? cosine : sine};
  // (c, s), (-s, c), (-c, -s), (s, -c).
  return {
      {quarter == 1 || quarter == 2 ? -first[0] : first[0], quarter >= 2 ? -first[1] : first[1]}};
}

}  // namespace dpledger::client::internal
