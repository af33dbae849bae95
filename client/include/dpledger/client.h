// The trainer's side of dpledger in C++: draw a sample, clip and sum its gradients, add noise, and
// have it in a ledger before anything leaves.
//
//   auto recorder = Recorder::Open({.server = "ledger:7070", ...});
//   auto sampler = Sampler::Create({.kind = SamplingKind::kPoisson, ...});
//   auto privatizer = Privatizer::Create({.groups = {{"all", n, 1.0}}, ...}, **recorder);
//   for each step:
//     auto sample = (*sampler)->Draw();
//     (*privatizer)->BeginStep(**sampler);
//     (*privatizer)->Accumulate(rows);   // the gradients of the sample's records
//     (*privatizer)->Finish(sum);        // noised; divide by the *expected* batch size
//   (*recorder)->Close();
//
// This is the C interface with C++ values: dpledger.h says what each function does, its domains,
// its errors and its thread safety. A member that is left out takes the default that dpledger.h
// names. What is made with a recorder keeps what it needs of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "dpledger.h"

namespace dpledger {

enum class SamplingKind {
  kPoisson = DPLEDGER_POISSON,
  kWithoutReplacement = DPLEDGER_WITHOUT_REPLACEMENT,
  kWithReplacement = DPLEDGER_WITH_REPLACEMENT,
  kFullBatch = DPLEDGER_FULL_BATCH,
  kDisjointBatches = DPLEDGER_DISJOINT_BATCHES,
  kRandomAllocation = DPLEDGER_RANDOM_ALLOCATION,
  kTruncatedPoisson = DPLEDGER_TRUNCATED_POISSON,
};
struct SamplingScheme {
  SamplingKind kind = SamplingKind::kPoisson;
  uint64_t population_size = 0;
  double probability = 0;
  uint64_t sample_size = 0;
  uint64_t rounds_per_epoch = 0;
  uint64_t epoch = 0;
  uint64_t contributions = 0;
  bool fixed_bins = false;
};

enum class NoiseKind {
  kGaussian = DPLEDGER_GAUSSIAN,
  kRoundedGaussian = DPLEDGER_ROUNDED_GAUSSIAN,
  kDiscreteGaussian = DPLEDGER_DISCRETE_GAUSSIAN,
};
struct SumQuery {
  std::string group;
  double l2_norm_bound = 0;
  double noise_stddev = 0;
  NoiseKind noise = NoiseKind::kGaussian;
  double grid = 0;
};

// ---- Recorder ----

enum class Adjacency {
  kAddOrRemoveOne = DPLEDGER_ADD_OR_REMOVE_ONE,
  kReplaceOne = DPLEDGER_REPLACE_ONE,
  kZeroOut = DPLEDGER_ZERO_OUT,
};
enum class Parameters { kFixed = DPLEDGER_FIXED, kAdaptive = DPLEDGER_ADAPTIVE };
enum class Policy { kFailClosed = DPLEDGER_FAIL_CLOSED, kSpool = DPLEDGER_SPOOL };

struct RdpFilter {
  double order = 0, epsilon = 0;
};
struct ZcdpFilter {
  double rho = 0;
};
struct GdpFilter {
  double mu = 0;
};
// Of Rényi orders 2 to 24 at once: no order has to be chosen (docs/concepts.md).
struct MixtureFilter {
  double epsilon = 0, delta = 0;
};

// Adjacency and parameters have no default: the library refuses a declaration without them.
struct Declaration {
  std::string dataset;
  std::string unit_of_privacy;
  std::optional<Adjacency> adjacency;
  std::optional<Parameters> parameters;
  uint64_t planned_rounds = 0;
  bool plan_independent = false;
  std::variant<std::monostate, RdpFilter, ZcdpFilter, GdpFilter, MixtureFilter> filter;
  std::string released;
  std::string description;
};

// An empty folder is the spool's.
struct RunState {
  std::string key_file;
  std::string folder;
};

struct RecorderOptions {
  // As dpledger_recorder_options has them; empty stands for NULL.
  std::string server, ca, certificate, certificate_key, token_file, log_key;
  std::string path;  // of a ledger in a folder, without a server
  std::string ledger;
  std::string writer = "trainer";
  Declaration declaration;
  std::string spool_folder;
  Policy policy = Policy::kFailClosed;
  bool plan_varies = false;
  uint64_t spool_bound_bytes = 0;
  double open_timeout_seconds = 0;
  double release_timeout_seconds = 0;
  double full_spool_timeout_seconds = 0;
  double close_timeout_seconds = 0;
  double stall_timeout_seconds = 0;
  std::optional<RunState> state;
};

// A handle of the C interface that is freed with its owner.
template <typename T, void (*Free)(T*)>
struct FreeHandle {
  void operator()(T* handle) const { Free(handle); }
};
template <typename T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, FreeHandle<T, Free>>;

struct Interval {
  double lower = 0, upper = 0;
};
// What a ledger comes to, by the server's accountant.
struct Cost {
  Interval epsilon;
  std::optional<Interval> planned_epsilon;
  double delta = 0;
  uint64_t entries = 0;
  std::string ledger;
  std::string root;  // in hexadecimal
  std::string method;
  std::vector<std::string> warnings;
};

class Recorder {
 public:
  static absl::StatusOr<std::unique_ptr<Recorder>> Open(const RecorderOptions& options);

