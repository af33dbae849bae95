// Speed of the accountant, one thread, as one JSON object: {"accounting/epsilon_cold_us": {"value":
// ..., "unit": "us"}, ...}. Each figure is the median of repeated runs after one to warm the
// transform's plans. Names are DESIGN's: epsilon_cold_us is the default method on the standard run
// (q = .01, σ = 1, T = 1e4, δ = 1e-5); append_query_us one more round of it, and asking
// again.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/calibration/calibration.h"
#include "accountant/pld/pld.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "bench/program.h"

namespace dpledger::accountant {
namespace {

Composition Standard(uint64_t steps) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, steps});
  return composition;
}

// 1000 distinct (q, z), 20 rounds each: q log-uniform in 1e-3..1e-2, z uniform in 0.8..2, on a
// fixed lattice.
Composition Heterogeneous() {
  Composition composition;
  for (int i = 0; i < 1000; ++i) {
    const double z = 0.8 + 1.2 * std::fmod(i * 0.6180339887498949, 1.0);
    composition.steps.push_back({1e-3 * std::pow(10, i / 999.0), {z, z}, 20});
  }
  return composition;
}

void Require(bool ok) {
  if (!ok) bench::Die("a question failed");
}

// Each figure gets an equal share of `seconds`, and at least one run.
int Main(double seconds) {
  bench::Report figures("accounting/");
  const auto report = [&](const char* name, double scale, const char* unit,
                          const std::function<void()>& work) {
    const int runs = std::clamp(static_cast<int>(seconds / 6 / bench::SecondsOf(work)), 1, 101);
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(bench::SecondsOf(work));
    figures.Add(name, scale * bench::Median(times), unit);
  };
  report("epsilon_cold_us", 1e6, "us",
         [] { Require(ComputeEpsilon(Standard(10000), 1e-5, {}).ok()); });
  Composition growing = Standard(10000);
  constexpr int kAppends = 50;
  report("append_query_us", 1e6 / kAppends, "us", [&] {
    for (int i = 0; i < kAppends; ++i) {
      ++growing.steps[0].count;
      Require(ComputeEpsilon(growing, 1e-5, {}).ok());
    }
  });
  report("fft_gap_1e3_ms", 1e3, "ms",
         [] { Require(pld::Epsilon(Standard(10000), 1e-5, 1e-3, {}).ok()); });
  report("calibrate_ms", 1e3, "ms", [] {
    Require(Calibrate({1, 1e-6}, {0, 0.005, 20000}, Unknown::kNoiseMultiplier, {}).ok());
  });
  report("rdp_150_orders_us", 1e6, "us", [] {
    rdp::SampledGaussianMoments moments(0.01, 1);
    double sum = 0;
    for (int i = 0; i < 150; ++i)
      sum += moments.LogMomentUp(1.05 * std::pow(1195 / 1.05, i / 149.0));
    Require(sum > 0);
  });
  const Composition many = Heterogeneous();
  report("heterogeneous_1000_ms", 1e3, "ms", [&] { Require(ComputeEpsilon(many, 1e-5, {}).ok()); });
  return 0;
}

}  // namespace
}  // namespace dpledger::accountant

int main(int argc, char** argv) {
  return dpledger::accountant::Main(dpledger::bench::Seconds(argc, argv));
}
