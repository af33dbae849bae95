#include "client/internal/band_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "hwy/targets.h"

namespace dpledger::client::internal {
namespace {

constexpr size_t kSteps = 11;

struct Run {
  std::vector<std::vector<int64_t>> messages;
  std::vector<std::vector<float>> estimates;
  bool operator==(const Run&) const = default;
};

// Messages of `sums`, step after step, and estimates from them; each message holds `noise` first.
Run ByKernels(const std::vector<uint32_t>& a, const std::vector<std::vector<int64_t>>& sums,
              const std::vector<std::vector<int64_t>>& noise) {
  const size_t band = a.size() - 1, size = sums[0].size();
  std::vector<int64_t> past_sums(HistorySize(band, size));
  std::vector<float> past_estimates(HistorySize(band, size));
  Run run{noise, {}};
  for (size_t t = 0; t < sums.size(); ++t) {
    EncodeBand(a.data(), band, t + 1, size, sums[t].data(), past_sums.data(),
               run.messages[t].data());
    run.estimates.emplace_back(size);
    DecodeBand(a.data(), band, t + 1, size, run.messages[t].data(), past_estimates.data(),
               run.estimates[t].data());
  }
  return run;
}

Run ByPlainLoops(const std::vector<uint32_t>& a, const std::vector<std::vector<int64_t>>& sums,
                 const std::vector<std::vector<int64_t>>& noise) {
  Run run{noise, noise.empty() ? std::vector<std::vector<float>>()
                               : std::vector(noise.size(), std::vector<float>(noise[0].size()))};
  for (size_t t = 0; t < sums.size(); ++t) {
    for (size_t i = 0; i < sums[t].size(); ++i) {
      uint64_t message = static_cast<uint64_t>(noise[t][i]);
      for (size_t j = 0; j < a.size() && j <= t; ++j) {
        message += a[j] * static_cast<uint64_t>(sums[t - j][i]);
      }
      run.messages[t][i] = static_cast<int64_t>(message);
      auto x = static_cast<double>(run.messages[t][i]);
      for (size_t j = a.size() - 1; j >= 1; --j) {
        if (j <= t) x -= a[j] * static_cast<double>(run.estimates[t - j][i]);
      }
      run.estimates[t][i] = static_cast<float>(x / a[0]);
    }
  }
  return run;
}

// Of both signs, of up to `bits` bits.
std::vector<std::vector<int64_t>> RandomIntegers(size_t size, int bits, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int64_t>> values(kSteps, std::vector<int64_t>(size));
  for (auto& row : values) {
    for (int64_t& value : row) value = static_cast<int64_t>(random()) >> (64 - bits);
  }
  return values;
}

TEST(BandKernels, GiveTheBitsOfPlainLoopsOnEveryTarget) {
  std::vector<uint32_t> coefficients;
  for (int j = 0; j < 70; ++j) {
    coefficients.push_back(static_cast<uint32_t>(std::lround(1024 / std::sqrt(1 + j))));
  }
  int targets = 0;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1, ++targets) {
    hwy::SetSupportedTargetsForTest(left & -left);
    for (const size_t band : {1, 2, 3, 10, 11, 69}) {
      const std::vector<uint32_t> a(coefficients.begin(), coefficients.begin() + band + 1);
      for (const size_t size : {1, 63, 64, 65, 200}) {
        // The last kind of message has left the 64 bits and begun anew.
        for (const int bits : {20, 40, 64}) {
          const auto sums = RandomIntegers(size, bits, band), noise = RandomIntegers(size, 34, 1);
          EXPECT_TRUE(ByKernels(a, sums, noise) == ByPlainLoops(a, sums, noise))
              << hwy::TargetName(left & -left) << ", band " << band << ", size " << size << ", "
              << bits << " bits";
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_GE(targets, 1);
}

}  // namespace
}  // namespace dpledger::client::internal
