// Privatizers, runs with correlated noise, and the sums of a rank.
#include <utility>

#include "client/api/call.h"
#include "dpledger/client.h"

namespace dpledger {
namespace {

using api::CorrelatedOptionsInC;
using api::Get;
using api::Made;
using api::PrivatizerOptionsInC;
using api::Run;
using api::Sized;
using api::ToC;

dpledger_adaptive_clip_norm AdaptiveToC(const AdaptiveClipNorm& adaptive) {
  auto c = Sized<dpledger_adaptive_clip_norm>();
  if (const auto* mean = std::get_if<MeanNorm>(&adaptive.rule)) {
    c.rule = DPLEDGER_MEAN_NORM;
    c.alpha = mean->alpha;
    c.beta = mean->beta;
  } else {
    const auto& quantile = std::get<NormQuantile>(adaptive.rule);
    c.rule = DPLEDGER_NORM_QUANTILE;
    c.quantile = quantile.quantile;
    c.learning_rate = quantile.learning_rate;
  }
  c.noise_multiplier = adaptive.noise_multiplier;
  c.expected_batch_size = adaptive.expected_batch_size;
  return c;
}

dpledger_gradient_rows ToC(const GradientRows& rows) {
  auto c = Sized<dpledger_gradient_rows>();
  c.first = rows.first;
  c.count = rows.count;
  c.stride = rows.stride;
  c.format = static_cast<int32_t>(rows.format);
  return c;
}

}  // namespace

namespace api {

PrivatizerOptionsInC::PrivatizerOptionsInC(const PrivatizerOptions& options)
    : parts_(options.groups.size()), adaptive_(), options_(Sized<dpledger_privatizer_options>()) {
  for (size_t g = 0; g < options.groups.size(); ++g) {
    const ClipGroup& group = options.groups[g];
    for (const ClipPart& part : group.parts) {
      parts_[g].sizes.push_back(part.size);
      parts_[g].scales.push_back(part.scale);
    }
    auto c = Sized<dpledger_clip_group>();
    c.name = group.name.c_str();
    c.size = group.size;
    c.clip_norm = group.clip_norm;
    c.gamma = group.gamma;
    c.part_sizes = parts_[g].sizes.data();
    c.part_scales = parts_[g].scales.data();
    c.part_count = group.parts.size();
    groups_.push_back(c);
  }
  options_.groups = groups_.data();
  options_.group_count = groups_.size();
  options_.noise_multiplier = options.noise_multiplier;
  options_.allocation = static_cast<int32_t>(options.allocation);
  options_.microbatches = options.microbatches ? 1 : 0;
  if (options.adaptive.has_value()) {
    adaptive_ = AdaptiveToC(*options.adaptive);
    options_.adaptive = &adaptive_;
  }
  options_.threads = options.threads;
}

CorrelatedOptionsInC::CorrelatedOptionsInC(const CorrelatedOptions& options)
    : sums_(options.sums), options_(Sized<dpledger_correlated_options>()) {
  options_.sums = sums_.get();
  options_.steps = options.steps;
  options_.max_participations = options.max_participations;
  options_.min_separation = options.min_separation;
  options_.encoder = DPLEDGER_TREE_AGGREGATION;
  if (const auto* banded = std::get_if<BandedToeplitz>(&options.encoder)) {
    options_.encoder = DPLEDGER_BANDED_TOEPLITZ;
    options_.coefficients = banded->coefficients.data();
    options_.coefficient_count = banded->coefficients.size();
  } else if (const auto* buffered = std::get_if<BufferedToeplitz>(&options.encoder)) {
    options_.encoder = DPLEDGER_BUFFERED_TOEPLITZ;
    options_.weights = buffered->weights.data();
    options_.decays = buffered->decays.data();
    options_.buffer_count = buffered->weights.size();
  }
  if (const auto* cyclic = std::get_if<CyclicPoissonSampling>(&options.sampling)) {
    options_.sampling = DPLEDGER_CYCLIC_POISSON;
    options_.draw_groups = cyclic->draw_groups ? 1 : 0;
    options_.population_size = cyclic->population_size;
    options_.period = cyclic->period;
    options_.probability = cyclic->probability;
  } else if (const auto* balls = std::get_if<BallsInBinsSampling>(&options.sampling)) {
    options_.sampling = DPLEDGER_BALLS_IN_BINS;
    options_.population_size = balls->population_size;
    options_.period = balls->bins;
  }
}

}  // namespace api

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::Create(const PrivatizerOptions& options,
                                                               const Recorder& recorder) {
  const PrivatizerOptionsInC c(options);
  return Made<Privatizer, dpledger_privatizer>(
      [](Privatizer & privatizer) -> auto& { return privatizer.handle_; },
      [&](dpledger_privatizer** made, dpledger_error* error) {
        return dpledger_privatizer_create(c.get(), recorder.get(), made, error);
      });
}

absl::Status Privatizer::BeginStep(const Sampler& sampler) {
  return BeginStep(sampler, sampler.draws());
}

absl::Status Privatizer::BeginStep(const Sampler& sampler, uint64_t draw) {
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_begin_step_on_draw(get(), sampler.get(), draw, error);
  });
}

