// fft.h without a library: a mixed-radix transform of N/2 complex numbers (Stockham's, which sorts
// itself: Van Loan 1992, Computational Frameworks for the FFT, section 1.7), and the step that
// makes of it that of N real ones. Its error bound is derived in accountant/pld/CLAIM.md for the
// operations as they are written here: count again when you change one.
#include <array>
#include <cmath>
#include <numbers>

#include "accountant/numeric/fft.h"
#include "accountant/numeric/fft_plans.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Not std::complex: its product looks for infinities.
struct Complex {
  double re, im;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
inline Complex MinusI(Complex a) { return {a.im, -a.re}; }  // -i·a, exact
inline Complex Conjugate(Complex a) { return {a.re, -a.im}; }

// e^{-2πi k/n}, k < n: the angle is brought below π/4 by whole numbers, and both parts are rounded
// once from long double.
Complex Root(size_t k, size_t n) {
  const size_t eighths = 8 * k / n;
  const size_t quarters = (eighths + 1) / 2;  // the nearest multiple of π/2
  const auto rest = static_cast<long double>(4 * k) - static_cast<long double>(quarters * n);
  const long double angle =
      std::numbers::pi_v<long double> / 2 * rest / static_cast<long double>(n);
  const auto c = static_cast<double>(std::cos(angle)), s = static_cast<double>(std::sin(angle));
  const std::array<Complex, 4> turned = {{{c, -s}, {-s, -c}, {-c, s}, {s, c}}};
  return turned[quarters % 4];
}

// One stage: `step` transforms interleaved, of `parts` times `length` numbers each.
struct Stage {
  size_t radix, length, step;
  std::vector<Complex>
      twiddles;  // (radix - 1)·length: e^{-2πi jr/(radix·length)} at j(radix-1)+r-1
};

// b_r = Σ_k a_k e^{-2πi rk/radix}, in place.
inline void Butterfly(std::array<Complex, 2>& a) { a = {a[0] + a[1], a[0] - a[1]}; }

inline void Butterfly(std::array<Complex, 3>& a) {
  constexpr double kSine = 0.86602540378443864676;  // of 2π/3
  const Complex sum = a[1] + a[2], middle = a[0] - 0.5 * sum;
  const Complex turned = MinusI(kSine * (a[1] - a[2]));
  a = {a[0] + sum, middle + turned, middle - turned};
}

inline void Butterfly(std::array<Complex, 4>& a) {
  const Complex even = a[0] + a[2], odd = a[1] + a[3];
  const Complex even_less = a[0] - a[2], odd_less = MinusI(a[1] - a[3]);
  a = {even + odd, even_less + odd_less, even - odd, even_less - odd_less};
}

inline void Butterfly(std::array<Complex, 5>& a) {
  // Cosines and sines of 2π/5 and 4π/5.
  constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
  constexpr double s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
  const Complex near = a[1] + a[4], far = a[2] + a[3];
  const Complex near_less = a[1] - a[4], far_less = a[2] - a[3];
  const Complex middle1 = (a[0] + c1 * near) + c2 * far, middle2 = (a[0] + c2 * near) + c1 * far;
  const Complex turned1 = MinusI(s1 * near_less + s2 * far_less);
  const Complex turned2 = MinusI(s2 * near_less - s1 * far_less);
  a = {a[0] + (near + far), middle1 + turned1, middle2 + turned2, middle2 - turned2,
       middle1 - turned1};
}

template <size_t kRadix>
void Run(const Stage& stage, const Complex* from, Complex* to) {
  const size_t length = stage.length, step = stage.step;
  for (size_t j = 0; j < length; ++j) {
    const Complex* const twiddles = &stage.twiddles[j * (kRadix - 1)];
    const Complex* const in = from + step * j;
    Complex* const out = to + step * kRadix * j;
    for (size_t q = 0; q < step; ++q) {
      std::array<Complex, kRadix> a;
      for (size_t r = 0; r < kRadix; ++r) a[r] = in[q + step * length * r];
      Butterfly(a);
      out[q] = a[0];
      for (size_t r = 1; r < kRadix; ++r) out[q + step * r] = a[r] * twiddles[r - 1];
    }
  }
}

size_t RadixOf(size_t size) {
  for (const size_t radix : {4, 2, 3, 5}) {
    if (size % radix == 0) return radix;
  }
  return size;
}

}  // namespace

