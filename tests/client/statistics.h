// How samples are held against a distribution.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace dpledger::client {

inline double NormalCdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// Chi-square as a normal deviate (Wilson and Hilferty 1931).
inline double ChiSquareDeviate(const std::vector<int64_t>& counts,
                               const std::vector<double>& expected) {
  double chi = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double difference = static_cast<double>(counts[i]) - expected[i];
    chi += difference * difference / expected[i];
  }
  const double freedom = static_cast<double>(counts.size() - 1);
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi / freedom) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace dpledger::client