  // For trainers with noise of their own; a privatizer calls these itself.
  absl::StatusOr<uint64_t> RecordRound(const SamplingScheme& scheme,
                                       const std::vector<SumQuery>& queries);
  absl::Status AwaitReleasable(uint64_t number);

  absl::Status Close();
  absl::StatusOr<Cost> ComputeCost(double delta) const;
  absl::Status Export(const std::string& file) const;
  std::string ledger() const;
  // For the functions of dpledger.h that have no other name here.
  dpledger_recorder* get() const { return handle_.get(); }

 private:
  Handle<dpledger_recorder, dpledger_recorder_free> handle_;
};

// ---- Sampler ----

class Sampler {
 public:
  static absl::StatusOr<std::unique_ptr<Sampler>> Create(const SamplingScheme& scheme);
  static absl::StatusOr<std::unique_ptr<Sampler>> CreateResumable(const SamplingScheme& scheme,
                                                                  const Recorder& recorder);

  // Lent until the next draw.
  absl::StatusOr<absl::Span<const uint64_t>> Draw();
  // So far: the number of the last one.
  uint64_t draws() const { return dpledger_sampler_draws(handle_.get()); }
  dpledger_sampler* get() const { return handle_.get(); }

 private:
  Handle<dpledger_sampler, dpledger_sampler_free> handle_;
};

// ---- Privatizer ----

struct ClipPart {
  size_t size = 0;
  double scale = 1;
};
struct ClipGroup {
  std::string name;
  size_t size = 0;
  double clip_norm = 0;
  double gamma = 0;
  std::vector<ClipPart> parts;
};
struct MeanNorm {
  double alpha = 1, beta = 2;
};
struct NormQuantile {
  double quantile = 0.5, learning_rate = 0.2;
};
struct AdaptiveClipNorm {
  std::variant<MeanNorm, NormQuantile> rule;
  double noise_multiplier = 0;
  double expected_batch_size = 0;
};
enum class NoiseAllocation {
  kProportional = DPLEDGER_PROPORTIONAL,
  kLeastVariance = DPLEDGER_LEAST_VARIANCE,
};
struct PrivatizerOptions {
  std::vector<ClipGroup> groups;
  double noise_multiplier = 0;
  NoiseAllocation allocation = NoiseAllocation::kProportional;
  bool microbatches = false;
  std::optional<AdaptiveClipNorm> adaptive;
  size_t threads = 0;
};

enum class NumberFormat {
  kFloat32 = DPLEDGER_FLOAT32,
  kBfloat16 = DPLEDGER_BFLOAT16,
  kFloat16 = DPLEDGER_FLOAT16,
};
struct GradientRows {
  const void* first = nullptr;
  size_t count = 0;
  size_t stride = 0;
  NumberFormat format = NumberFormat::kFloat32;
};

class Privatizer {
 public:
  static absl::StatusOr<std::unique_ptr<Privatizer>> Create(const PrivatizerOptions& options,
                                                            const Recorder& recorder);

