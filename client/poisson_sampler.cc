#include "client/poisson_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/population.h"
#include "client/internal/real.h"

namespace dpledger::client {
namespace internal {

// q <= -ln(1 - q) <= q (1 + q): below, q itself is near enough, subnormal q included. Derivation:
// client/CLAIM.md, line G.
GeometricSkip::GeometricSkip(double q) : q_(q), rate_(q < 0x1p-60 ? q : -std::log1p(-q)) {}

uint64_t GeometricSkip::Exact(uint64_t limit,
                              absl::FunctionRef<uint64_t(uint64_t level)> bits) const {
  std::vector<uint64_t> words;
  while (true) {
    words.push_back(bits(words.size()));
    const UniformInterval u(words);
    const mpfr_prec_t precision = UniformInterval::Precision(words.size());
    // 1 - q is not formed: q may be far below the precision.
    Real lower(precision), upper(precision), rate_lower(precision), rate_upper(precision);
    for (auto [rate, direction] :
         {std::pair(&rate_lower, MPFR_RNDD), std::pair(&rate_upper, MPFR_RNDU)}) {
      mpfr_set_d(*rate, -q_, MPFR_RNDN);
      mpfr_log1p(*rate, *rate, direction == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD);
      mpfr_neg(*rate, *rate, MPFR_RNDN);
    }
    NegativeLog(lower, u.upper, MPFR_RNDD);
    NegativeLog(upper, u.lower, MPFR_RNDU);
    mpfr_div(lower, lower, rate_upper, MPFR_RNDD);
    mpfr_div(upper, upper, rate_lower, MPFR_RNDU);
    mpfr_floor(lower, lower);
    mpfr_floor(upper, upper);
    const bool beyond = mpfr_cmp_ui(lower, limit) >= 0;
    if (beyond || mpfr_equal_p(lower, upper)) {
      const uint64_t skip = beyond ? limit : mpfr_get_uj(lower, MPFR_RNDN);
      mpfr_free_cache();
      return skip;
    }
  }
}

namespace {

constexpr size_t kMaxWords = 512;  // 4 KiB of words and 4 of skips, which stay in the first cache

// How many words to draw where `expected` more indices are, in whole vectors and AES strides: most
// often one draw gets them all, and few are left over.
size_t WordsFor(double expected) {
  constexpr size_t kStride = 16;
  const double wanted = std::min(expected + 1, static_cast<double>(kMaxWords));
  return (static_cast<size_t>(wanted) + kStride - 1) / kStride * kStride;
}

// Appends the sampled ones of records [begin, begin + size), which are block `block` of the key's
// stream.
void SampleBlock(KeyStream& key, uint64_t block, uint64_t size, double q, const GeometricSkip& skip,
                 std::vector<uint64_t>& sample) {
  const uint64_t begin = block * kSamplingBlock;
  std::array<uint64_t, kMaxWords> words, skips;
  uint64_t position = 0;
  for (uint64_t drawn = 0; position < size;) {
    const size_t count = WordsFor(static_cast<double>(size - position) * q);
    key.Words(StreamOf(0, block), drawn / 2, absl::MakeSpan(words).first(count));
    if (!skip.Many(absl::MakeSpan(words).first(count), skips.data())) {
      for (size_t i = 0; i < count; ++i) {
        if (skips[i] != kUndecided) continue;
        skips[i] = skip.Exact(kSamplingBlock, [&](uint64_t level) {
          const uint64_t at = drawn + i;
          return level == 0 ? words[i] : key.Block(StreamOf(level, block), at / 2)[at % 2];
        });
      }
    }
    // In place: what is sampled is never more than what was drawn.
    size_t sampled = 0;
    for (size_t i = 0; i < count; ++i) {
      position += skips[i];
      if (position >= size) break;
      words[sampled++] = begin + position++;
    }
    sample.insert(sample.end(), words.begin(), words.begin() + sampled);
    drawn += count;
  }
}

}  // namespace

std::vector<uint64_t> SamplePoisson(KeyStream key, uint64_t population_size, double q) {
  std::vector<uint64_t> sample;
  if (q == 1) {
    sample.resize(population_size);
    for (uint64_t i = 0; i < sample.size(); ++i) sample[i] = i;
    return sample;
  }
  // One page more than most samples need, or as much as may be asked for without need.
  const double expected = static_cast<double>(population_size) * q;
  constexpr double kMostReserved = 1 << 27;
  sample.reserve(static_cast<size_t>(std::min(expected + 4 * std::sqrt(expected), kMostReserved)));
  const GeometricSkip skip(q);
  for (uint64_t block = 0; block * kSamplingBlock < population_size; ++block) {
    const uint64_t size = std::min(kSamplingBlock, population_size - block * kSamplingBlock);
    SampleBlock(key, block, size, q, skip, sample);
  }
  return sample;
}

}  // namespace internal

absl::StatusOr<std::unique_ptr<PoissonSampler>> PoissonSampler::Create(
    const PoissonSamplerOptions& options, absl::StatusOr<RootKey> root) {
  RETURN_IF_ERROR(internal::CheckPopulation(options.population_size));
  if (!(options.probability > 0 && options.probability <= 1)) {
    return FieldError("probability", absl::StrCat("must be in (0, 1], got ", options.probability));
  }
  RETURN_IF_ERROR(root.status());
  return std::unique_ptr<PoissonSampler>(new PoissonSampler(options, *std::move(root)));
}

PoissonSampler::PoissonSampler(const PoissonSamplerOptions& options, RootKey root)
    : Sampler({options.population_size, accountant::PoissonSampling{options.probability}}),
      options_(options),
      root_(std::move(root)) {}

absl::StatusOr<std::vector<uint64_t>> PoissonSampler::DrawNext() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  return internal::SamplePoisson(root_.Derive(KeyPurpose::kSampling, next_step_++),
                                 options_.population_size, options_.probability);
}

}  // namespace dpledger::client
