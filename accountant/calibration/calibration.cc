// As a family of compositions in the unknown.
#include "accountant/calibration/calibration.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/calibration/family.h"
#include "accountant/gaussian/gaussian.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr double kGreatestCount = 0x1p53;

absl::Status CheckProblem(const CalibrationTarget& target, const CalibrationParameters& given,
                          Unknown unknown) {
  if (!(target.epsilon > 0 && std::isfinite(target.epsilon))) {
    return FieldError("epsilon", absl::StrCat("must be finite and > 0, got ", target.epsilon));
  }
  if (!(target.delta > 0 && target.delta < 1))
    return FieldError("delta", absl::StrCat("must be in (0, 1), got ", target.delta));
  if (unknown != Unknown::kNoiseMultiplier &&
      !(given.noise_multiplier > 0 && std::isfinite(given.noise_multiplier))) {
    return FieldError("noise_multiplier",
                      absl::StrCat("must be finite and > 0, got ", given.noise_multiplier));
  }
  if (unknown != Unknown::kSamplingProbability &&
      !(given.sampling_probability > 0 && given.sampling_probability <= 1)) {
    return FieldError("sampling_probability",
                      absl::StrCat("must be in (0, 1], got ", given.sampling_probability));
  }
  if (unknown != Unknown::kSteps && !(given.steps >= 1 && given.steps <= (uint64_t{1} << 53))) {
    return FieldError("steps", absl::StrCat("must be in [1, 2^53], got ", given.steps));
  }
  return absl::OkStatus();
}

absl::StatusOr<Composition> CompositionOf(const CalibrationParameters& parameters,
                                          const CalibrationTarget& target) {
  SamplingScheme scheme;
  if (parameters.sampling_probability < 1) {
    scheme.kind = PoissonSampling{parameters.sampling_probability};
  } else {
    scheme.kind = FullBatch{};
  }
  History history;
  history.Add("",
              RoundsEvent{{scheme, {{"", 1.0, parameters.noise_multiplier}}}, parameters.steps});
  history.Merge(target.spent);
  return Resolve(history, target.neighbours);
}

CalibrationParameters With(CalibrationParameters parameters, Unknown unknown, double x) {
  switch (unknown) {
    case Unknown::kNoiseMultiplier:
      parameters.noise_multiplier = x;
      break;
    case Unknown::kSamplingProbability:
      parameters.sampling_probability = x;
      break;
    case Unknown::kSteps:
      parameters.steps = static_cast<uint64_t>(x);
      break;
  }
  return parameters;
}

// μ of the Gaussian mechanism with δ(epsilon) = delta, to a few per cent.
double GaussianMu(const CalibrationTarget& target) {
  const double log_delta = std::log(target.delta);
  double low = std::log(1e-12), high = std::log(1e9);
  while (high - low > 0.02) {
    const double middle = (low + high) / 2;
    const double at = gaussian::LogDelta(std::exp(middle), target.epsilon).upper();
    (at > log_delta ? high : low) = middle;
  }
  return std::exp(low);
}

// The unknown at which the composition would meet the target if it were the Gaussian mechanism that
// its central limit is, μ² = q² T (e^{1/z²} - 1) (Bu et al. 2020, thm. 5); for q = 1 it is.
double ByCentralLimit(const CalibrationTarget& target, const CalibrationParameters& given,
                      Unknown unknown) {
  const double square = std::pow(GaussianMu(target), 2);
  const double q = given.sampling_probability, z = given.noise_multiplier;
  const double steps = static_cast<double>(given.steps);
  const double one = std::expm1(1 / (z * z));
  switch (unknown) {
    case Unknown::kNoiseMultiplier:
      return q == 1 ? std::sqrt(steps / square)
                    : 1 / std::sqrt(std::log1p(square / (q * q * steps)));
    case Unknown::kSteps:
      return square / (q == 1 ? 1 / (z * z) : q * q * one);
    case Unknown::kSamplingProbability:
      return std::sqrt(square / (one * steps));
  }
  return 1;
}

Family FamilyOf(const CalibrationTarget& target, const CalibrationParameters& given,
                Unknown unknown) {
  Family family;
  family.at = [=](double x) { return CompositionOf(With(given, unknown, x), target); };
  family.grows = unknown != Unknown::kNoiseMultiplier;
  switch (unknown) {
    case Unknown::kNoiseMultiplier:
      family.least = 1e-6;
      family.greatest = 1e12;
      break;
    case Unknown::kSamplingProbability:
      family.least = 1e-18;
      family.greatest = 1;
      break;
    case Unknown::kSteps:
      family.least = family.unit = 1;
      family.greatest = kGreatestCount;
      break;
  }
  return family;
}

}  // namespace

absl::StatusOr<Calibration> Calibrate(const CalibrationTarget& target,
                                      const CalibrationParameters& given, Unknown unknown,
                                      const Options& options) {
  RETURN_IF_ERROR(CheckProblem(target, given, unknown));
  Family family = FamilyOf(target, given, unknown);
  if (target.spent.Empty()) {
    const double near = ByCentralLimit(target, given, unknown);
    family.near = near > family.least ? std::fmin(near, family.greatest) : family.least;
  }
  ASSIGN_OR_RETURN(const Solution solution, Solve(family, target.epsilon, target.delta, options));
  return Calibration{With(given, unknown, solution.value), solution.optimum, solution.epsilon};
}

}  // namespace dpledger::accountant
