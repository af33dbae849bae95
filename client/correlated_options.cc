#include "client/correlated_options.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/buffer_plan.h"
#include "client/internal/population.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {
namespace {

// What the ledger takes.
constexpr uint64_t kMaxTreeSteps = uint64_t{1} << 53;
constexpr uint64_t kMaxToeplitzSteps = 65536;
constexpr uint64_t kMaxParticipations = 1024;
constexpr uint64_t kMaxBinsOfATree = 2048;
constexpr uint64_t kMaxSeparation = uint64_t{1} << 53;

constexpr double kMostDecay = 1 - 0x1p-13;
constexpr double kRoundingOfTotal = 1e-9;  // they are rounded down to 2^-16 afterwards
constexpr double kMostLoss = 0.01;

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
  RETURN_IF_ERROR(
      CheckWithin("encoder.coefficients", coefficients.size(), std::min(steps, kMaxCoefficients)));
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

absl::Status Check(const BufferedToeplitz& encoder, uint64_t steps) {
  RETURN_IF_ERROR(CheckWithin("steps", steps, kMaxCoefficients));
  const auto& [weights, decays] = encoder;
  RETURN_IF_ERROR(
      CheckWithin("encoder.weights", weights.size(), internal::BufferPlan::kMostBuffers));
  if (decays.size() != weights.size()) {
    return FieldError("encoder.decays", absl::StrCat("must be as many as weights, ", weights.size(),
                                                     ", got ", decays.size()));
  }
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    total += weights[i];
    if (!(weights[i] >= 0 && total <= 1 + kRoundingOfTotal)) {
      return FieldError(
          absl::StrCat("encoder.weights[", i, "]"),
          absl::StrCat("must be >= 0, and at most 1 with those before it, got ", weights[i]));
    }
    if (!(decays[i] >= 0 && decays[i] <= kMostDecay)) {
      return FieldError(absl::StrCat("encoder.decays[", i, "]"),
                        absl::StrCat("must be in [0, 1 - 2^-13], got ", decays[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTurns(std::string_view field, uint64_t turns, uint64_t steps) {
  if (turns >= 1 && turns <= steps) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, steps], got ", turns));
}

// Of the sampling, and of the encoder that goes with it.
absl::Status Check(const CyclicPoissonSampling& cyclic, const CorrelatedOptions& options) {
  RETURN_IF_ERROR(internal::CheckListed("sampling.population_size", cyclic.population_size));
  RETURN_IF_ERROR(CheckTurns("sampling.period", cyclic.period, options.steps));
  if (!(cyclic.probability > 0 && cyclic.probability <= 1)) {
    return FieldError("sampling.probability",
                      absl::StrCat("must be in (0, 1], got ", cyclic.probability));
  }
  const auto* banded = std::get_if<BandedToeplitz>(&options.encoder);
  if (banded == nullptr) {
    return FieldError(
        "encoder",
        "must be banded for cyclic Poisson sampling: the messages that a record is in "
        "must not meet");
  }
  if (cyclic.period >= banded->coefficients.size()) return absl::OkStatus();
  return FieldError("sampling.period",
                    absl::StrCat("must be at least the number of coefficients, ",
                                 banded->coefficients.size(), ", got ", cyclic.period));
}

absl::Status Check(const BallsInBinsSampling& balls, const CorrelatedOptions& options) {
  RETURN_IF_ERROR(internal::CheckListed("sampling.population_size", balls.population_size));
  RETURN_IF_ERROR(CheckTurns("sampling.bins", balls.bins, options.steps));
  if (!std::holds_alternative<TreeAggregation>(options.encoder)) return absl::OkStatus();
  RETURN_IF_ERROR(CheckWithin("steps", options.steps, kMaxToeplitzSteps));
  return CheckWithin("sampling.bins", balls.bins, kMaxBinsOfATree);
}

absl::Status Check(const std::monostate&, const CorrelatedOptions&) { return absl::OkStatus(); }

// Encoder: one of the ledger's.
template <typename Encoder>
void SetSchedule(const CorrelatedOptions& options, Encoder& encoder) {
  if (const auto* balls = std::get_if<BallsInBinsSampling>(&options.sampling)) {
    encoder.mutable_balls_in_bins()->set_bins(balls->bins);
    return;
  }
  v1::Participation& participation = *encoder.mutable_participation();
  participation.set_max_participations(options.max_participations);
  participation.set_min_separation(options.min_separation);
}

void SetSchedule(const CorrelatedOptions& options, v1::ToeplitzEncoder& encoder) {
  const auto* cyclic = std::get_if<CyclicPoissonSampling>(&options.sampling);
  if (cyclic == nullptr) return SetSchedule<v1::ToeplitzEncoder>(options, encoder);
  v1::CyclicPoisson& schedule = *encoder.mutable_cyclic_poisson();
  schedule.set_period(cyclic->period);
  schedule.set_probability(cyclic->probability);
  schedule.set_groups(cyclic->draw_groups ? v1::GROUPS_DRAWN_ONE_BY_ONE : v1::GROUPS_OF_EQUAL_SIZE);
}

// r, rounded up by more than what doubles lose, here and in z (1 - r). All messages together move
// further apart by `distance` at most, in their own units: client/CLAIM.md, line C8.
absl::StatusOr<double> LossToRounding(const CorrelatedOptions& options, const NoisePlan& plan,
                                      const internal::BufferPlan& buffers) {
  double coordinates = 0;
  for (const ClipGroup& group : options.sums.groups) coordinates += static_cast<double>(group.size);
  const double distance =
      buffers.Slack() * std::sqrt(coordinates * static_cast<double>(options.steps));
  const double noise = std::ldexp(static_cast<double>(plan.noise_stddev), kCoefficientBits);
  const double loss = options.sums.noise_multiplier * distance / noise * (1 + 0x1p-30) + 0x1p-40;
  if (loss <= kMostLoss) return loss;
  return FieldError("encoder.decays",
                    absl::StrCat("are too near to 1: rounding would cost ", loss,
                                 " of the noise multiplier, must be at most ", kMostLoss));
}

}  // namespace

absl::Status CheckOptions(const CorrelatedOptions& options) {
  if (options.sums.adaptive) {
    return FieldError("sums.adaptive", "must be absent: the clip norm holds for the whole run");
  }
  RETURN_IF_ERROR(std::visit([&](const auto& encoder) { return Check(encoder, options.steps); },
                             options.encoder));
  const bool drawn = !std::holds_alternative<std::monostate>(options.sampling);
  RETURN_IF_ERROR(CheckWithin("max_participations", options.max_participations,
                              drawn ? 1 : kMaxParticipations));
  RETURN_IF_ERROR(
      CheckWithin("min_separation", options.min_separation, drawn ? 1 : kMaxSeparation));
  return std::visit([&](const auto& sampling) { return Check(sampling, options); },
                    options.sampling);
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

int MessageBits(const CorrelatedOptions& options) {
  return std::holds_alternative<TreeAggregation>(options.encoder) ? 0 : kCoefficientBits;
}

absl::StatusOr<v1::MatrixMechanism> MechanismOf(const CorrelatedOptions& options,
                                                const NoisePlan& plan) {
  v1::MatrixMechanism mechanism;
  mechanism.set_noise_stddev(options.sums.noise_multiplier);
  mechanism.set_noise(v1::ROUNDED_GAUSSIAN);
  if (std::holds_alternative<TreeAggregation>(options.encoder)) {
    mechanism.mutable_tree()->set_steps(options.steps);
    SetSchedule(options, *mechanism.mutable_tree());
    return mechanism;
  }
  v1::ToeplitzEncoder& encoder = *mechanism.mutable_toeplitz();
  encoder.set_steps(options.steps);
  SetSchedule(options, encoder);
  if (const auto* banded = std::get_if<BandedToeplitz>(&options.encoder)) {
    for (const uint32_t coefficient : IntegerCoefficients(*banded)) {
      encoder.add_coefficients(std::ldexp(coefficient, -kCoefficientBits));
    }
    return mechanism;
  }
  const auto& [weights, decays] = std::get<BufferedToeplitz>(options.encoder);
  const auto buffers = internal::BufferPlan::For(weights, decays);
  for (const double c : buffers.CoefficientsUp(options.steps)) encoder.add_coefficients(c);
  ASSIGN_OR_RETURN(const double loss, LossToRounding(options, plan, buffers));
  mechanism.set_noise_stddev(options.sums.noise_multiplier * (1 - loss));
  return mechanism;
}

// client/CLAIM.md, line C12.
absl::StatusOr<v1::MechanismEvent> EventOf(const CorrelatedOptions& options,
                                           const NoisePlan& plan) {
  v1::MechanismEvent run;
  ASSIGN_OR_RETURN(*run.mutable_matrix_mechanism(), MechanismOf(options, plan));
  const auto* buffered = std::get_if<BufferedToeplitz>(&options.encoder);
  if (buffered == nullptr || !std::holds_alternative<BallsInBinsSampling>(options.sampling)) {
    return run;
  }
  const auto buffers = internal::BufferPlan::For(buffered->weights, buffered->decays);
  ASSIGN_OR_RETURN(const double loss, LossToRounding(options, plan, buffers));
  v1::MechanismEvent both;
  *both.mutable_composed()->add_events() = std::move(run);
  both.mutable_composed()->add_events()->mutable_gaussian()->set_noise_multiplier(
      options.sums.noise_multiplier / std::sqrt(loss) * (1 - 0x1p-40));
  return both;
}

}  // namespace dpledger::client
