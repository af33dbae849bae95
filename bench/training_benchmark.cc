// What privacy costs a training run: a step of the example trainer's network with one hidden layer
// (784 inputs, 32 hidden units, 10 classes, 256 examples), one thread, no server.
//
//   training_benchmark [--seconds S]
//
// client/training_overhead_percent is that of the trainer's own loop, privatizer and all, with a
// recorder in memory; client/float_loop_overhead_percent that of clipping in floats and adding the
// standard library's normals, which is not private to the last bit; the compiler may reorder its
// loops, for the instruction set of the build. Both over the same training without privacy, in
// processor time. The three take turns; the median of each counts. Prints one JSON object.
#include <time.h>

#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/float_loop.h"
#include "bench/program.h"
#include "client/event_recorder.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_sgd/on_events.h"
#include "examples/memorization/plain_training.h"

namespace dpledger {
namespace {

constexpr size_t kFeatures = 784, kHidden = 32, kClasses = 10;
constexpr size_t kBatch = 256;
constexpr uint64_t kSteps = 1;  // in one measurement

class NumberingRecorder : public client::EventRecorder {
 public:
  using EventRecorder::RecordRound;
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme&, v1::SampleSource,
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

// Processor time, all threads together: another's load changes it little.
double Now() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Timer {
 public:
  template <typename Work>
  void Time(const Work& work) {
    const double start = Now();
    work();
    times_.push_back(Now() - start);
    sum_ += times_.back();
  }
  double Median() const { return bench::Median(times_); }
  double sum() const { return sum_; }

 private:
  std::vector<double> times_;
  double sum_ = 0;
};

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const examples::Dataset data = MakeData();
  const dp_sgd::TrainingPlan plan = MakePlan();
  examples::Network network(kFeatures, kHidden, kClasses);
  const std::vector<float> initial = network.InitialParameters(1);
  NumberingRecorder recorder;
  const std::atomic<bool> stop = false;

  Timer plain, float_loop, exact;
  while (plain.sum() + float_loop.sum() + exact.sum() < seconds) {
    dp_sgd::TrainingState state{initial};
    plain.Time([&] { memorization::TrainWithoutPrivacy(plan, data, network, state); });
    std::vector<float> parameters = initial;
    float_loop.Time([&] { bench::TrainByFloatLoop(plan, data, network, parameters); });
    if (parameters == initial) bench::Die("the float loop trained nothing");
    state = {initial};
    exact.Time([&] {
      bench::Check(dp_sgd::TrainOnEvents(
          plan, data, network, recorder, stop, [](uint64_t) {}, state));
    });
  }
  const auto overhead = [&](const Timer& timer) {
    return 100 * (timer.Median() / plain.Median() - 1);
  };
  bench::Report report("client/");
  report.Add("training_step_ms", 1e3 * plain.Median() / kSteps, "ms");
  report.Add("training_overhead_percent", overhead(exact), "%");
  report.Add("float_loop_overhead_percent", overhead(float_loop), "%");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
