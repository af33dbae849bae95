#include "client/c/options.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "client/c/calls.h"

namespace dpledger::client::c {
namespace {

constexpr size_t kMaxParts = 1 << 20;

// The C interface numbers them as the C++ does.
static_assert(static_cast<int>(NumberFormat::kFloat16) == DPLEDGER_FLOAT16);
static_assert(static_cast<int>(NoiseAllocation::kLeastVariance) == DPLEDGER_LEAST_VARIANCE);

absl::StatusOr<ClipGroup> ReadGroup(const std::string& field, const void* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_clip_group>(field, given));
  ClipGroup group;
  ASSIGN_OR_RETURN(group.name, ReadText(absl::StrCat(field, ".name"), read.name));
  group.size = read.size;
  group.clip_norm = read.clip_norm;
  if (read.gamma != 0) group.normalise = Normalise{read.gamma};
  if (read.part_count > kMaxParts) {
    return FieldError(absl::StrCat(field, ".part_count"),
                      absl::StrCat("must be at most ", kMaxParts, ", got ", read.part_count));
  }
  if (read.part_count > 0 && (read.part_sizes == nullptr || read.part_scales == nullptr)) {
    return FieldError(absl::StrCat(field, ".part_sizes"), "and part_scales must not be NULL");
  }
  for (size_t i = 0; i < read.part_count; ++i) {
    group.parts.push_back({read.part_sizes[i], read.part_scales[i]});
  }
  return group;
}

absl::StatusOr<AdaptiveClipNorm> ReadAdaptive(const dpledger_adaptive_clip_norm* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_adaptive_clip_norm>("adaptive", given));
  RETURN_IF_ERROR(CheckReserved("adaptive", read.reserved));
  RETURN_IF_ERROR(
      CheckConstant("adaptive.rule", read.rule, DPLEDGER_MEAN_NORM, DPLEDGER_NORM_QUANTILE));
  AdaptiveClipNorm adaptive;
  constexpr char kWhy[] = " for this rule";
  if (read.rule == DPLEDGER_MEAN_NORM) {
    RETURN_IF_ERROR(CheckZero("adaptive.quantile", read.quantile, kWhy));
    RETURN_IF_ERROR(CheckZero("adaptive.learning_rate", read.learning_rate, kWhy));
    adaptive.rule = MeanNorm{.alpha = read.alpha, .beta = read.beta};
  } else {
    RETURN_IF_ERROR(CheckZero("adaptive.alpha", read.alpha, kWhy));
    RETURN_IF_ERROR(CheckZero("adaptive.beta", read.beta, kWhy));
    adaptive.rule = NormQuantile{.quantile = read.quantile, .learning_rate = read.learning_rate};
  }
  adaptive.noise_multiplier = read.noise_multiplier;
  adaptive.expected_batch_size = read.expected_batch_size;
  return adaptive;
}

// An array that only one encoder has, and how many numbers it may have there at most.
absl::StatusOr<std::vector<double>> ReadNumbers(std::string_view field, const double* given,
                                                size_t count, size_t most) {
  if (count > most) {
    const std::string why =
        most == 0 ? "must be none for this encoder" : absl::StrCat("must be at most ", most);
    return FieldError(field, absl::StrCat(why, ", got ", count));
  }
  if (count > 0 && given == nullptr) return FieldError(field, "must not be NULL");
  return std::vector<double>(given, given + count);
}

absl::Status ReadSampling(const dpledger_correlated_options& read, RunSampling& sampling) {
  RETURN_IF_ERROR(
      CheckConstant("sampling", read.sampling, DPLEDGER_NO_SAMPLING, DPLEDGER_BALLS_IN_BINS));
  constexpr char kNotRead[] = ", as this sampling does not read it";
  if (read.sampling == DPLEDGER_CYCLIC_POISSON) {
    ASSIGN_OR_RETURN(const bool draw_groups, ReadFlag("draw_groups", read.draw_groups));
    sampling =
        CyclicPoissonSampling{read.population_size, read.period, read.probability, draw_groups};
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckZero("draw_groups", read.draw_groups, kNotRead));
  RETURN_IF_ERROR(CheckZero("probability", read.probability, kNotRead));
  if (read.sampling == DPLEDGER_BALLS_IN_BINS) {
    sampling = BallsInBinsSampling{read.population_size, read.period};
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      CheckZero("population_size", static_cast<double>(read.population_size), kNotRead));
  return CheckZero("period", static_cast<double>(read.period), kNotRead);
}

