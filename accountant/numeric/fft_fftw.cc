// fft.h by FFTW, which is GPL: programs that are linked with it are too.
#include <fftw3.h>

#include <cmath>

#include "accountant/numeric/fft.h"
#include "accountant/numeric/fft_plans.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {

// FFTW's planner is not thread safe, and neither is destroying a plan; executing one is. Plans are
// made for unaligned arrays.
struct FftPlan {
  explicit FftPlan(size_t size) {
    std::vector<double> real(size);
    std::vector<std::complex<double>> spectrum(size / 2 + 1);
    const int n = static_cast<int>(size);
    auto* const bins = reinterpret_cast<fftw_complex*>(spectrum.data());
    forward = fftw_plan_dft_r2c_1d(n, real.data(), bins, FFTW_ESTIMATE | FFTW_UNALIGNED);
    inverse = fftw_plan_dft_c2r_1d(n, bins, real.data(), FFTW_ESTIMATE | FFTW_UNALIGNED);
  }

  FftPlan(const FftPlan&) = delete;
  ~FftPlan() {
    fftw_destroy_plan(forward);
    fftw_destroy_plan(inverse);
  }

  fftw_plan forward, inverse;
};

RealFft::RealFft(size_t size) : size_(size), plan_(PlanFor<FftPlan>(size)) {}

std::vector<std::complex<double>> RealFft::Forward(std::vector<double>& x) const {
  std::vector<std::complex<double>> f(size_ / 2 + 1);
  fftw_execute_dft_r2c(plan_->forward, x.data(), reinterpret_cast<fftw_complex*>(f.data()));
  return f;
}

std::vector<double> RealFft::Inverse(std::vector<std::complex<double>>& f) const {
  std::vector<double> x(size_);
  fftw_execute_dft_c2r(plan_->inverse, reinterpret_cast<fftw_complex*>(f.data()), x.data());
  const double scale = 1.0 / static_cast<double>(size_);
  for (double& value : x) value *= scale;
  return x;
}

// That FFTW keeps within 4u log2 N is an assumption, stated in accountant/pld/CLAIM.md and tested
// against a long-double transform.
double FftRelativeError(size_t size) {
  return 4 * kUnitRoundoff * std::ceil(std::log2(static_cast<double>(size)));
}

}  // namespace dpledger::accountant