struct FftPlan {
  explicit FftPlan(size_t size) : half(size / 2) {
    for (size_t k = 0; k <= half; ++k) turns.push_back(Root(k, size));
    size_t step = 1;
    for (size_t left = half; left > 1;) {
      const size_t radix = RadixOf(left);
      Stage stage{radix, left / radix, step, {}};
      for (size_t j = 0; j < stage.length; ++j) {
        for (size_t r = 1; r < radix; ++r) {
          // The half turn holds the first half of all roots; the others are their negatives.
          const size_t k = j * r * (size / left);
          const Complex root = turns[k % half];
          stage.twiddles.push_back(k / half % 2 == 0 ? root : Complex{-root.re, -root.im});
        }
      }
      stages.push_back(std::move(stage));
      step *= radix;
      left /= radix;
    }
  }

  // Σ_j z_j e^{-2πi jk/half}, unscaled.
  void Transform(std::vector<Complex>& z) const {
    std::vector<Complex> other(half);
    for (const Stage& stage : stages) {
      switch (stage.radix) {
        case 2:
          Run<2>(stage, z.data(), other.data());
          break;
        case 3:
          Run<3>(stage, z.data(), other.data());
          break;
        case 4:
          Run<4>(stage, z.data(), other.data());
          break;
        default:
          Run<5>(stage, z.data(), other.data());
      }
      z.swap(other);
    }
  }

  size_t half;
  std::vector<Complex> turns;  // e^{-2πi k/(2·half)}, k <= half
  std::vector<Stage> stages;
};

RealFft::RealFft(size_t size) : size_(size), plan_(PlanFor<FftPlan>(size)) {}

std::vector<std::complex<double>> RealFft::Forward(std::vector<double>& x) const {
  const size_t half = plan_->half;
  std::vector<Complex> z(half);
  for (size_t j = 0; j < half; ++j) z[j] = {x[2 * j], x[2 * j + 1]};
  plan_->Transform(z);
  std::vector<std::complex<double>> f(half + 1);
  for (size_t k = 0; k <= half; ++k) {
    const Complex at = z[k % half], mirror = Conjugate(z[(half - k) % half]);
    const Complex twice = (at + mirror) + MinusI(plan_->turns[k] * (at - mirror));
    f[k] = {twice.re / 2, twice.im / 2};
  }
  return f;
}

std::vector<double> RealFft::Inverse(std::vector<std::complex<double>>& f) const {
  const size_t half = plan_->half;
  f[0] = f[0].real();
  f[half] = f[half].real();
  std::vector<Complex> z(half);
  for (size_t k = 0; k < half; ++k) {
    const Complex at{f[k].real(), f[k].imag()}, mirror{f[half - k].real(), -f[half - k].imag()};
    // Conjugated, so that the forward transform gives the conjugate of the inverse one.
    z[k] = Conjugate(at + mirror) + MinusI(plan_->turns[k] * Conjugate(at - mirror));
  }
  plan_->Transform(z);
  const double scale = 1.0 / static_cast<double>(size_);
  std::vector<double> x(size_);
  for (size_t j = 0; j < half; ++j) {
    x[2 * j] = scale * z[j].re;
    x[2 * j + 1] = -scale * z[j].im;
  }
  return x;
}

// accountant/pld/CLAIM.md, section 1.
double FftRelativeError(size_t size) {
  constexpr double kTwiddle = 1;  // error of a root, in units of u
  double complex = 0;
  for (size_t left = size / 2; left > 1; left /= RadixOf(left)) {
    const size_t radix = RadixOf(left);
    complex += kTwiddle + (radix == 2 ? 3.3 : radix == 4 ? 4.3 : radix == 3 ? 6.9 : 9.7);
  }
  // The margin covers products of these errors.
  return 1.001 * kUnitRoundoff * (std::numbers::sqrt2 * complex + kTwiddle + 9);
}

}  // namespace dpledger::accountant