// Of the members that not every kind of scheme reads.
absl::Status CheckUnused(const dpledger_sampling_scheme& scheme) {
  const int32_t kind = scheme.kind;
  const bool truncated = kind == DPLEDGER_TRUNCATED_POISSON;
  const bool allocated = kind == DPLEDGER_RANDOM_ALLOCATION;
  const bool in_epochs = allocated || kind == DPLEDGER_DISJOINT_BATCHES;
  const bool sized = kind == DPLEDGER_WITHOUT_REPLACEMENT || kind == DPLEDGER_WITH_REPLACEMENT;
  for (const auto& [field, value, used] :
       {std::tuple("probability", scheme.probability, kind == DPLEDGER_POISSON || truncated),
        std::tuple("sample_size", static_cast<double>(scheme.sample_size), sized || truncated),
        std::tuple("contributions", static_cast<double>(scheme.contributions), allocated),
        std::tuple("fixed_bins", static_cast<double>(scheme.fixed_bins), allocated),
        std::tuple("rounds_per_epoch", static_cast<double>(scheme.rounds_per_epoch), in_epochs),
        std::tuple("epoch", static_cast<double>(scheme.epoch), in_epochs)}) {
    if (used) continue;
    RETURN_IF_ERROR(CheckZero(absl::StrCat("scheme.", field), value, " for this kind of scheme"));
  }
  return absl::OkStatus();
}

absl::StatusOr<accountant::SumQuery> ReadQuery(const std::string& field, const void* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_sum_query>(field, given));
  RETURN_IF_ERROR(CheckReserved(field, read.reserved));
  RETURN_IF_ERROR(CheckConstant(absl::StrCat(field, ".noise"), read.noise, DPLEDGER_GAUSSIAN,
                                DPLEDGER_DISCRETE_GAUSSIAN));
  ASSIGN_OR_RETURN(std::string group, ReadText(absl::StrCat(field, ".group"), read.group));
  return accountant::SumQuery{std::move(group), read.l2_norm_bound, read.noise_stddev,
                              static_cast<accountant::NoiseKind>(read.noise), read.grid};
}

}  // namespace

absl::StatusOr<PrivatizerOptions> ReadPrivatizerOptions(const dpledger_privatizer_options* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_privatizer_options>("options", given));
  PrivatizerOptions options;
  ASSIGN_OR_RETURN(const auto groups,
                   ReadArray("groups", read.groups, read.group_count, /*most=*/4096));
  for (const auto& [field, element] : groups) {
    ASSIGN_OR_RETURN(options.groups.emplace_back(), ReadGroup(field, element));
  }
  options.noise_multiplier = read.noise_multiplier;
  RETURN_IF_ERROR(
      CheckConstant("allocation", read.allocation, DPLEDGER_PROPORTIONAL, DPLEDGER_LEAST_VARIANCE));
  options.allocation = static_cast<NoiseAllocation>(read.allocation);
  ASSIGN_OR_RETURN(options.microbatches, ReadFlag("microbatches", read.microbatches));
  if (read.threads != 0) options.threads = read.threads;
  if (read.adaptive == nullptr) return options;
  ASSIGN_OR_RETURN(options.adaptive, ReadAdaptive(read.adaptive));
  return options;
}

absl::StatusOr<GradientRows> ReadRows(const dpledger_gradient_rows* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_gradient_rows>("rows", given));
  RETURN_IF_ERROR(CheckConstant("rows.format", read.format, DPLEDGER_FLOAT32, DPLEDGER_FLOAT16));
  RETURN_IF_ERROR(CheckReserved("rows", read.reserved));
  return GradientRows{read.first, read.count, read.stride, static_cast<NumberFormat>(read.format)};
}

