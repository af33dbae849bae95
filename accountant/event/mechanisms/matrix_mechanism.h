// A linear mechanism with correlated noise: releases C x + noise, or what is computed from it.
// Analysis: mechanism/resolve_matrix.cc.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

// ---- In which steps a record takes part ----

// At most max_participations steps, any two at least min_separation apart.
struct Participation {
  uint64_t max_participations;  // in [1, 1024]
  uint64_t min_separation;      // >= 1; 1 = no bound

  static constexpr char kName[] = "participation";
  static constexpr auto Fields() {
    return std::tuple(
        Field{"max_participations", &Participation::max_participations, WholeBetween(1, 1024)},
        Field{"min_separation", &Participation::min_separation, rules::Count});
  }
};
// Each record is in one of `period` groups; a step samples those of its group with `probability`.
struct CyclicPoisson {
  enum class Groups { kOfEqualSize, kDrawnOneByOne };
  uint64_t period;     // at least the number of coefficients, at most steps
  double probability;  // in (0, 1]
  Groups groups;

  static constexpr char kName[] = "cyclic_poisson";
  static constexpr auto Fields() {
    return std::tuple(Field{"period", &CyclicPoisson::period, kAny},
                      Field{"probability", &CyclicPoisson::probability, rules::SamplingProbability},
                      Field{"groups", &CyclicPoisson::groups, UpTo(Groups::kDrawnOneByOne)});
  }
};
// Each record is in one of `bins` bins, drawn uniformly; bin i takes part in every bins-th step.
struct BallsInBins {
  uint64_t bins;  // in [1, steps]; of a tree at most 2048

  static constexpr char kName[] = "balls_in_bins";
  static constexpr auto Fields() { return std::tuple(Field{"bins", &BallsInBins::bins, kAny}); }
};
// With `probability`, unless in one of the min_separation - 1 steps before.
struct MinSeparationSampling {
  double probability;       // in (0, 1]
  uint64_t min_separation;  // in [1, steps]

  static constexpr char kName[] = "min_separation_sampling";
  static constexpr auto Fields() {
    return std::tuple(
        Field{"probability", &MinSeparationSampling::probability, rules::SamplingProbability},
        Field{"min_separation", &MinSeparationSampling::min_separation, kAny});
  }
};

// ---- The matrix ----

inline constexpr uint64_t kMaxEncodedSteps = 1 << 16;

// By its sensitivity alone, as the writer states it.
struct StatedSensitivity {
  double sensitivity;  // > 0

  static constexpr char kName[] = "sensitivity";
  static constexpr bool kIsBare = true;
  static constexpr auto Fields() {
    return std::tuple(Field{"sensitivity", &StatedSensitivity::sensitivity, rules::Positive});
  }
};
// The sums over all complete dyadic intervals of the steps.
struct TreeEncoder {
  uint64_t steps;  // >= 1; with balls_in_bins at most 65536
  std::variant<Participation, BallsInBins> schedule;

  static constexpr char kName[] = "tree";
  static constexpr auto Fields() {
    return std::tuple(Field{"steps", &TreeEncoder::steps,
                            [](std::string_view field, uint64_t value, const TreeEncoder& m) {
                              const bool bins = std::holds_alternative<BallsInBins>(m.schedule);
                              return rules::WholeIn(1, bins ? kMaxEncodedSteps : rules::kMaxWhole,
                                                    field, value);
                            }},
                      Field{"schedule", &TreeEncoder::schedule, kAny});
  }
  absl::Status Check() const {
    constexpr uint64_t kMaxBins = 2048;
    const auto* bins = std::get_if<BallsInBins>(&schedule);
    if (bins == nullptr) return absl::OkStatus();
    return rules::WholeIn(1, std::min(steps, kMaxBins), "balls_in_bins.bins", bins->bins);
  }
};
// The lower-triangular Toeplitz matrix of these coefficients, from the diagonal down.
struct ToeplitzEncoder {
  uint64_t steps;                    // in [1, 65536]
  std::vector<double> coefficients;  // >= 0, not increasing, the first > 0; at most steps
  std::variant<Participation, CyclicPoisson, BallsInBins, MinSeparationSampling> schedule;

  static constexpr char kName[] = "toeplitz";
  static constexpr auto Fields() {
    return std::tuple(Field{"steps", &ToeplitzEncoder::steps, WholeBetween(1, kMaxEncodedSteps)},
                      Field{"coefficients", &ToeplitzEncoder::coefficients,
                            [](std::string_view field, const std::vector<double>& list,
                               const ToeplitzEncoder& m) {
                              return rules::WholeIn(1, m.steps, field, list.size());
                            }},
                      Field{"schedule", &ToeplitzEncoder::schedule, kAny});
  }
  absl::Status Check() const {
    RETURN_IF_ERROR(rules::Positive("coefficients[0]", coefficients[0]));
    for (size_t i = 1; i < coefficients.size(); ++i) {
      const std::string element = rules::Element("coefficients", static_cast<int>(i));
      RETURN_IF_ERROR(rules::NonNegative(element, coefficients[i]));
      RETURN_IF_ERROR(rules::Must(coefficients[i] <= coefficients[i - 1],
                                  "not be above the one before it", element, coefficients[i]));
    }
    if (const auto* cyclic = std::get_if<CyclicPoisson>(&schedule))
      return rules::WholeIn(coefficients.size(), steps, "cyclic_poisson.period", cyclic->period);
    if (const auto* bins = std::get_if<BallsInBins>(&schedule))
      return rules::WholeIn(1, steps, "balls_in_bins.bins", bins->bins);
    if (const auto* sampling = std::get_if<MinSeparationSampling>(&schedule))
      return rules::WholeIn(1, steps, "min_separation_sampling.min_separation",
                            sampling->min_separation);
    return absl::OkStatus();
  }
};

// ---- The mechanism ----

struct MatrixMechanism {
  std::variant<StatedSensitivity, TreeEncoder, ToeplitzEncoder> encoder;
  double noise_stddev;                     // > 0, for contributions of norm one
  NoiseKind noise = NoiseKind::kGaussian;  // or kRoundedGaussian

  static constexpr char kName[] = "matrix_mechanism";
  static constexpr Nature kNature = Nature::kOther;  // records have steps, a sample changes them
  static constexpr auto Fields() {
    return std::tuple(Field{"noise_stddev", &MatrixMechanism::noise_stddev, rules::Positive},
                      Field{"noise", &MatrixMechanism::noise, UpTo(NoiseKind::kDiscreteGaussian)},
                      Field{"encoder", &MatrixMechanism::encoder, kAny});
  }
  absl::Status Check() const {
    if (noise != NoiseKind::kDiscreteGaussian) return absl::OkStatus();
    return FieldError("noise", "must be GAUSSIAN or ROUNDED_GAUSSIAN, got DISCRETE_GAUSSIAN");
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
