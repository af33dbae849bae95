#include "accountant/numeric/fft.h"

#include <fftw3.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

struct Plans {
  fftw_plan forward;
  fftw_plan inverse;
};

// A fork takes it too, so that the child has it free and the plans whole, whatever the parent's
// other threads were doing. It waits for one planning at most.
std::mutex planner_mutex;
const int at_fork = pthread_atfork([] { planner_mutex.lock(); }, [] { planner_mutex.unlock(); },
                                   [] { planner_mutex.unlock(); });

// FFTW's planner is not thread safe; executing a plan is. Plans are made for unaligned arrays and
// kept for the life of the process: there are few sizes (2^a 3^b 5^c), and planning costs 10 to 50
// transforms.
Plans PlansFor(size_t size) {
  static std::map<size_t, Plans>* const cache = new std::map<size_t, Plans>;
  const std::lock_guard<std::mutex> lock(planner_mutex);
  const auto found = cache->find(size);
  if (found != cache->end()) return found->second;
  std::vector<double> real(size);
  std::vector<std::complex<double>> spectrum(size / 2 + 1);
  const int n = static_cast<int>(size);
  auto* const bins = reinterpret_cast<fftw_complex*>(spectrum.data());
  const Plans plans = {fftw_plan_dft_r2c_1d(n, real.data(), bins, FFTW_ESTIMATE | FFTW_UNALIGNED),
                       fftw_plan_dft_c2r_1d(n, bins, real.data(), FFTW_ESTIMATE | FFTW_UNALIGNED)};
  cache->emplace(size, plans);
  return plans;
}

}  // namespace

RealFft::RealFft(size_t size) : size_(size) {
  const Plans plans = PlansFor(size);
  forward_ = plans.forward;
  inverse_ = plans.inverse;
}

std::vector<std::complex<double>> RealFft::Forward(std::vector<double>& x) const {
  std::vector<std::complex<double>> f(size_ / 2 + 1);
  fftw_execute_dft_r2c(static_cast<fftw_plan>(forward_), x.data(),
                       reinterpret_cast<fftw_complex*>(f.data()));
  return f;
}

std::vector<double> RealFft::Inverse(std::vector<std::complex<double>>& f) const {
  std::vector<double> x(size_);
  fftw_execute_dft_c2r(static_cast<fftw_plan>(inverse_), reinterpret_cast<fftw_complex*>(f.data()),
                       x.data());
  const double scale = 1.0 / static_cast<double>(size_);
  for (double& value : x) value *= scale;
  return x;
}

double FftRelativeError(size_t size) {
  return 4 * kUnitRoundoff * std::ceil(std::log2(static_cast<double>(size)));
}

size_t NextFastSize(size_t n) {
  size_t best = 2;
  while (best < n) best *= 2;
  for (size_t five = 1; five < best; five *= 5) {
    for (size_t three = five; three < best; three *= 3) {
      size_t size = std::max<size_t>(three, 2);
      while (size < n) size *= 2;
      if (size % 2 == 0) best = std::min(best, size);
    }
  }
  return best;
}

}  // namespace dpledger::accountant
