#include "client/run_sampler.h"

#include "client/fixed_batches.h"
#include "client/poisson_sampler.h"

namespace dpledger::client {

RunSampler::RunSampler(const RunSampling& sampling, const RootKey* root)
    : sampling_(sampling), root_(root) {}

std::vector<uint64_t> RunSampler::Draw(uint64_t step) {
  if (const auto* balls = std::get_if<BallsInBinsSampling>(&sampling_)) {
    const auto records = Allocated(balls->population_size, balls->bins, step % balls->bins);
    return {records.begin(), records.end()};
  }
  const auto& [population, period, probability, draw_groups] =
      std::get<CyclicPoissonSampling>(sampling_);
  absl::Span<const uint32_t> drawn;
  RecordRange range = internal::Batch(population, period, step % period);
  if (draw_groups) {
    drawn = Allocated(population, period, step % period);
    range = {0, drawn.size()};
  }
  std::vector<uint64_t> sample = internal::SamplePoisson(root_->Derive(KeyPurpose::kSampling, step),
                                                         range.end - range.begin, probability);
  for (uint64_t& record : sample) record = draw_groups ? drawn[record] : range.begin + record;
  return sample;
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
