#include "client/fixed_size_sampler.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/population.h"
#include "client/internal/uniform_integers.h"

namespace dpledger::client {
namespace {

absl::Status Validate(const FixedSizeSamplerOptions& options) {
  RETURN_IF_ERROR(internal::CheckPopulation(options.population_size));
  if (options.sample_size < 1 || options.sample_size > options.population_size) {
    return FieldError("sample_size",
                      absl::StrCat("must be in [1, population_size], got ", options.sample_size));
  }
  return internal::CheckListed("sample_size", options.sample_size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FixedSizeSampler>> FixedSizeSampler::Create(
    const FixedSizeSamplerOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  ASSIGN_OR_RETURN(RootKey root, RootKey::FromKernel());
  return std::unique_ptr<FixedSizeSampler>(new FixedSizeSampler(options, std::move(root)));
}

absl::StatusOr<std::unique_ptr<FixedSizeSampler>> FixedSizeSampler::CreateNonPrivateForTesting(
    const FixedSizeSamplerOptions& options, uint64_t seed) {
  RETURN_IF_ERROR(Validate(options));
  return std::unique_ptr<FixedSizeSampler>(
      new FixedSizeSampler(options, RootKey::NonPrivateForTesting(seed)));
}

FixedSizeSampler::FixedSizeSampler(const FixedSizeSamplerOptions& options, RootKey root)
    : options_(options),
      root_(std::move(root)),
      scheme_{options.population_size, accountant::WithoutReplacement{options.sample_size}} {}

// Floyd's algorithm (Bentley and Floyd 1987): after the step for `last`, the set is a uniform
// sample of [0, last].
absl::StatusOr<std::vector<uint64_t>> FixedSizeSampler::DrawNext() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  internal::UniformIntegers uniform(root_.Derive(KeyPurpose::kFixedSizeSampling, next_step_++));
  absl::flat_hash_set<uint64_t> drawn;
  drawn.reserve(options_.sample_size);
  for (uint64_t last = options_.population_size - options_.sample_size;
       last < options_.population_size; ++last) {
    const uint64_t record = uniform.Below(last + 1);
    if (!drawn.insert(record).second) drawn.insert(last);
  }
  std::vector<uint64_t> sample(drawn.begin(), drawn.end());
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace dpledger::client
