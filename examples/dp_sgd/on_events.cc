#include "examples/dp_sgd/on_events.h"

#include <memory>

#include "client/poisson_sampler.h"
#include "client/privatizer.h"

namespace dpledger::dp_sgd {
namespace {

// With the calls of dpledger::Privatizer.
class Sums {
 public:
  struct Rows {
    const float* first;
    size_t count;
  };
  explicit Sums(client::Privatizer& privatizer) : privatizer_(privatizer) {}

  absl::Status BeginStep(client::Sampler& sampler) { return privatizer_.BeginStep(sampler); }
  absl::Status Accumulate(const Rows& rows) {
    return privatizer_.Accumulate(
        client::GradientRows{rows.first, rows.count, privatizer_.dimension()});
  }
  absl::Status Finish(absl::Span<float> sum) { return privatizer_.Finish(sum); }

 private:
  client::Privatizer& privatizer_;
};

}  // namespace

absl::Status TrainOnEvents(const TrainingPlan& plan, const examples::Dataset& data,
                           examples::Network& network, client::EventRecorder& recorder,
                           const std::atomic<bool>& stop, const AfterStep& after_step,
                           TrainingState& state) {
  client::PrivatizerOptions options;
  options.groups = {{"gradient", network.parameter_count(), plan.clip_norm}};
  options.noise_multiplier = plan.noise_multiplier;
  ASSIGN_OR_RETURN(const auto privatizer, client::Privatizer::Create(options, &recorder));
  ASSIGN_OR_RETURN(const auto sampler,
                   client::PoissonSampler::Create({plan.population.size(), plan.probability()}));
  Sums sums(*privatizer);
  return RunSteps(plan, data, network, *sampler, sums, stop, after_step, state);
}

}  // namespace dpledger::dp_sgd