absl::StatusOr<CorrelatedOptions> ReadCorrelatedOptions(const dpledger_correlated_options* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_correlated_options>(
                       "options", given, offsetof(dpledger_correlated_options, sampling)));
  RETURN_IF_ERROR(CheckConstant("encoder", read.encoder, DPLEDGER_TREE_AGGREGATION,
                                DPLEDGER_BUFFERED_TOEPLITZ));
  RETURN_IF_ERROR(CheckReserved("options", read.reserved));
  RETURN_IF_ERROR(CheckGiven({{"sums", read.sums}}));
  CorrelatedOptions options;
  ASSIGN_OR_RETURN(options.sums, rules::Within("sums", ReadPrivatizerOptions(read.sums)));
  options.steps = read.steps;
  options.max_participations = read.max_participations;
  options.min_separation = read.min_separation;
  RETURN_IF_ERROR(ReadSampling(read, options.sampling));
  const bool banded = read.encoder == DPLEDGER_BANDED_TOEPLITZ;
  const bool buffered = read.encoder == DPLEDGER_BUFFERED_TOEPLITZ;
  const size_t most_buffers = buffered ? 16 : 0;
  ASSIGN_OR_RETURN(auto coefficients,
                   ReadNumbers("coefficients", read.coefficients, read.coefficient_count,
                               banded ? kMaxCoefficients : 0));
  ASSIGN_OR_RETURN(auto weights,
                   ReadNumbers("weights", read.weights, read.buffer_count, most_buffers));
  ASSIGN_OR_RETURN(auto decays,
                   ReadNumbers("decays", read.decays, read.buffer_count, most_buffers));
  if (banded) options.encoder = BandedToeplitz{std::move(coefficients)};
  if (buffered) options.encoder = BufferedToeplitz{std::move(weights), std::move(decays)};
  return options;
}

absl::StatusOr<accountant::SamplingScheme> ReadScheme(const dpledger_sampling_scheme* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_sampling_scheme>(
                       "scheme", given, offsetof(dpledger_sampling_scheme, contributions)));
  RETURN_IF_ERROR(
      CheckConstant("scheme.kind", read.kind, DPLEDGER_POISSON, DPLEDGER_TRUNCATED_POISSON));
  RETURN_IF_ERROR(CheckReserved("scheme", read.reserved));
  ASSIGN_OR_RETURN(const bool fixed_bins, ReadFlag("scheme.fixed_bins", read.fixed_bins));
  RETURN_IF_ERROR(CheckUnused(read));
  accountant::SamplingScheme scheme{read.population_size, {}};
  switch (read.kind) {
    case DPLEDGER_POISSON:
      scheme.kind = accountant::PoissonSampling{read.probability};
      break;
    case DPLEDGER_WITHOUT_REPLACEMENT:
      scheme.kind = accountant::WithoutReplacement{read.sample_size};
      break;
    case DPLEDGER_WITH_REPLACEMENT:
      scheme.kind = accountant::WithReplacement{read.sample_size};
      break;
    case DPLEDGER_FULL_BATCH:
      scheme.kind = accountant::FullBatch{};
      break;
    case DPLEDGER_DISJOINT_BATCHES:
      scheme.kind = accountant::DisjointBatches{read.rounds_per_epoch, read.epoch};
      break;
    case DPLEDGER_RANDOM_ALLOCATION:
      scheme.kind = accountant::RandomAllocation{
          read.rounds_per_epoch, read.epoch, std::max<uint64_t>(read.contributions, 1), fixed_bins};
      break;
    default:  // DPLEDGER_TRUNCATED_POISSON
      scheme.kind = accountant::TruncatedPoisson{read.probability, read.sample_size};
      break;
  }
  return scheme;
}

absl::StatusOr<std::vector<accountant::SumQuery>> ReadQueries(const dpledger_sum_query* given,
                                                              size_t count) {
  ASSIGN_OR_RETURN(const auto elements, ReadArray("queries", given, count, /*most=*/9999));
  std::vector<accountant::SumQuery> queries;
  for (const auto& [field, element] : elements) {
    ASSIGN_OR_RETURN(queries.emplace_back(), ReadQuery(field, element));
  }
  return queries;
}

absl::Status WriteQuery(const accountant::SumQuery& query, dpledger_sum_query* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_sum_query>("query", given));
  dpledger_sum_query written = {};
  written.struct_size = read.struct_size;
  written.group = query.group.c_str();
  written.l2_norm_bound = query.l2_norm_bound;
  written.noise_stddev = query.noise_stddev;
  written.noise = static_cast<int32_t>(query.noise);
  written.grid = query.grid;
  std::memcpy(given, &written, std::min(sizeof(written), read.struct_size));
  return absl::OkStatus();
}

}  // namespace dpledger::client::c
