#include "client/internal/check_event.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace dpledger::client::internal {
namespace {

constexpr uint64_t kMaxCount = uint64_t{1} << 53;
constexpr size_t kMaxGroupBytes = 256;
// A batch holds 10,000 entries; one is the sampling event.
constexpr size_t kMaxQueries = 9999;
constexpr uint64_t kMaxToeplitzSteps = 1 << 16;
// An entry has at most 64 KiB.
constexpr uint64_t kMaxCoefficients = 8000;
constexpr uint64_t kMaxParticipations = 1024;

absl::Status CheckPositive(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return FieldError(field, absl::StrFormat("must be finite and > 0, got %.17g", value));
}

absl::Status CheckWhole(std::string_view field, double value) {
  if (value == std::floor(value)) return absl::OkStatus();
  return FieldError(field,
                    absl::StrFormat("must be a whole number of grid units, got %.17g", value));
}

absl::Status CheckProbability(std::string_view field, double value) {
  if (value > 0 && value <= 1) return absl::OkStatus();
  return FieldError(field, absl::StrFormat("must be in (0, 1], got %.17g", value));
}

absl::Status CheckCount(std::string_view field, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, ", most, "], got ", value));
}

absl::Status CheckKind(const v1::SamplingScheme& scheme) {
  switch (scheme.kind_case()) {
    case v1::SamplingScheme::kPoisson:
      return CheckProbability("poisson.probability", scheme.poisson().probability());
    case v1::SamplingScheme::kWithoutReplacement:
      return CheckCount("without_replacement.sample_size",
                        scheme.without_replacement().sample_size(), scheme.population_size());
    case v1::SamplingScheme::kWithReplacement:
      return CheckCount("with_replacement.sample_size", scheme.with_replacement().sample_size(),
                        scheme.population_size());
    case v1::SamplingScheme::kFullBatch:
      return absl::OkStatus();
    case v1::SamplingScheme::kDisjointBatches:
      return CheckCount("disjoint_batches.batches_per_epoch",
                        scheme.disjoint_batches().batches_per_epoch(), kMaxCount);
    case v1::SamplingScheme::kRandomAllocation:
      return CheckCount("random_allocation.rounds_per_epoch",
                        scheme.random_allocation().rounds_per_epoch(), kMaxCount);
    case v1::SamplingScheme::kTruncatedPoisson:
      RETURN_IF_ERROR(CheckProbability("truncated_poisson.probability",
                                       scheme.truncated_poisson().probability()));
      RETURN_IF_ERROR(CheckCount("population_size", scheme.population_size(), kMaxCount - 1));
      return CheckCount("truncated_poisson.max_sample_size",
                        scheme.truncated_poisson().max_sample_size(), kMaxCount);
    case v1::SamplingScheme::KIND_NOT_SET:
      return FieldError("kind", "must be set");
  }
  return FieldError("kind", "must be a known scheme");
}

absl::Status CheckQuery(const v1::SumQuery& query) {
  if (query.group().size() > kMaxGroupBytes) {
    return FieldError("group", absl::StrCat("must be at most ", kMaxGroupBytes, " bytes, got ",
                                            query.group().size()));
  }
  RETURN_IF_ERROR(CheckPositive("l2_norm_bound", query.l2_norm_bound()));
  RETURN_IF_ERROR(CheckPositive("noise_stddev", query.noise_stddev()));
  if (!v1::NoiseKind_IsValid(query.noise())) {
    return FieldError("noise", absl::StrCat("must be a known kind, got ", query.noise()));
  }
  if (query.noise() == v1::ROUNDED_GAUSSIAN) {
    RETURN_IF_ERROR(CheckWhole("l2_norm_bound", query.l2_norm_bound()));
    RETURN_IF_ERROR(CheckWhole("noise_stddev", query.noise_stddev()));
    return CheckPositive("grid", query.grid());
  }
  if (query.grid() == 0) return absl::OkStatus();
  return FieldError("grid", absl::StrFormat("must be 0 unless noise is ROUNDED_GAUSSIAN, got %.17g",
                                            query.grid()));
}

absl::Status CheckEncoder(const v1::TreeEncoder& tree) {
  return CheckCount("steps", tree.steps(), kMaxCount);
}

