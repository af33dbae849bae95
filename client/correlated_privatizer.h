// Turns the gradients of a run's steps into noised sums whose noise is correlated from step to step
// (DP-FTRL): the sums of many steps then carry less noise than independent noise would leave, with
// no sampling assumed.
//
//   BeginRun(options, recorder); for each step: for each example (of DrawStep(), where the run
//   draws its records): Accumulate(gradient); FinishStep() -> estimate of the step's sum.
//
// 1. A step's gradients become exact integer sums S_t (client/clipped_sum.h). A message is a sum of
//    S_1 to S_t with integer coefficients, plus exact rounded Gaussian noise. Hence the messages
//    are a post-processing of the Gaussian mechanism on C S, and the estimates one of the messages:
//    client/CLAIM.md.
// 2. One event for the whole planned run is recorded when it begins, and nothing leaves before it
//    is releasable. A run that ends early is charged its plan: its ledger must not depend on when,
//    which may have been decided by what it showed.
// 3. No step beyond the plan is released.
// 4. What correlates the steps is in memory only, unless there is a RunState. Without, a new run
//    begins after a crash or a stop: a new event, with independent noise. With one, the run goes on
//    behind the step that was saved last, without a new event. A step that was released since is
//    released again, bit by bit, if it has the same exact sum; with another it is refused, for two
//    sums with the same noise would show their difference. Digests of the sums are kept for that.
// 5. Without a sampling, privacy holds for records that take part as rarely and as far apart as the
//    options promise: see to it, by a fixed order of the records in every epoch. Declare the
//    ledger's adjacency as ZERO_OUT (or REPLACE_ONE, at twice the distance): removing a record
//    would move the others to other steps, and the accountant refuses that. With a sampling it
//    holds for sums over just the records of DrawStep().
//
// Thread safety: one call at a time; FAILED_PRECONDITION, and nothing done, for a second one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/clipped_sum.h"
#include "client/correlated_options.h"
#include "client/internal/in_use.h"
#include "client/root_key.h"
#include "client/run_state.h"
#include "client/sampler.h"

namespace dpledger::client {
namespace internal {
class Encoder;
class StateReader;
}  // namespace internal
class RunSampler;

class CorrelatedPrivatizer {
 public:
  // Draws a root key and records the run, or carries on the one that the recorder keeps:
  // steps_done() says from where. INVALID_ARGUMENT names the option that is out of its domain;
  // FAILED_PRECONDITION if the options are not those of the run that is carried on, or the recorder
  // keeps another run already; errors of the recorder.
  static absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> BeginRun(
      const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder);
  // The same with a state, which like the recorder must outlive it.
  static auto BeginRun(const CorrelatedOptions& options, EventRecorder* recorder,
                       RunState* state = nullptr) {
    return BeginWithRoot(options, Lent(recorder), RootKey::FromKernel(), state);
  }
  // Noise that anyone can compute, for replay in tests: recorded as the mechanism that releases
  // the data, whose epsilon is infinite.
  static absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> BeginNonPrivateRunForTesting(
      const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder, uint64_t seed);
  static auto BeginNonPrivateRunForTesting(const CorrelatedOptions& options,
                                           EventRecorder* recorder, uint64_t seed,
                                           RunState* state = nullptr) {
    return BeginWithRoot(options, Lent(recorder), RootKey::NonPrivateForTesting(seed), state);
  }

  ~CorrelatedPrivatizer();
  CorrelatedPrivatizer(const CorrelatedPrivatizer&) = delete;
  CorrelatedPrivatizer& operator=(const CorrelatedPrivatizer&) = delete;

  // The records of the step that comes next, where the options have a sampling: ascending, and the
  // same ones until the step is finished. They are secret. FAILED_PRECONDITION without a sampling,
  // once all steps are done, and in a child that was forked.
  absl::StatusOr<std::vector<uint64_t>> DrawStep();

  // To the sum of the step, as ClippedSum's. FAILED_PRECONDITION once all steps are done.
  // INVALID_ARGUMENT (rows; nothing added) for more rows than the step has records, where the run
  // draws them.
  absl::Status Accumulate(absl::Span<const float> gradients);
  absl::Status Accumulate(const GradientRows& rows);
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);
  // Of another rank's ClippedSum, made with options.sums, and of its rows.
  absl::Status AddSums(absl::Span<const int64_t> sums, uint64_t rows);

  // Ends the step and returns the estimate of its sum, in the gradients' units; those of steps 1
  // to t add up to the estimate of the sum of all of them. On an error (not yet releasable; after
  // a fork; a rounding mode other than to nearest; all steps done) nothing is lost: it may be
  // called again. After a std::bad_alloc it may, too, or else the run has ended, for a part of the
  // step has been summed up with those before: FAILED_PRECONDITION from then on. A sum that is not
  // that of the same step before (STEP_DIFFERS) is wiped: the step begins again.
  absl::StatusOr<std::vector<float>> FinishStep();

  // Keeps where the run stands, to be carried on from there: call it between two steps, when the
  // model is saved. It writes all that is kept of the steps before. FAILED_PRECONDITION without a
  // state; errors of the recorder and of the disk, after which the last save holds.
  absl::Status Save();

  size_t dimension() const { return sum_.dimension(); }
  uint64_t steps_done() const { return steps_done_; }

 private:
  CorrelatedPrivatizer(const CorrelatedOptions& options, ClippedSum sum,
                       std::shared_ptr<EventRecorder> recorder, RootKey root, RunState* state,
                       std::string shape);
  static absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> BeginKept(
      const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder,
      absl::StatusOr<RootKey> root);
  static absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> BeginWithRoot(
      const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder,
      absl::StatusOr<RootKey> root, RunState* state);
  // Of what was kept: `run` without its shape and key, which were read already.
  absl::Status CarryOn(internal::StateReader& run);
  absl::Status AwaitReleasable();
  absl::Status StoreRun();
  absl::Status StoreDigests();
  // Refuses another sum for a step that was released, and notes the one of a new step.
  absl::Status CheckDigest();
  absl::Status CheckStepsLeft(const internal::InUse::Call& call) const;
  // So many rows of the step's sample, by `add`.
  absl::Status Add(uint64_t rows, absl::FunctionRef<absl::Status()> add);
  void ReleaseShare(size_t share, absl::Span<float> estimates);
  void ToUnits(absl::Span<float> estimates) const;

  const CorrelatedOptions options_;
  const int64_t noise_stddev_;  // in units of a message
  ClippedSum sum_;
  const std::unique_ptr<internal::Encoder> encoder_;
  std::vector<std::vector<int64_t>> messages_;  // of each thread's piece
  const std::shared_ptr<EventRecorder> recorder_;
  const RootKey root_;
  std::unique_ptr<RunSampler> sampler_;  // draws by root_; null without a sampling
  RunState* const state_;                // null: nothing is kept
  const std::string shape_;              // a digest of all that the run's messages depend on

  uint64_t recorded_ = 0;
  bool releasable_ = false;
  uint64_t steps_done_ = 0;
  uint64_t first_digest_ = 0;         // the step of the first of them, from 0
  std::vector<std::string> digests_;  // of steps that may have been released
  bool in_step_ = false;              // for good, if an exception came out of it
  std::optional<uint64_t> records_;   // of the step, where the run has drawn it
  internal::InUse in_use_;
};

}  // namespace dpledger::client
