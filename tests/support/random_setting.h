// The random questions of the sweep: Poisson-sampled Gaussian steps, each parameter log-uniform
// over more than anybody trains with; or over all that may be asked. Setting number i is always the
// same one, in whatever order and number they are drawn.
#pragma once

#include <cmath>
#include <cstdint>

namespace dpledger::testing {

struct RandomSetting {
  double sampling_probability;  // 1e-6 .. 1
  double noise_multiplier;      // 0.2 .. 50
  uint64_t steps;               // 1 .. 1e7
  double delta;                 // 1e-30 .. 1e-2
};

// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"): the
// n-th number of the stream that starts at 0.
inline uint64_t SplitMix64(uint64_t n) {
  uint64_t z = (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The n-th uniform number in [0, 1), a multiple of 2^-53.
inline double Uniform(uint64_t n) { return static_cast<double>(SplitMix64(n) >> 11) * 0x1p-53; }

inline RandomSetting RandomSettingAt(uint64_t index) {
  const auto log_uniform = [&](uint64_t parameter, double low, double high) {
    return low * std::exp(Uniform(4 * index + parameter) * std::log(high / low));
  };
  return {std::fmin(log_uniform(0, 1e-6, 1), 1), log_uniform(1, 0.2, 50),
          static_cast<uint64_t>(log_uniform(2, 1, 1e7)), log_uniform(3, 1e-30, 1e-2)};
}

// Of the whole box that the accountant answers: q within 1e-15 of 0 and of 1, noise multiplier 1e-3
// to 1e6, up to 2^53 steps, δ 1e-300 to 1 - 1e-9. In every other one the steps are as many as make
// the loss's deviation q sqrt(T)/z log-uniform over 1e-3 .. 1e2, as far as they can.
inline RandomSetting RandomBoxSettingAt(uint64_t index) {
  const auto uniform = [&](uint64_t parameter) {
    return Uniform((uint64_t{1} << 40) + 5 * index + parameter);
  };
  const auto log_uniform = [&](uint64_t parameter, double low, double high) {
    return low * std::exp(uniform(parameter) * std::log(high / low));
  };
  const auto near_0_or_1 = [&](uint64_t parameter, double low, double near_1) {
    return index / 2 % 3 == parameter % 3 ? 1 - log_uniform(parameter, near_1, 0.5)
                                          : log_uniform(parameter, low, 0.5);
  };
  const double q = near_0_or_1(0, 1e-15, 1e-15), z = log_uniform(1, 1e-3, 1e6);
  const double deviation = log_uniform(2, 1e-3, 1e2);
  const double steps = index % 2 == 0 ? log_uniform(2, 1, 0x1p53)
                                      : std::fmin(0x1p53, std::pow(deviation * z / q, 2));
  return {q, z, static_cast<uint64_t>(std::fmax(1, steps)), near_0_or_1(4, 1e-300, 1e-9)};
}

}  // namespace dpledger::testing