absl::Status Privatizer::BeginStep(const SamplingScheme& scheme) {
  const dpledger_sampling_scheme c = ToC(scheme);
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_begin_step_by_scheme(get(), &c, error);
  });
}

absl::Status Privatizer::Accumulate(const GradientRows& rows) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run(
      [&](dpledger_error* error) { return dpledger_privatizer_accumulate(get(), &c, error); });
}

absl::Status Privatizer::Accumulate(const GradientRows& rows, absl::Span<const double> norms) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_accumulate_with_norms(get(), &c, norms.data(), norms.size(), error);
  });
}

absl::Status Privatizer::AddSums(absl::Span<const int64_t> sums) {
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_add_sums(get(), sums.data(), sums.size(), error);
  });
}

absl::Status Privatizer::Finish(absl::Span<float> released) {
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_finish(get(), released.data(), released.size(), error);
  });
}

absl::StatusOr<std::unique_ptr<CorrelatedRun>> CorrelatedRun::Begin(
    const CorrelatedOptions& options, const Recorder& recorder) {
  const CorrelatedOptionsInC c(options);
  return Made<CorrelatedRun, dpledger_correlated_run>(
      [](CorrelatedRun & run) -> auto& { return run.handle_; },
      [&](dpledger_correlated_run** made, dpledger_error* error) {
        return dpledger_correlated_run_begin(c.get(), recorder.get(), made, error);
      });
}

absl::StatusOr<absl::Span<const uint64_t>> CorrelatedRun::Draw() {
  const uint64_t* records = nullptr;
  size_t count = 0;
  const absl::Status status = Run([&](dpledger_error* error) {
    return dpledger_correlated_run_draw(get(), &records, &count, error);
  });
  if (!status.ok()) return status;
  return absl::MakeConstSpan(records, count);
}

absl::Status CorrelatedRun::Accumulate(const GradientRows& rows) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run(
      [&](dpledger_error* error) { return dpledger_correlated_run_accumulate(get(), &c, error); });
}

absl::Status CorrelatedRun::Accumulate(const GradientRows& rows, absl::Span<const double> norms) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run([&](dpledger_error* error) {
    return dpledger_correlated_run_accumulate_with_norms(get(), &c, norms.data(), norms.size(),
                                                         error);
  });
}

absl::Status CorrelatedRun::AddSums(absl::Span<const int64_t> sums) {
  return Run([&](dpledger_error* error) {
    return dpledger_correlated_run_add_sums(get(), sums.data(), sums.size(), error);
  });
}

absl::Status CorrelatedRun::FinishStep(absl::Span<float> estimates) {
  return Run([&](dpledger_error* error) {
    return dpledger_correlated_run_finish_step(get(), estimates.data(), estimates.size(), error);
  });
}

absl::Status CorrelatedRun::Save() {
  return Run([&](dpledger_error* error) { return dpledger_correlated_run_save(get(), error); });
}

absl::StatusOr<RecordRange> CyclicBatch(uint64_t population_size, uint64_t batches_per_epoch,
                                        uint64_t step) {
  return Get<RecordRange>([&](RecordRange* range, dpledger_error* error) {
    return dpledger_cyclic_batch(population_size, batches_per_epoch, step, &range->begin,
                                 &range->end, error);
  });
}

absl::StatusOr<std::unique_ptr<RankSum>> RankSum::Create(const PrivatizerOptions& options) {
  const PrivatizerOptionsInC c(options);
  return Made<RankSum, dpledger_sum>(
      [](RankSum & sum) -> auto& { return sum.handle_; },
      [&](dpledger_sum** made, dpledger_error* error) {
        return dpledger_sum_create(c.get(), made, error);
      });
}

absl::Status RankSum::Accumulate(const GradientRows& rows) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run([&](dpledger_error* error) { return dpledger_sum_accumulate(get(), &c, error); });
}

absl::Status RankSum::Accumulate(const GradientRows& rows, absl::Span<const double> norms) {
  const dpledger_gradient_rows c = ToC(rows);
  return Run([&](dpledger_error* error) {
    return dpledger_sum_accumulate_with_norms(get(), &c, norms.data(), norms.size(), error);
  });
}

absl::Status RankSum::AddSums(absl::Span<const int64_t> sums) {
  return Run([&](dpledger_error* error) {
    return dpledger_sum_add_sums(get(), sums.data(), sums.size(), error);
  });
}

absl::StatusOr<absl::Span<const int64_t>> RankSum::Values() const {
  size_t count = 0;
  const auto values = Get<const int64_t*>([&](const int64_t** first, dpledger_error* error) {
    return dpledger_sum_values(get(), first, &count, error);
  });
  if (!values.ok()) return values.status();
  return absl::MakeConstSpan(*values, count);
}

absl::Status RankSum::Clear() {
  return Run([&](dpledger_error* error) { return dpledger_sum_clear(get(), error); });
}

absl::Status RankSum::SetClipNorm(double clip_norm) {
  return Run(
      [&](dpledger_error* error) { return dpledger_sum_set_clip_norm(get(), clip_norm, error); });
}

}  // namespace dpledger
