#include "dpledger/client.h"

#include <utility>

namespace dpledger {
namespace {

// Runs a call of the C interface and gives its error as a status.
template <typename Call>
absl::Status Run(Call call) {
  const Handle<dpledger_error, dpledger_error_free> error(dpledger_error_new());
  const dpledger_status status = call(error.get());
  if (status == DPLEDGER_OK) return absl::OkStatus();
  const char* message = error == nullptr ? "out of memory" : dpledger_error_message(error.get());
  return absl::Status(static_cast<absl::StatusCode>(status), message);
}

template <typename T>
T Sized() {
  T value = {};
  value.struct_size = sizeof(T);
  return value;
}

// An owner of T, whose handle `make` sets.
template <typename Owner, typename T, typename Slot, typename Make>
absl::StatusOr<std::unique_ptr<Owner>> Made(Slot slot, Make make) {
  T* made = nullptr;
  const absl::Status status = Run([&](dpledger_error* error) { return make(&made, error); });
  if (!status.ok()) return status;
  auto owner = std::make_unique<Owner>();
  slot(*owner).reset(made);
  return owner;
}

template <typename Enum>
int32_t Number(const std::optional<Enum>& value) {
  return value.has_value() ? static_cast<int32_t>(*value) : 0;
}

dpledger_sampling_scheme ToC(const SamplingScheme& scheme) {
  auto c = Sized<dpledger_sampling_scheme>();
  c.kind = static_cast<int32_t>(scheme.kind);
  c.population_size = scheme.population_size;
  c.probability = scheme.probability;
  c.sample_size = scheme.sample_size;
  c.rounds_per_epoch = scheme.rounds_per_epoch;
  c.epoch = scheme.epoch;
  return c;
}

dpledger_sum_query ToC(const SumQuery& query) {
  auto c = Sized<dpledger_sum_query>();
  c.group = query.group.c_str();
  c.l2_norm_bound = query.l2_norm_bound;
  c.noise_stddev = query.noise_stddev;
  c.noise = static_cast<int32_t>(query.noise);
  c.grid = query.grid;
  return c;
}

dpledger_declaration ToC(const Declaration& declaration) {
  auto c = Sized<dpledger_declaration>();
  c.dataset = declaration.dataset.c_str();
  c.unit_of_privacy = declaration.unit_of_privacy.c_str();
  c.released = declaration.released.c_str();
  c.description = declaration.description.c_str();
  c.adjacency = Number(declaration.adjacency);
  c.parameters = Number(declaration.parameters);
  c.planned_rounds = declaration.planned_rounds;
  c.plan_independent = declaration.plan_independent ? 1 : 0;
  if (const auto* rdp = std::get_if<RdpFilter>(&declaration.filter)) {
    c.filter = DPLEDGER_RDP_FILTER;
    c.filter_order = rdp->order;
    c.filter_bound = rdp->epsilon;
  } else if (const auto* zcdp = std::get_if<ZcdpFilter>(&declaration.filter)) {
    c.filter = DPLEDGER_ZCDP_FILTER;
    c.filter_bound = zcdp->rho;
  } else if (const auto* gdp = std::get_if<GdpFilter>(&declaration.filter)) {
    c.filter = DPLEDGER_GDP_FILTER;
    c.filter_bound = gdp->mu;
  }
  return c;
}

dpledger_adaptive_clip_norm ToC(const AdaptiveClipNorm& adaptive) {
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

// Groups with the arrays that their C form points to.
class Groups {
 public:
  explicit Groups(const std::vector<ClipGroup>& groups) : parts_(groups.size()) {
    for (size_t g = 0; g < groups.size(); ++g) {
      const ClipGroup& group = groups[g];
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
  }
  const std::vector<dpledger_clip_group>& get() const { return groups_; }

 private:
  struct Parts {
    std::vector<size_t> sizes;
    std::vector<double> scales;
  };
  std::vector<Parts> parts_;
  std::vector<dpledger_clip_group> groups_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const RecorderOptions& options) {
  const dpledger_declaration declaration = ToC(options.declaration);
  auto c = Sized<dpledger_recorder_options>();
  c.server = options.server.c_str();
  c.ledger = options.ledger.c_str();
  c.writer = options.writer.c_str();
  c.declaration = &declaration;
  c.spool_folder = options.spool_folder.c_str();
  c.spool_bound_bytes = options.spool_bound_bytes;
  c.policy = static_cast<int32_t>(options.policy);
  c.plan_varies = options.plan_varies ? 1 : 0;
  c.open_timeout_seconds = options.open_timeout_seconds;
  c.release_timeout_seconds = options.release_timeout_seconds;
  c.full_spool_timeout_seconds = options.full_spool_timeout_seconds;
  c.close_timeout_seconds = options.close_timeout_seconds;
  c.stall_timeout_seconds = options.stall_timeout_seconds;
  return Made<Recorder, dpledger_recorder>(
      [](Recorder & recorder) -> auto& { return recorder.handle_; },
      [&](dpledger_recorder** made, dpledger_error* error) {
        return dpledger_recorder_open(&c, made, error);
      });
}

absl::StatusOr<uint64_t> Recorder::RecordRound(const SamplingScheme& scheme,
                                               const std::vector<SumQuery>& queries) {
  const dpledger_sampling_scheme c_scheme = ToC(scheme);
  std::vector<dpledger_sum_query> c_queries;
  for (const SumQuery& query : queries) c_queries.push_back(ToC(query));
  uint64_t number = 0;
  const absl::Status status = Run([&](dpledger_error* error) {
    return dpledger_recorder_record_round(get(), &c_scheme, c_queries.data(), c_queries.size(),
                                          &number, error);
  });
  if (!status.ok()) return status;
  return number;
}

absl::Status Recorder::AwaitReleasable(uint64_t number) {
  return Run([&](dpledger_error* error) {
    return dpledger_recorder_await_releasable(get(), number, error);
  });
}

absl::Status Recorder::Close() {
  return Run([&](dpledger_error* error) { return dpledger_recorder_close(get(), error); });
}

std::string Recorder::ledger() const { return dpledger_recorder_ledger(get()); }

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Create(const SamplingScheme& scheme) {
  const dpledger_sampling_scheme c = ToC(scheme);
  return Made<Sampler, dpledger_sampler>(
      [](Sampler & sampler) -> auto& { return sampler.handle_; },
      [&](dpledger_sampler** made, dpledger_error* error) {
        return dpledger_sampler_create(&c, made, error);
      });
}

absl::StatusOr<absl::Span<const uint64_t>> Sampler::Draw() {
  const uint64_t* sample = nullptr;
  size_t size = 0;
  const absl::Status status = Run(
      [&](dpledger_error* error) { return dpledger_sampler_draw(get(), &sample, &size, error); });
  if (!status.ok()) return status;
  return absl::MakeConstSpan(sample, size);
}

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::Create(const PrivatizerOptions& options,
                                                               const Recorder& recorder) {
  const Groups groups(options.groups);
  auto c = Sized<dpledger_privatizer_options>();
  c.groups = groups.get().data();
  c.group_count = groups.get().size();
  c.noise_multiplier = options.noise_multiplier;
  c.allocation = static_cast<int32_t>(options.allocation);
  c.microbatches = options.microbatches ? 1 : 0;
  dpledger_adaptive_clip_norm adaptive = {};
  if (options.adaptive.has_value()) {
    adaptive = ToC(*options.adaptive);
    c.adaptive = &adaptive;
  }
  c.threads = options.threads;
  return Made<Privatizer, dpledger_privatizer>(
      [](Privatizer & privatizer) -> auto& { return privatizer.handle_; },
      [&](dpledger_privatizer** made, dpledger_error* error) {
        return dpledger_privatizer_create(&c, recorder.get(), made, error);
      });
}

absl::Status Privatizer::BeginStep(const Sampler& sampler) {
  return Run([&](dpledger_error* error) {
    return dpledger_privatizer_begin_step(get(), sampler.get(), error);
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

}  // namespace dpledger
