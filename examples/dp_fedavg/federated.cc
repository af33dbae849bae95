#include "examples/dp_fedavg/federated.h"

#include <memory>

#include "base/status.h"

namespace dpledger::dp_fedavg {
namespace {

// What a user sends: how far plain SGD on its own rows moves the model.
std::vector<float> Difference(const FederatedPlan& plan, const examples::Dataset& data,
                              const std::vector<size_t>& rows, examples::Network& network,
                              const std::vector<float>& model) {
  std::vector<float> local = model, gradient(model.size());
  const auto rate = static_cast<float>(plan.local_learning_rate);
  for (uint64_t pass = 0; pass < plan.local_passes; ++pass) {
    for (const size_t row : rows) {
      network.Gradient(local, data.row(row), data.labels[row], absl::MakeSpan(gradient));
      for (size_t i = 0; i < local.size(); ++i) local[i] -= rate * gradient[i];
    }
  }
  for (size_t i = 0; i < local.size(); ++i) local[i] -= model[i];
  return local;
}

}  // namespace

absl::Status Train(const FederatedPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::atomic<bool>& stop, FederatedState& state) {
  PrivatizerOptions options;
  options.groups = {{"difference", network.parameter_count(), plan.clip_norm}};
  options.noise_multiplier = plan.noise_multiplier;
  options.adaptive = plan.adaptive;
  ASSIGN_OR_RETURN(const auto privatizer, Privatizer::Create(options, recorder.events()));
  ASSIGN_OR_RETURN(const auto sampler,
                   Sampler::Create({plan.users.size(), PoissonSampling{plan.probability()}}));
  std::vector<float> noised_sum(privatizer->dimension());
  state.clip_norm = privatizer->clip_norm();
  const auto rate = static_cast<float>(plan.server_learning_rate / plan.expected_users);
  while (state.rounds_done < plan.rounds && !stop) {
    ASSIGN_OR_RETURN(const auto sample, sampler->Draw());
    RETURN_IF_ERROR(privatizer->BeginStep(*sampler));
    for (const uint64_t user : sample) {
      const std::vector<float> difference =
          Difference(plan, data, plan.users[user], network, state.parameters);
      RETURN_IF_ERROR(privatizer->Accumulate(difference));
    }
    RETURN_IF_ERROR(privatizer->Finish(absl::MakeSpan(noised_sum)));
    for (size_t i = 0; i < noised_sum.size(); ++i) state.parameters[i] += rate * noised_sum[i];
    state.clip_norm = privatizer->clip_norm();
    ++state.rounds_done;
  }
  return absl::OkStatus();
}

std::vector<std::vector<size_t>> DealOut(size_t count, size_t users) {
  std::vector<std::vector<size_t>> dealt(users);
  for (size_t row = 0; row < count; ++row) dealt[row % users].push_back(row);
  return dealt;
}

}  // namespace dpledger::dp_fedavg
