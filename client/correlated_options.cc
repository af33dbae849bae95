#include "client/correlated_options.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client {
namespace {

// What the ledger takes.
constexpr uint64_t kMaxTreeSteps = uint64_t{1} << 53;
constexpr uint64_t kMaxToeplitzSteps = 65536;
constexpr uint64_t kMaxParticipations = 1024;
constexpr uint64_t kMaxSeparation = uint64_t{1} << 53;

absl::Status CheckWithin(std::string_view field, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, ", most, "], got ", value));
}

absl::Status Check(const TreeAggregation&, uint64_t steps) {
  return CheckWithin("steps", steps, kMaxTreeSteps);
}

absl::Status Check(const BandedToeplitz& encoder, uint64_t steps) {
  RETURN_IF_ERROR(CheckWithin("steps", steps, kMaxToeplitzSteps));
  const std::vector<double>& coefficients = encoder.coefficients;
  if (coefficients.empty() || coefficients.size() > steps) {
    return FieldError("encoder.coefficients", absl::StrCat("must be 1 to as many as steps, ", steps,
                                                           ", got ", coefficients.size()));
  }
  if (coefficients[0] != 1) {
    return FieldError("encoder.coefficients[0]", absl::StrCat("must be 1, got ", coefficients[0]));
  }
  for (size_t i = 1; i < coefficients.size(); ++i) {
    if (coefficients[i] >= 0 && coefficients[i] <= coefficients[i - 1]) continue;
    return FieldError(
        absl::StrCat("encoder.coefficients[", i, "]"),
        absl::StrCat("must be in [0, ", coefficients[i - 1], "], got ", coefficients[i]));
  }
  return absl::OkStatus();
}

void SetParticipation(const CorrelatedOptions& options, v1::Participation& participation) {
  participation.set_max_participations(options.max_participations);
  participation.set_min_separation(options.min_separation);
}

}  // namespace

absl::Status CheckOptions(const CorrelatedOptions& options) {
  if (options.sums.adaptive) {
    return FieldError("sums.adaptive", "must be absent: the clip norm holds for the whole run");
  }
  RETURN_IF_ERROR(std::visit([&](const auto& encoder) { return Check(encoder, options.steps); },
                             options.encoder));
  RETURN_IF_ERROR(
      CheckWithin("max_participations", options.max_participations, kMaxParticipations));
  return CheckWithin("min_separation", options.min_separation, kMaxSeparation);
}

std::vector<uint32_t> IntegerCoefficients(const BandedToeplitz& encoder) {
  std::vector<uint32_t> integers;
  for (const double coefficient : encoder.coefficients) {
    integers.push_back(
        static_cast<uint32_t>(std::nearbyint(std::ldexp(coefficient, kCoefficientBits))));
  }
  while (integers.back() == 0) integers.pop_back();
  return integers;
}

uint64_t MessageScale(const CorrelatedOptions& options) {
  return std::holds_alternative<TreeAggregation>(options.encoder) ? 1 : 1 << kCoefficientBits;
}

v1::MatrixMechanism MechanismOf(const CorrelatedOptions& options) {
  v1::MatrixMechanism mechanism;
  mechanism.set_noise_stddev(options.sums.noise_multiplier);
  if (const auto* banded = std::get_if<BandedToeplitz>(&options.encoder)) {
    v1::ToeplitzEncoder& encoder = *mechanism.mutable_toeplitz();
    encoder.set_steps(options.steps);
    for (const uint32_t coefficient : IntegerCoefficients(*banded)) {
      encoder.add_coefficients(std::ldexp(coefficient, -kCoefficientBits));
    }
    SetParticipation(options, *encoder.mutable_participation());
  } else {
    mechanism.mutable_tree()->set_steps(options.steps);
    SetParticipation(options, *mechanism.mutable_tree()->mutable_participation());
  }
  return mechanism;
}

}  // namespace dpledger::client
