#include "client/c/scheme.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/read.h"

namespace dpledger::client::c {
namespace {

// Which members a kind of scheme reads, besides population_size.
struct Uses {
  bool probability, sample_size, rounds_per_epoch;
};

Uses UsesOf(int32_t kind) {
  switch (kind) {
    case DPLEDGER_POISSON:
      return {true, false, false};
    case DPLEDGER_WITHOUT_REPLACEMENT:
    case DPLEDGER_WITH_REPLACEMENT:
      return {false, true, false};
    case DPLEDGER_DISJOINT_BATCHES:
    case DPLEDGER_RANDOM_ALLOCATION:
      return {false, false, true};
    case DPLEDGER_TRUNCATED_POISSON:
      return {true, true, false};
    default:  // DPLEDGER_FULL_BATCH
      return {false, false, false};
  }
}

absl::Status CheckUnused(const dpledger_sampling_scheme& scheme) {
  constexpr char kWhy[] = " for this kind of scheme";
  const Uses uses = UsesOf(scheme.kind);
  if (!uses.probability) {
    RETURN_IF_ERROR(CheckZero("scheme.probability", scheme.probability, kWhy));
  }
  if (!uses.sample_size) {
    RETURN_IF_ERROR(CheckZero("scheme.sample_size", static_cast<double>(scheme.sample_size), kWhy));
  }
  if (scheme.kind != DPLEDGER_RANDOM_ALLOCATION) {
    RETURN_IF_ERROR(
        CheckZero("scheme.contributions", static_cast<double>(scheme.contributions), kWhy));
    RETURN_IF_ERROR(CheckZero("scheme.fixed_bins", scheme.fixed_bins, kWhy));
  }
  if (uses.rounds_per_epoch) return absl::OkStatus();
  RETURN_IF_ERROR(
      CheckZero("scheme.rounds_per_epoch", static_cast<double>(scheme.rounds_per_epoch), kWhy));
  return CheckZero("scheme.epoch", static_cast<double>(scheme.epoch), kWhy);
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
