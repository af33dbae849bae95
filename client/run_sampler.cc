#include "client/run_sampler.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/fixed_batches.h"
#include "client/internal/population.h"
#include "client/poisson_sampler.h"

namespace dpledger::client {
namespace {

absl::Status CheckTurns(std::string_view field, uint64_t turns, uint64_t steps) {
  if (turns >= 1 && turns <= steps) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, steps], got ", turns));
}

absl::Status Check(const std::monostate&, uint64_t) { return absl::OkStatus(); }

absl::Status Check(const CyclicPoissonSampling& cyclic, uint64_t steps) {
  RETURN_IF_ERROR(internal::CheckListed("sampling.population_size", cyclic.population_size));
  RETURN_IF_ERROR(CheckTurns("sampling.period", cyclic.period, steps));
  if (cyclic.probability > 0 && cyclic.probability <= 1) return absl::OkStatus();
  return FieldError("sampling.probability",
                    absl::StrCat("must be in (0, 1], got ", cyclic.probability));
}

absl::Status Check(const BallsInBinsSampling& balls, uint64_t steps) {
  RETURN_IF_ERROR(internal::CheckListed("sampling.population_size", balls.population_size));
  return CheckTurns("sampling.bins", balls.bins, steps);
}

}  // namespace

absl::Status CheckSampling(const RunSampling& sampling, uint64_t steps) {
  return std::visit([steps](const auto& kind) { return Check(kind, steps); }, sampling);
}

RunSampler::RunSampler(const RunSampling& sampling, const RootKey* root)
    : sampling_(sampling), root_(root) {}

std::vector<uint64_t> RunSampler::Draw(uint64_t step) {
  if (const auto* cyclic = std::get_if<CyclicPoissonSampling>(&sampling_)) {
    return DrawBy(*cyclic, step);
  }
  return DrawBy(std::get<BallsInBinsSampling>(sampling_), step);
}

std::vector<uint64_t> RunSampler::DrawBy(const CyclicPoissonSampling& cyclic, uint64_t step) {
  const uint64_t group = step % cyclic.period;
  KeyStream key = root_->Derive(KeyPurpose::kSampling, step);
  if (cyclic.draw_groups) {
    const auto records = Allocated(cyclic.population_size, cyclic.period, group);
    std::vector<uint64_t> sample =
        internal::SamplePoisson(std::move(key), records.size(), cyclic.probability);
    for (uint64_t& record : sample) record = records[record];
    return sample;
  }
  const RecordRange range = internal::Batch(cyclic.population_size, cyclic.period, group);
  std::vector<uint64_t> sample =
      internal::SamplePoisson(std::move(key), range.end - range.begin, cyclic.probability);
  for (uint64_t& record : sample) record += range.begin;
  return sample;
}

std::vector<uint64_t> RunSampler::DrawBy(const BallsInBinsSampling& balls, uint64_t step) {
  const auto records = Allocated(balls.population_size, balls.bins, step % balls.bins);
  return {records.begin(), records.end()};
}

absl::Span<const uint32_t> RunSampler::Allocated(uint64_t population_size, uint64_t rounds,
                                                 uint64_t round) {
  if (allocated_.order.empty()) {
    allocated_ = internal::AllocateRecords(root_->Derive(KeyPurpose::kRandomAllocation, 0),
                                           population_size, rounds);
  }
  return allocated_.Of(round);
}

}  // namespace dpledger::client
