// The exact integer sums of a step's clipped gradients, before any noise: a secret.
//
// 1. Each row is clipped, group by group, to an integer vector of norm at most K
//    (client/integer_clip.h) and added exactly: the sums are the same whatever the order, the split
//    into calls, into threads, and into ranks.
// 2. So several ranks of one run can each sum their share of the sample and give their sums to the
//    one that has the Privatizer (AddSums there): the release is then bit by bit that of a single
//    process. The sums must travel between ranks as secretly as gradients would.
// 3. The sums are wiped by Clear and when they are destroyed.
// 4. Where memory is short (std::bad_alloc) nothing of the call was added, and it may be repeated.
//
// 5. A buffer that another thread writes to while it is added contributes some vector of norm at
//    most K, checked as ever; which one, nobody can say.
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
#include "client/integer_clip.h"
#include "client/internal/in_use.h"
#include "client/internal/workers.h"
#include "client/noise_plan.h"
#include "client/privatizer_options.h"

namespace dpledger::client {

class ClippedSum {
 public:
  // A group and where its sums begin.
  struct Group {
    std::string name;
    size_t begin;
    IntegerClip clip;
    int64_t norm_bound;
  };

  // INVALID_ARGUMENT names the option that is out of its domain.
  static absl::StatusOr<ClippedSum> Create(const PrivatizerOptions& options);
  ClippedSum(ClippedSum&&) = default;
  ClippedSum& operator=(ClippedSum&&) = delete;
  ~ClippedSum();

  // Adds the gradients of any number of examples, one row of dimension() values after the other. A
  // group of an example with a NaN or an infinity contributes nothing. INVALID_ARGUMENT (nothing
  // added) unless the rows are whole.
  absl::Status Accumulate(absl::Span<const float> gradients);
  // The same for rows of dimension() values anywhere. INVALID_ARGUMENT (nothing added) names what
  // is wrong with them.
  absl::Status Accumulate(const GradientRows& rows);
  // For norms that the trainer knows (ghost norms), which saves reading the rows twice: norms[r * G
  // + g] is that of row r in group g of G. A wrong one costs accuracy, not privacy, as long as it
  // depends on nothing but its own example and what is public. INVALID_ARGUMENT (nothing added)
  // unless there are rows.count * G of them.
  absl::Status Accumulate(const GradientRows& rows, absl::Span<const double> norms);

  // Adds sums() of another with the same options, or of a device: those of `rows` rows.
  // INVALID_ARGUMENT unless as many. It cannot tell sums that were added already, or that were not
  // cleared since the step before: where no sampler says how many rows there are, a record then
  // counts twice, and the ledger knows of one.
  absl::Status AddSums(absl::Span<const int64_t> sums, uint64_t rows);

  // Group by group; the statistic of an adaptive clip norm comes last.
  absl::Span<const int64_t> sums() const { return sums_; }
  // That were added since the sums were new or cleared, those without a part in them too. A secret,
  // as the size of a sample is.
  uint64_t rows() const { return rows_; }
  absl::Span<int64_t> mutable_sums() { return absl::MakeSpan(sums_); }
  void Clear();
  // INVALID_ARGUMENT (rows) if these and so many more are more than the sample has records. Absent:
  // nobody knows how many it has.
  absl::Status CheckRoomFor(uint64_t rows, std::optional<uint64_t> records) const;

  // Coordinates of a row of gradients.
  size_t dimension() const { return dimension_; }
  const std::vector<Group>& groups() const { return groups_; }
  const NoisePlan& plan() const { return plan_; }
  internal::Workers& workers() { return *workers_; }

  // C of the first group. FAILED_PRECONDITION unless the sums are new or cleared, INVALID_ARGUMENT
  // unless it is in [1e-30, 1e30]. (With an adaptive one, every rank sets what the Privatizer has.)
  double clip_norm() const { return clip_norm_; }
  absl::Status SetClipNorm(double clip_norm);

 private:
  ClippedSum(const PrivatizerOptions& options, NoisePlan plan, std::vector<Group> groups,
             std::unique_ptr<internal::Workers> workers);

  // The rows with their stride.
  absl::StatusOr<GradientRows> Checked(const GradientRows& rows) const;
  absl::Span<int64_t> SumsOf(const Group& group);
  absl::Span<int64_t> SpareFor(const Group& group);
  // So many rows to the sums of each group of gradients, by `add`, which finds or has their norms.
  absl::Status AddGroups(size_t rows, absl::Span<const double> norms,
                         absl::FunctionRef<void(size_t index, const Group& group)> add);

  const NoisePlan plan_;
  std::unique_ptr<internal::Workers> workers_;
  std::optional<AdaptiveClipNorm> adaptive_;
  std::vector<Group> groups_;
  size_t gradient_groups_;
  size_t dimension_;
  double clip_norm_;
  bool empty_ = true;
  uint64_t rows_ = 0;
  std::vector<int64_t> sums_;
  std::vector<int64_t> spare_;  // for IntegerClip, as secret as the sums
  internal::InUse in_use_;
};

}  // namespace dpledger::client
