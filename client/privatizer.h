// Turns the gradients of one sample into a noised sum that is safe to release, and says so in the
// ledger first.
//
//   sampler.Draw(); BeginStep(sampler); for each of its records: Accumulate(gradient);
//   Finish() -> sum + noise, to be divided by the *expected* batch size.
//
// 1. Each example is clipped to an integer vector of norm at most K a group, and added exactly
//    (client/clipped_sum.h).
// 2. Finish adds an exact rounded Gaussian (client/rounded_gaussian.h). Rounding commutes with
//    adding integers, so the result is a post-processing of the Gaussian mechanism with noise
//    multiplier sigma_Z/K: client/CLAIM.md.
// 3. BeginStep records the round, so that its way to the server takes no time of the training;
//    Finish lets nothing leave before the recorder says that it is releasable. On any error nothing
//    leaves at all, the sum is wiped, and the step's noise is never used again. A round that ends
//    without a release stays in the ledger, which then says too much.
// 4. Nothing else that depends on the data leaves: not the sample's size, not how many gradients
//    were clipped or refused.
//
// Use it under add-or-remove-one (or zero-out) adjacency as it is; replace-one doubles the
// distance, which the accountant does itself. A row of gradients is that of one record, unless the
// options say microbatches. It must depend on that record and on what is public alone: batch
// normalisation, contrastive losses, statistics of a batch and duplicates removed within it couple
// records, and then the ledger says too little, unnoticed.
//
// Thread safety: one call at a time; FAILED_PRECONDITION, and nothing done, for a second one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "accountant/event/event.h"
#include "client/clipped_sum.h"
#include "client/privatizer_options.h"
#include "client/root_key.h"
#include "client/sampler.h"

namespace dpledger::client {

class Privatizer {
 public:
  // Draws a root key. INVALID_ARGUMENT names the option that is out of its domain.
  static absl::StatusOr<std::unique_ptr<Privatizer>> Create(
      const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder);
  // For a recorder that outlives it.
  static auto Create(const PrivatizerOptions& options, EventRecorder* recorder) {
    return Create(options, Lent(recorder));
  }
  // Noise that anyone can compute, for replay in tests. The ledger says so: before the first round
  // it gets a mechanism that releases the data, so that its epsilon is infinite, and every group's
  // name is marked.
  static absl::StatusOr<std::unique_ptr<Privatizer>> CreateNonPrivateForTesting(
      const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder, uint64_t seed);
  static auto CreateNonPrivateForTesting(const PrivatizerOptions& options, EventRecorder* recorder,
                                         uint64_t seed) {
    return CreateNonPrivateForTesting(options, Lent(recorder), seed);
  }

  Privatizer(const Privatizer&) = delete;
  Privatizer& operator=(const Privatizer&) = delete;

  // Records and opens a round on the sampler's draw of that number, or on its last one: a draw has
  // one round. FAILED_PRECONDITION if a round is open, for a draw that may have none
  // (Sampler::Waiting) or is of a sampler that another recorder keeps, after a fork, or under a
  // rounding mode other than to nearest; errors of the recorder.
  absl::Status BeginStep(Sampler& sampler, uint64_t draw);
  absl::Status BeginStep(Sampler& sampler) { return BeginStep(sampler, sampler.draws()); }
  // The same for a sample that the trainer draws itself by `scheme`. The ledger says that nothing
  // ties the round to it.
  absl::Status BeginStep(const accountant::SamplingScheme& scheme);

  // As ClippedSum's; FAILED_PRECONDITION if no step is open. INVALID_ARGUMENT (rows; nothing added)
  // for more rows than the draw has records.
  absl::Status Accumulate(absl::Span<const float> gradients);
  absl::Status Accumulate(const GradientRows& rows);
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);
  absl::Status AddSums(absl::Span<const int64_t> sums, uint64_t rows);

  // Ends the round and writes the noised sum, in the gradients' units (those of directions, where
  // they are normalised), to `released`, which has dimension() elements; until this returns it may
  // hold a sum without noise. On an error nothing was written, and the round is lost: begin a new
  // one. INVALID_ARGUMENT (the round goes on) for another number of elements. Where memory is short
  // (std::bad_alloc) the round is lost, too, and `released` is zeros.
  absl::Status Finish(absl::Span<float> released);
  absl::StatusOr<std::vector<float>> Finish();

  size_t dimension() const { return sum_.dimension(); }
  // C of the next step. Public: a function of the options and of what was released. A resumed run
  // starts from it.
  double clip_norm() const { return sum_.clip_norm(); }
  // What the ledger entry of the next step says: integers K and sigma_Z per group, in units of its
  // grid; last that of the statistic of an adaptive clip norm.
  const std::vector<accountant::SumQuery>& queries() const { return queries_; }

 private:
  Privatizer(const PrivatizerOptions& options, ClippedSum sum,
             std::shared_ptr<EventRecorder> recorder, RootKey root);
  static absl::StatusOr<std::unique_ptr<Privatizer>> CreateWithRoot(
      const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder, RootKey root);
  void UpdateQueries();
  absl::Status Begin(const accountant::SamplingScheme& scheme, accountant::SampleSource source,
                     std::optional<uint64_t> records);
  absl::Status CheckOpenAndAlone(const internal::InUse::Call& call) const;
  // So many rows of the sample, by `add`.
  absl::Status Add(uint64_t rows, absl::FunctionRef<absl::Status()> add);
  absl::Status AwaitAndRelease(absl::Span<float> released);
  void ReleaseShare(uint64_t step, size_t share, absl::Span<float> released);
  absl::Status Adapt(int64_t noised_statistic);

  const std::optional<AdaptiveClipNorm> adaptive_;
  ClippedSum sum_;
  std::vector<accountant::SumQuery> queries_;
  const std::shared_ptr<EventRecorder> recorder_;
  const RootKey root_;

  bool predictable_ = false;  // a sample that was taken
  bool non_private_recorded_ = false;
  bool open_ = false;
  uint64_t round_ = 0;
  std::optional<uint64_t> records_;  // of the draw; absent: the sample was stated
  uint64_t noises_drawn_ = 0;        // each has its own key
  internal::InUse in_use_;
};

}  // namespace dpledger::client
