#include "dpledger/client.h"

#include <cmath>
#include <utility>

#include "client/api/call.h"

namespace dpledger {
namespace api {

dpledger_sampling_scheme ToC(const SamplingScheme& scheme) {
  auto c = Sized<dpledger_sampling_scheme>();
  c.kind = static_cast<int32_t>(scheme.kind);
  c.population_size = scheme.population_size;
  c.probability = scheme.probability;
  c.sample_size = scheme.sample_size;
  c.rounds_per_epoch = scheme.rounds_per_epoch;
  c.epoch = scheme.epoch;
  c.contributions = scheme.contributions;
  c.fixed_bins = scheme.fixed_bins ? 1 : 0;
  return c;
}

}  // namespace api

namespace {

using api::Get;
using api::Made;
using api::Run;
using api::Sized;
using api::ToC;

template <typename Enum>
int32_t Number(const std::optional<Enum>& value) {
  return value.has_value() ? static_cast<int32_t>(*value) : 0;
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
  } else if (const auto* mixture = std::get_if<MixtureFilter>(&declaration.filter)) {
    c.filter = DPLEDGER_MIXTURE_FILTER;
    c.filter_bound = mixture->epsilon;
    c.filter_delta = mixture->delta;
  }
  return c;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const RecorderOptions& options) {
  const dpledger_declaration declaration = ToC(options.declaration);
  auto c = Sized<dpledger_recorder_options>();
  const auto text = [](const std::string& value) {
    return value.empty() ? nullptr : value.c_str();
  };
  c.server = text(options.server);
  c.ca = text(options.ca);
  c.certificate = text(options.certificate);
  c.certificate_key = text(options.certificate_key);
  c.token_file = text(options.token_file);
  c.log_key = text(options.log_key);
  c.path = text(options.path);
  c.ledger = options.ledger.c_str();
  c.writer = options.writer.c_str();
  c.declaration = &declaration;
  c.spool_folder = text(options.spool_folder);
  c.spool_bound_bytes = options.spool_bound_bytes;
  c.policy = static_cast<int32_t>(options.policy);
  c.plan_varies = options.plan_varies ? 1 : 0;
  c.open_timeout_seconds = options.open_timeout_seconds;
  c.release_timeout_seconds = options.release_timeout_seconds;
  c.full_spool_timeout_seconds = options.full_spool_timeout_seconds;
  c.close_timeout_seconds = options.close_timeout_seconds;
  c.stall_timeout_seconds = options.stall_timeout_seconds;
  auto state = Sized<dpledger_run_state>();
  if (options.state.has_value()) {
    if (!options.state->folder.empty()) state.folder = options.state->folder.c_str();
    state.key_file = options.state->key_file.c_str();
    c.state = &state;
  }
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
  return Get<uint64_t>([&](uint64_t* number, dpledger_error* error) {
    return dpledger_recorder_record_round(get(), &c_scheme, c_queries.data(), c_queries.size(),
                                          number, error);
  });
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

absl::StatusOr<Cost> Recorder::ComputeCost(double delta) const {
  const auto asked = Get<dpledger_cost*>([&](dpledger_cost** cost, dpledger_error* error) {
    return dpledger_recorder_cost(get(), delta, cost, error);
  });
  if (!asked.ok()) return asked.status();
  const Handle<dpledger_cost, dpledger_cost_free> cost(*asked);
  auto values = Sized<dpledger_cost_values>();
  const absl::Status read =
      Run([&](dpledger_error* error) { return dpledger_cost_read(cost.get(), &values, error); });
  if (!read.ok()) return read;
  Cost answer{.epsilon = {values.lower, values.upper},
              .delta = values.delta,
              .entries = values.entries,
              .ledger = values.ledger,
              .root = values.root,
              .method = values.method,
              .warnings = {values.warnings, values.warnings + values.warning_count}};
  if (!std::isnan(values.planned_upper)) {
    answer.planned_epsilon = {values.planned_lower, values.planned_upper};
  }
  return answer;
}

absl::Status Recorder::Export(const std::string& file) const {
  return Run(
      [&](dpledger_error* error) { return dpledger_recorder_export(get(), file.c_str(), error); });
}

absl::StatusOr<double> CalibrateNoise(const std::string& server, const PrivacyTarget& target,
                                      double sampling_probability, uint64_t steps) {
  return Get<double>([&](double* noise_multiplier, dpledger_error* error) {
    return dpledger_calibrate_noise(server.c_str(), target.epsilon, target.delta,
                                    sampling_probability, steps, noise_multiplier, error);
  });
}

absl::StatusOr<double> CalibrateNoise(const std::string& server, const PrivacyTarget& target,
                                      const CorrelatedOptions& options, Adjacency adjacency) {
  const api::CorrelatedOptionsInC c(options);
  return Get<double>([&](double* noise_multiplier, dpledger_error* error) {
    return dpledger_calibrate_correlated_noise(server.c_str(), c.get(),
                                               static_cast<int32_t>(adjacency), target.epsilon,
                                               target.delta, noise_multiplier, error);
  });
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Create(const SamplingScheme& scheme) {
  const dpledger_sampling_scheme c = ToC(scheme);
  return Made<Sampler, dpledger_sampler>(
      [](Sampler & sampler) -> auto& { return sampler.handle_; },
      [&](dpledger_sampler** made, dpledger_error* error) {
        return dpledger_sampler_create(&c, made, error);
      });
}

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::CreateResumable(const SamplingScheme& scheme,
                                                                  const Recorder& recorder) {
  const dpledger_sampling_scheme c = ToC(scheme);
  return Made<Sampler, dpledger_sampler>(
      [](Sampler & sampler) -> auto& { return sampler.handle_; },
      [&](dpledger_sampler** made, dpledger_error* error) {
        return dpledger_sampler_create_resumable(&c, recorder.get(), made, error);
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

}  // namespace dpledger
