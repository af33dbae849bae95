#include "examples/dp_sgd/training.h"

namespace dpledger::dp_sgd {

absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::atomic<bool>& stop, const AfterStep& after_step,
                   TrainingState& state) {
  PrivatizerOptions options;
  options.groups = {{"gradient", network.parameter_count(), plan.clip_norm}};
  options.noise_multiplier = plan.noise_multiplier;
  ASSIGN_OR_RETURN(const auto privatizer, Privatizer::Create(options, recorder));
  ASSIGN_OR_RETURN(const auto sampler, Sampler::Create({.kind = SamplingKind::kPoisson,
                                                        .population_size = plan.population.size(),
                                                        .probability = plan.probability()}));
  return RunSteps(plan, data, network, *sampler, *privatizer, stop, after_step, state);
}

}  // namespace dpledger::dp_sgd
