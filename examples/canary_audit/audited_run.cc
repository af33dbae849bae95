#include "examples/canary_audit/audited_run.h"

#include <atomic>
#include <cmath>

#include "base/status.h"
#include "examples/canary_audit/false_recorder.h"
#include "examples/dp_sgd/on_events.h"

namespace dpledger::canary_audit {
namespace {

// Above a canary's norm of 5.7 clip norms, so that nothing is clipped.
constexpr double kBeyondEveryGradient = 8;

}  // namespace

double Exaggeration(Sabotage sabotage) {
  switch (sabotage) {
    case Sabotage::kNone:
      return 1;
    case Sabotage::kQuarterNoise:
      return 4;
    case Sabotage::kNoClipping:
      return kBeyondEveryGradient;
  }
  return 1;
}

double NormAfterClipping(Sabotage sabotage) {
  return sabotage == Sabotage::kNoClipping ? std::sqrt((kFeature * kFeature + 1) / 2) : kClipNorm;
}

absl::StatusOr<Guesses> TrainAndGuess(const Canaries& canaries, uint64_t steps,
                                      double noise_multiplier, uint64_t guesses, Sabotage sabotage,
                                      client::EventRecorder& recorder) {
  dp_sgd::TrainingPlan plan = canaries.Plan(steps, noise_multiplier);
  // The trainer itself is never changed: it gets a plan with less noise, or with as much noise and
  // a clip norm that clips nothing, and the ledger hears of the plan that was to be.
  const double exaggeration = Exaggeration(sabotage);
  plan.noise_multiplier /= exaggeration;
  if (sabotage == Sabotage::kNoClipping) plan.clip_norm *= exaggeration;
  FalseRecorder false_recorder(&recorder, exaggeration);
  client::EventRecorder& told = sabotage == Sabotage::kNone ? recorder : false_recorder;

  examples::Network network = canaries.MakeNetwork();
  const std::vector<float> before = network.InitialParameters(0);
  dp_sgd::TrainingState state{before};
  const std::atomic<bool> stop = false;
  RETURN_IF_ERROR(dp_sgd::TrainOnEvents(
      plan, canaries.data(), network, told, stop, [](uint64_t) {}, state));
  return canaries.Guess(before, state.parameters, guesses);
}

}  // namespace dpledger::canary_audit
