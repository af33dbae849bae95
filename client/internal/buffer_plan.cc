#include "client/internal/buffer_plan.h"

#include <cmath>
#include <limits>

namespace dpledger::client::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Share(uint32_t integer) { return std::ldexp(integer, -BufferPlan::kBits); }

// At least the product, and the sum, of numbers that are not negative.
double MultiplyUp(double a, double b) {
  return a == 0 || b == 0 ? 0 : std::nextafter(a * b, kInfinity);
}
double AddUp(double a, double b) {
  return a == 0 || b == 0 ? a + b : std::nextafter(a + b, kInfinity);
}

// The least m with 2^-m <= 1 - q.
int Memory(uint32_t decay) {
  int memory = 0;
  while ((uint32_t{1} << BufferPlan::kBits >> memory) > (1u << BufferPlan::kBits) - decay) {
    ++memory;
  }
  return memory;
}

}  // namespace

BufferPlan BufferPlan::For(absl::Span<const double> weights, absl::Span<const double> decays) {
  BufferPlan plan;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto weight = static_cast<uint32_t>(std::floor(std::ldexp(weights[i], kBits)));
    const auto decay = static_cast<uint32_t>(std::nearbyint(std::ldexp(decays[i], kBits)));
    // abs(B) <= 2^f 2^36 / (1 - q), but for what floor takes off, is at most 2^62.
    plan.buffers.push_back({weight, decay, 62 - 36 - Memory(decay)});
  }
  return plan;
}

double BufferPlan::Slack() const {
  // The last floor; each term's, in guard units; the buffers'. 2^-40 is for the doubles.
  double slack = 1;
  for (const Buffer& buffer : buffers) {
    slack += std::ldexp(1, -kGuardBits) + Share(buffer.weight) / (1 - Share(buffer.decay)) *
                                              std::ldexp(1, kMessageBits - buffer.fraction_bits);
  }
  return slack * (1 + 0x1p-40);
}

std::vector<double> BufferPlan::CoefficientsUp(uint64_t count) const {
  std::vector<double> coefficients = {1};
  std::vector<double> terms;
  double sum = 0;  // the first is exact: it may be 1, which is not to be passed
  for (const Buffer& buffer : buffers) {
    terms.push_back(Share(buffer.weight));
    sum += terms.back();
  }
  while (coefficients.size() < count) {
    coefficients.push_back(sum);
    sum = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      terms[i] = MultiplyUp(terms[i], Share(buffers[i].decay));
      sum = AddUp(sum, terms[i]);
    }
  }
  return coefficients;
}

}  // namespace dpledger::client::internal
