// The discrete Fourier transform of real data, by one of two implementations with the same tests:
// fft_fftw.cc, or fft_own.cc, which needs no library (the build's option DPLEDGER_FFT).
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace dpledger::accountant {

struct FftPlan;  // of the implementation

// A transform of one size. Plans of sizes used lately are kept for the process. Thread safe.
class RealFft {
 public:
  // An even 2^a 3^b 5^c.
  explicit RealFft(size_t size);

  // F_k = Σ_j x_j e^{-2πi jk/N} for k = 0..N/2. x has N values; the result N/2 + 1.
  std::vector<std::complex<double>> Forward(std::vector<double>& x) const;
  // x_j = (1/N) Σ_k F_k e^{2πi jk/N}, F extended by conjugate symmetry. Destroys `f`.
  std::vector<double> Inverse(std::vector<std::complex<double>>& f) const;

  size_t size() const { return size_; }

 private:
  size_t size_;
  std::shared_ptr<const FftPlan> plan_;
};

// The e for which |computed F_k - F_k| <= e·Σ|x_j| for every k; for Inverse, |computed x_j - x_j|
// <= e·Σ|F_k|/N.
//
// Each output of a fast transform is a sum over its inputs of products of about log2 N factors of
// modulus one, so its error is at most the inputs' absolute sum times log2 N times a small multiple
// of the unit roundoff: assumed of FFTW, proved of our own (accountant/pld/CLAIM.md).
double FftRelativeError(size_t size);

// The least of 2^k, 5/4 2^k and 3/2 2^k that is >= n, and at least 8. Few sizes: making a plan
// costs as much as 3 to 70 transforms, so plans have to be met again.
size_t NextFastSize(size_t n);

}  // namespace dpledger::accountant
