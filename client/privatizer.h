// Turns the gradients of one sample into a noised sum that is safe to release, and says so in the
// ledger first.
//
//   BeginStep(sampler.scheme()); for each example: Accumulate(gradient); Finish() -> sum + noise,
//   to be divided by the *expected* batch size.
//
// 1. Each example is clipped, group by group, to an integer vector of norm at most K
//    (client/integer_clip.h) and added exactly: the sum is the same whatever the order and the
//    split into calls.
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
// distance, which the accountant does itself. One call's gradient row is one record: a mean over
// several records is not.
//
// Thread safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/aes_ctr.h"
#include "client/event_recorder.h"
#include "client/integer_clip.h"
#include "client/noise_plan.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

// A run of consecutive coordinates that is clipped on its own.
struct ClipGroup {
  std::string name;      // 1 to 200 bytes, for people; all names differ
  size_t size = 0;       // coordinates
  double clip_norm = 0;  // C, in [1e-30, 1e30]
};

struct PrivatizerOptions {
  std::vector<ClipGroup> groups;  // one: flat clipping. 1 to 4096
  double noise_multiplier =
      0;  // z of the whole round; the noise is never less (client/noise_plan.h)
};

class Privatizer {
 public:
  // `recorder` must outlive it. Draws a root key. INVALID_ARGUMENT names the option that is out of
  // its domain.
  static absl::StatusOr<std::unique_ptr<Privatizer>> Create(const PrivatizerOptions& options,
                                                            EventRecorder* recorder);
  // Noise that anyone can compute, for replay in tests. Every group's name in the ledger says so.
  static absl::StatusOr<std::unique_ptr<Privatizer>> CreateNonPrivateForTesting(
      const PrivatizerOptions& options, EventRecorder* recorder, uint64_t seed);

  ~Privatizer();
  Privatizer(const Privatizer&) = delete;
  Privatizer& operator=(const Privatizer&) = delete;

  // Records and opens a round on a sample that is drawn by `scheme`. FAILED_PRECONDITION if one is
  // open, after a fork, or under a rounding mode other than to nearest; errors of the recorder.
  absl::Status BeginStep(const v1::SamplingScheme& scheme);

  // Adds the gradients of any number of examples, one row of dimension() values after the other. A
  // group of an example with a NaN or an infinity contributes nothing. INVALID_ARGUMENT (nothing
  // added) unless the rows are whole.
  absl::Status Accumulate(absl::Span<const float> gradients);

  // Ends the round and returns the noised sum, in the gradients' units. On an error the round is
  // lost: begin a new one.
  absl::StatusOr<std::vector<float>> Finish();

  size_t dimension() const { return sums_.size(); }
  // What each round's ledger entry says: integers K and sigma_Z per group, in units of its grid.
  const std::vector<v1::SumQuery>& queries() const { return queries_; }

 private:
  struct Group {
    size_t begin, size;
    IntegerClip clip;
  };

  Privatizer(NoisePlan plan, std::vector<Group> groups, std::vector<v1::SumQuery> queries,
             EventRecorder* recorder, RootKey root);
  static absl::StatusOr<std::unique_ptr<Privatizer>> CreateWithRoot(
      const PrivatizerOptions& options, EventRecorder* recorder, RootKey root);
  absl::StatusOr<std::vector<float>> RecordNoiseAndRelease();
  void WipeSums();

  const NoisePlan plan_;
  const std::vector<Group> groups_;
  const std::vector<v1::SumQuery> queries_;
  EventRecorder* const recorder_;
  const RootKey root_;

  bool open_ = false;
  uint64_t round_ = 0;
  uint64_t noises_drawn_ = 0;  // each has its own key
  std::vector<int64_t> sums_;
};

}  // namespace dpledger::client