  // On the sampler's last draw, or on that of a number.
  absl::Status BeginStep(const Sampler& sampler);
  absl::Status BeginStep(const Sampler& sampler, uint64_t draw);
  // On a sample that the trainer states.
  absl::Status BeginStep(const SamplingScheme& scheme);
  absl::Status Accumulate(const GradientRows& rows);
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);
  absl::Status AddSums(absl::Span<const int64_t> sums);
  absl::Status Finish(absl::Span<float> released);

  size_t dimension() const { return dpledger_privatizer_dimension(handle_.get()); }
  double clip_norm() const { return dpledger_privatizer_clip_norm(handle_.get()); }
  dpledger_privatizer* get() const { return handle_.get(); }

 private:
  Handle<dpledger_privatizer, dpledger_privatizer_free> handle_;
};

// ---- Runs with correlated noise ----

struct TreeAggregation {};
struct BandedToeplitz {
  std::vector<double> coefficients;
};
struct BufferedToeplitz {
  std::vector<double> weights;
  std::vector<double> decays;  // as many
};
struct CyclicPoissonSampling {
  uint64_t population_size = 0;
  uint64_t period = 1;
  double probability = 1;
  bool draw_groups = false;
};
struct BallsInBinsSampling {
  uint64_t population_size = 0;
  uint64_t bins = 1;
};
struct CorrelatedOptions {
  PrivatizerOptions sums;
  uint64_t steps = 0;
  uint64_t max_participations = 1;
  uint64_t min_separation = 1;
  std::variant<TreeAggregation, BandedToeplitz, BufferedToeplitz> encoder;
  std::variant<std::monostate, CyclicPoissonSampling, BallsInBinsSampling> sampling;
};

class CorrelatedRun {
 public:
  // Or carries on the one that the recorder's state keeps, behind steps_done().
  static absl::StatusOr<std::unique_ptr<CorrelatedRun>> Begin(const CorrelatedOptions& options,
                                                              const Recorder& recorder);

  // With a sampling: the records of the step that comes next. Lent until the next draw.
  absl::StatusOr<absl::Span<const uint64_t>> Draw();
  absl::Status Accumulate(const GradientRows& rows);
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);
  absl::Status AddSums(absl::Span<const int64_t> sums);
  absl::Status FinishStep(absl::Span<float> estimates);
  absl::Status Save();

  size_t dimension() const { return dpledger_correlated_run_dimension(handle_.get()); }
  uint64_t steps_done() const { return dpledger_correlated_run_steps_done(handle_.get()); }
  dpledger_correlated_run* get() const { return handle_.get(); }

 private:
  Handle<dpledger_correlated_run, dpledger_correlated_run_free> handle_;
};

struct RecordRange {
  uint64_t begin = 0, end = 0;  // records begin to end - 1
};
absl::StatusOr<RecordRange> CyclicBatch(uint64_t population_size, uint64_t batches_per_epoch,
                                        uint64_t step);

// ---- Sums of a rank ----

class RankSum {
 public:
  static absl::StatusOr<std::unique_ptr<RankSum>> Create(const PrivatizerOptions& options);

  absl::Status Accumulate(const GradientRows& rows);
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);
  absl::Status AddSums(absl::Span<const int64_t> sums);
  // For AddSums of a privatizer or a run. Lent until this is destroyed.
  absl::StatusOr<absl::Span<const int64_t>> Values() const;
  absl::Status Clear();
  absl::Status SetClipNorm(double clip_norm);

  size_t dimension() const { return dpledger_sum_dimension(handle_.get()); }
  double clip_norm() const { return dpledger_sum_clip_norm(handle_.get()); }
  dpledger_sum* get() const { return handle_.get(); }

 private:
  Handle<dpledger_sum, dpledger_sum_free> handle_;
};

// ---- Questions to the server ----

struct PrivacyTarget {
  double epsilon = 0, delta = 0;
};
// For rounds on Poisson samples, and for a whole run with correlated noise.
absl::StatusOr<double> CalibrateNoise(const std::string& server, const PrivacyTarget& target,
                                      double sampling_probability, uint64_t steps);
absl::StatusOr<double> CalibrateNoise(const std::string& server, const PrivacyTarget& target,
                                      const CorrelatedOptions& options, Adjacency adjacency);

}  // namespace dpledger
