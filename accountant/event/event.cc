#include "accountant/event/event.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace dpledger::accountant {
namespace {

// Noise multipliers whose squares stay far from the ends of doubles: others have no analysis.
constexpr double kLeastNoise = 1e-100, kGreatestNoise = 1e100;

}  // namespace

absl::Status UnknownNumber(std::string_view field, int number) {
  return FieldError(field, absl::StrCat("enum number ", number, " is not known to this version"));
}

absl::Status TooDeep(std::string_view kind) {
  return FieldError(kind, absl::StrCat("must be at most ", kMaxDepth, " levels deep"));
}

absl::Status SamplingScheme::Check() const {
  return std::visit(
      [this]<typename Kind>(const Kind& scheme) -> absl::Status {
        if constexpr (requires { Kind::kNeedsPopulation; }) {
          if (population_size == 0)
            return FieldError("population_size", "must be stated for this scheme, got 0");
        }
        if constexpr (requires { scheme.CheckFrom(population_size); })
          return rules::Within(Kind::kName, scheme.CheckFrom(population_size));
        return absl::OkStatus();
      },
      kind);
}

std::string SchemeName(const SamplingScheme& scheme) {
  return std::visit([]<typename Kind>(const Kind&) { return Kind::kName; }, scheme.kind);
}

std::optional<Epoch> EpochOf(const SamplingScheme& scheme) {
  return std::visit(
      [](const auto& kind) -> std::optional<Epoch> {
        if constexpr (requires { kind.OfEpoch(); }) return kind.OfEpoch();
        return std::nullopt;
      },
      scheme.kind);
}

absl::Status SumQuery::Check() const {
  if (noise == NoiseKind::kRoundedGaussian) {
    RETURN_IF_ERROR(rules::Positive("grid", grid));
    RETURN_IF_ERROR(rules::WholeDouble("l2_norm_bound", l2_norm_bound));
    RETURN_IF_ERROR(rules::WholeDouble("noise_stddev", noise_stddev));
  } else {
    RETURN_IF_ERROR(rules::Must(grid == 0, "be 0 unless noise is ROUNDED_GAUSSIAN", "grid", grid));
  }
  const double multiplier = noise_stddev / l2_norm_bound;
  return rules::Must(multiplier >= kLeastNoise && multiplier <= kGreatestNoise,
                     "be 1e-100 to 1e100 times l2_norm_bound, for others have no analysis",
                     "noise_stddev", noise_stddev);
}

absl::Status RoundsEvent::Check() const {
  const std::optional<Epoch> epoch = EpochOf(round.scheme);
  if (!epoch.has_value() || count % epoch->rounds == 0) return absl::OkStatus();
  return FieldError(
      "count", absl::StrCat("must be a multiple of the epoch's ", epoch->rounds, " rounds, got ",
                            count, "; write the ", count % epoch->rounds,
                            " rounds of the unfinished epoch one by one, each as a sampling event "
                            "of that epoch and its sum_query events"));
}

namespace {

// The greatest nature in the lists of mechanisms that a value has.
template <IsValue Value>
Nature NatureOfParts(const Value& value, Nature nature) {
  ForEachField(value, [&nature](const auto&, const auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, std::vector<Mechanism>>) {
      for (const Mechanism& part : member) nature = std::max(nature, NatureOf(part));
    }
    return absl::OkStatus();
  }).IgnoreError();
  return nature;
}

}  // namespace

Nature NatureOf(const Mechanism& mechanism) {
  return std::visit(
      []<typename Kind>(const Kind& kind) { return NatureOfParts(kind, Kind::kNature); },
      mechanism.kind);
}

size_t BytesOf(const Mechanism& mechanism) { return sizeof(Mechanism) + BytesElsewhere(mechanism); }

absl::Status CheckEvent(const Event& event) {
  return std::visit(
      []<typename Kind>(const Kind& kind) { return rules::Within(Kind::kName, CheckValue(kind)); },
      event);
}
absl::Status CheckScheme(const SamplingScheme& scheme) { return CheckValue(scheme); }
absl::Status CheckQuery(const SumQuery& query) { return CheckValue(query); }
absl::Status CheckRound(const Round& round) { return CheckValue(round); }
absl::Status CheckMechanism(const Mechanism& mechanism) { return CheckValue(mechanism); }

}  // namespace dpledger::accountant