absl::Status CheckEncoder(const v1::ToeplitzEncoder& toeplitz) {
  RETURN_IF_ERROR(CheckCount("steps", toeplitz.steps(), kMaxToeplitzSteps));
  RETURN_IF_ERROR(CheckCount("coefficients", static_cast<uint64_t>(toeplitz.coefficients_size()),
                             std::min(toeplitz.steps(), kMaxCoefficients)));
  RETURN_IF_ERROR(CheckPositive("coefficients[0]", toeplitz.coefficients(0)));
  for (int i = 1; i < toeplitz.coefficients_size(); ++i) {
    const double most = toeplitz.coefficients(i - 1);
    if (toeplitz.coefficients(i) >= 0 && toeplitz.coefficients(i) <= most) continue;
    return FieldError(absl::StrCat("coefficients[", i, "]"),
                      absl::StrFormat("must be finite and in [0, %.17g], got %.17g", most,
                                      toeplitz.coefficients(i)));
  }
  return absl::OkStatus();
}

template <typename Encoder>
absl::Status CheckParticipating(const Encoder& encoder) {
  RETURN_IF_ERROR(CheckEncoder(encoder));
  RETURN_IF_ERROR(CheckCount("participation.max_participations",
                             encoder.participation().max_participations(), kMaxParticipations));
  return CheckCount("participation.min_separation", encoder.participation().min_separation(),
                    kMaxCount);
}

absl::Status CheckMatrix(const v1::MatrixMechanism& matrix) {
  if (matrix.noise() != v1::GAUSSIAN && matrix.noise() != v1::ROUNDED_GAUSSIAN) {
    return FieldError("noise", absl::StrCat("must be GAUSSIAN or ROUNDED_GAUSSIAN, got ",
                                            v1::NoiseKind_Name(matrix.noise())));
  }
  RETURN_IF_ERROR(CheckPositive("noise_stddev", matrix.noise_stddev()));
  switch (matrix.encoder_case()) {
    case v1::MatrixMechanism::kSensitivity:
      return CheckPositive("sensitivity", matrix.sensitivity());
    case v1::MatrixMechanism::kTree:
      return PrefixField("tree", CheckParticipating(matrix.tree()));
    case v1::MatrixMechanism::kToeplitz:
      return PrefixField("toeplitz", CheckParticipating(matrix.toeplitz()));
    case v1::MatrixMechanism::ENCODER_NOT_SET:
      break;
  }
  return FieldError("encoder", "must be set to one of sensitivity, tree, toeplitz");
}

absl::Status CheckKind(const v1::MechanismEvent& mechanism) {
  if (mechanism.has_count()) {
    RETURN_IF_ERROR(CheckCount("count", mechanism.count(), kMaxCount));
  }
  switch (mechanism.kind_case()) {
    case v1::MechanismEvent::kGaussian:
      return CheckPositive("gaussian.noise_multiplier", mechanism.gaussian().noise_multiplier());
    case v1::MechanismEvent::kNonPrivate:
      return absl::OkStatus();
    case v1::MechanismEvent::kMatrixMechanism:
      return PrefixField("matrix_mechanism", CheckMatrix(mechanism.matrix_mechanism()));
    default:
      return FieldError("kind", "must be gaussian, matrix_mechanism or non_private in a recorder");
  }
}

}  // namespace

absl::Status CheckMechanism(const v1::MechanismEvent& mechanism) {
  return PrefixField("mechanism", CheckKind(mechanism));
}

absl::Status CheckScheme(const v1::SamplingScheme& scheme) {
  if (scheme.population_size() >= kMaxCount) {
    return FieldError("scheme.population_size", absl::StrCat("must be below ", kMaxCount, ", got ",
                                                             scheme.population_size()));
  }
  return PrefixField("scheme", CheckKind(scheme));
}

absl::Status CheckQueries(const std::vector<v1::SumQuery>& queries) {
  if (queries.empty() || queries.size() > kMaxQueries) {
    return FieldError("queries",
                      absl::StrCat("must be 1 to ", kMaxQueries, ", got ", queries.size()));
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    RETURN_IF_ERROR(PrefixField(absl::StrCat("queries[", i, "]"), CheckQuery(queries[i])));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::client::internal
