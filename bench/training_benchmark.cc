// What privacy costs a training run: a step of the example trainer's network with one hidden layer
// (784 inputs, 32 hidden units, 10 classes, 256 examples), one thread, no server.
//
//   training_benchmark [--seconds S]
//
// client/training_overhead_percent is that of the trainer's own loop, privatizer and all, with a
// recorder in memory; client/float_loop_overhead_percent that of clipping in floats and adding the
// standard library's normals, which is not private to the last bit; its loops may be reordered by
// the compiler, for the instruction set of the build. Both over the same training
// without privacy. The three take turns, so that all meet the same load; the least of each counts.
// Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/float_loop.h"
#include "bench/program.h"
#include "client/event_recorder.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/training.h"
#include "examples/memorization/plain_training.h"

namespace dpledger {
namespace {

constexpr size_t kFeatures = 784, kHidden = 32, kClasses = 10;
constexpr size_t kBatch = 256;
constexpr uint64_t kSteps = 1;  // in one measurement: short, to fit between what others run

class NumberingRecorder : public client::EventRecorder {
 public:
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme&,
                                       std::vector<v1::SumQuery>) override {
    return ++number_;
  }
  absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent&) override { return ++number_; }
  absl::Status AwaitReleasable(uint64_t) override { return absl::OkStatus(); }

 private:
  uint64_t number_ = 0;
};

examples::Dataset MakeData() {
  std::mt19937_64 random(1);
  examples::Dataset data;
  data.feature_count = kFeatures;
  data.class_count = static_cast<int>(kClasses);
  for (size_t i = 0; i < kBatch * kFeatures; ++i) {
    data.features.push_back(static_cast<float>(random() >> 40) * 0x1p-24f);
  }
  for (size_t i = 0; i < kBatch; ++i) data.labels.push_back(static_cast<int>(random() % kClasses));
  return data;
}

dp_sgd::TrainingPlan MakePlan() {
  dp_sgd::TrainingPlan plan;
  plan.population.resize(kBatch);
  std::iota(plan.population.begin(), plan.population.end(), size_t{0});
  plan.expected_batch_size = kBatch;  // all of them, in every step
  plan.steps = kSteps;
  plan.clip_norm = 1;
  plan.noise_multiplier = 1;
  plan.learning_rate = 0.1;
  return plan;
}

class Clock {
 public:
  template <typename Work>
  void Time(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least_ = std::min(least_, taken.count());
    sum_ += taken.count();
  }
  double least() const { return least_; }
  double sum() const { return sum_; }

 private:
  double least_ = 1e9, sum_ = 0;
};

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const examples::Dataset data = MakeData();
  const dp_sgd::TrainingPlan plan = MakePlan();
  examples::Network network(kFeatures, kHidden, kClasses);
  const std::vector<float> initial = network.InitialParameters(1);
  NumberingRecorder recorder;
  const std::atomic<bool> stop = false;

  Clock plain, float_loop, exact;
  while (plain.sum() + float_loop.sum() + exact.sum() < seconds) {
    dp_sgd::TrainingState state{initial};
    plain.Time(
        [&] { bench::Check(memorization::TrainWithoutPrivacy(plan, data, network, state)); });
    std::vector<float> parameters = initial;
    float_loop.Time([&] { bench::TrainByFloatLoop(plan, data, network, parameters); });
    if (parameters == initial) bench::Die("the float loop trained nothing");
    state = {initial};
    exact.Time([&] {
      bench::Check(dp_sgd::Train(
          plan, data, network, recorder, stop, [](uint64_t) {}, state));
    });
  }
  const auto overhead = [&](const Clock& clock) {
    return 100 * (clock.least() / plain.least() - 1);
  };
  std::printf(
      "{\n"
      "  \"client/training_step_ms\": {\"value\": %.6g, \"unit\": \"ms\"},\n"
      "  \"client/training_overhead_percent\": {\"value\": %.6g, \"unit\": \"%%\"},\n"
      "  \"client/float_loop_overhead_percent\": {\"value\": %.6g, \"unit\": \"%%\"}\n"
      "}\n",
      1e3 * plain.least() / kSteps, overhead(exact), overhead(float_loop));
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
