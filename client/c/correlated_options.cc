#include "client/correlated_options.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/options.h"
#include "client/c/read.h"

namespace dpledger::client::c {
namespace {

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

constexpr size_t kVersionOne = offsetof(dpledger_correlated_options, buffer_count) + sizeof(size_t);

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

}  // namespace

absl::StatusOr<CorrelatedOptions> ReadCorrelatedOptions(const dpledger_correlated_options* given) {
  ASSIGN_OR_RETURN(const auto read,
                   ReadStruct<dpledger_correlated_options>("options", given, kVersionOne));
  RETURN_IF_ERROR(CheckConstant("encoder", read.encoder, DPLEDGER_TREE_AGGREGATION,
                                DPLEDGER_BUFFERED_TOEPLITZ));
  RETURN_IF_ERROR(CheckReserved("options", read.reserved));
  RETURN_IF_ERROR(CheckGiven(read.sums, "sums"));
  CorrelatedOptions options;
  auto sums = ReadPrivatizerOptions(read.sums);
  if (!sums.ok()) return PrefixField("sums", sums.status());
  options.sums = *std::move(sums);
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

}  // namespace dpledger::client::c
