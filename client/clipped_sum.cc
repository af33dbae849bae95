#include "client/clipped_sum.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "client/internal/noise_kernels.h"

namespace dpledger::client {
namespace {

constexpr char kStatisticName[] = "clip norm statistic";
// In errors.
constexpr char kThis[] = "sum";

// In units of one example's share: a half for either answer.
constexpr double kShareClipNorm = 0.5;

double StatisticClipNorm(const AdaptiveClipNorm& adaptive, double clip_norm) {
  const auto* mean = std::get_if<MeanNorm>(&adaptive.rule);
  return mean != nullptr ? mean->beta * clip_norm : kShareClipNorm;
}

// A norm that is not finite contributes nothing, as its gradient does.
float Statistic(const AdaptiveClipNorm& adaptive, double clip_norm, double norm) {
  if (!std::isfinite(norm)) return std::numeric_limits<float>::quiet_NaN();
  if (std::holds_alternative<MeanNorm>(adaptive.rule)) {
    return static_cast<float>(std::min<double>(norm, std::numeric_limits<float>::max()));
  }
  // The norm of a row of zeros, rounded up. What stands for a record that is left out counts for
  // nothing: 1/2 in place of -1/2 would be twice the share's clip norm.
  if (norm <= std::numeric_limits<double>::denorm_min()) return 0;
  return norm <= clip_norm ? 0.5f : -0.5f;
}

absl::StatusOr<IntegerClip> ClipOf(const ClipGroup& group, int64_t norm_bound) {
  ClipRule rule = ClipToNorm{group.clip_norm};
  if (group.normalise) rule = *group.normalise;
  std::vector<ClipPart> parts = group.parts;
  if (parts.empty()) parts.push_back({group.size});
  return IntegerClip::Create(parts, rule, norm_bound);
}

}  // namespace

absl::StatusOr<ClippedSum> ClippedSum::Create(const PrivatizerOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(NoisePlan plan, NoisePlan::For(options));
  std::vector<Group> groups;
  size_t begin = 0;
  for (const ClipGroup& group : options.groups) {
    const int64_t norm_bound = plan.norm_bounds[groups.size()];
    ASSIGN_OR_RETURN(IntegerClip clip, rules::Within(absl::StrCat("groups[", groups.size(), "]"),
                                                     ClipOf(group, norm_bound)));
    groups.push_back({group.name, begin, std::move(clip), norm_bound});
    begin += group.size;
  }
  if (options.adaptive) {
    const double clip_norm = StatisticClipNorm(*options.adaptive, options.groups[0].clip_norm);
    const int64_t norm_bound = plan.norm_bounds.back();
    ASSIGN_OR_RETURN(
        IntegerClip clip,
        rules::Within("adaptive",
                      IntegerClip::Create({ClipPart{1}}, ClipToNorm{clip_norm}, norm_bound)));
    groups.push_back({kStatisticName, begin, std::move(clip), norm_bound});
  }
  ASSIGN_OR_RETURN(auto workers, internal::Workers::Create(options.threads));
  return ClippedSum(options, std::move(plan), std::move(groups), std::move(workers));
}

ClippedSum::ClippedSum(const PrivatizerOptions& options, NoisePlan plan, std::vector<Group> groups,
                       std::unique_ptr<internal::Workers> workers)
    : plan_(std::move(plan)),
      workers_(std::move(workers)),
      adaptive_(options.adaptive),
      groups_(std::move(groups)),
      gradient_groups_(options.groups.size()),
      clip_norm_(options.groups[0].clip_norm),
      sums_(groups_.back().begin + groups_.back().clip.size()) {
  dimension_ = sums_.size() - (adaptive_ ? 1 : 0);
  size_t largest = 0;
  for (const Group& group : groups_) largest = std::max(largest, group.clip.size());
  spare_.resize(largest);
}

ClippedSum::~ClippedSum() { Clear(); }

void ClippedSum::Clear() {
  OPENSSL_cleanse(sums_.data(), sums_.size() * sizeof(sums_[0]));
  OPENSSL_cleanse(spare_.data(), spare_.size() * sizeof(spare_[0]));
  empty_ = true;
  rows_ = 0;
}

absl::StatusOr<GradientRows> ClippedSum::Checked(const GradientRows& rows) const {
  GradientRows checked = rows;
  if (rows.stride == 0) checked.stride = dimension_;
  const size_t bytes = BytesOf(rows.format);
  if (checked.stride < dimension_) {
    return FieldError("rows.stride",
                      absl::StrCat("must be 0 or at least ", dimension_, ", got ", rows.stride));
  }
  if (rows.count > 0 && rows.first == nullptr) return FieldError("rows.first", "must not be NULL");
  if (reinterpret_cast<uintptr_t>(rows.first) % bytes != 0) {
    return FieldError("rows.first", "must be aligned to its numbers");
  }
  if (rows.count > PTRDIFF_MAX / bytes / checked.stride) {
    return FieldError("rows.count", absl::StrCat("must fit the address space with stride ",
                                                 checked.stride, ", got ", rows.count));
  }
  return checked;
}

absl::Span<int64_t> ClippedSum::SumsOf(const Group& group) {
  return absl::MakeSpan(sums_).subspan(group.begin, group.clip.size());
}

absl::Span<int64_t> ClippedSum::SpareFor(const Group& group) {
  return absl::MakeSpan(spare_).first(group.clip.size());
}

absl::Status ClippedSum::Accumulate(absl::Span<const float> gradients) {
  if (gradients.size() % dimension_ != 0) {
    return FieldError("gradients", absl::StrCat("must be whole rows of ", dimension_,
                                                " values, got ", gradients.size(), " values"));
  }
  return Accumulate(GradientRows{gradients.data(), gradients.size() / dimension_, dimension_});
}

absl::Status ClippedSum::Accumulate(const GradientRows& given) {
  ASSIGN_OR_RETURN(const GradientRows rows, Checked(given));
  std::vector<double> norms(adaptive_ ? rows.count : 0);
  return AddGroups(rows.count, norms, [&](size_t, const Group& group) {
    group.clip.AddClipped(rows.From(group.begin), SumsOf(group), absl::MakeSpan(norms),
                          workers_.get(), SpareFor(group));
  });
}

absl::Status ClippedSum::Accumulate(const GradientRows& given, absl::Span<const double> norms) {
  ASSIGN_OR_RETURN(const GradientRows rows, Checked(given));
  if (norms.size() != rows.count * gradient_groups_) {
    return FieldError("norms", absl::StrCat("must be one for each row and group, ",
                                            rows.count * gradient_groups_, ", got ", norms.size()));
  }
  std::vector<double> scales(rows.count);
  return AddGroups(rows.count, norms, [&](size_t g, const Group& group) {
    for (size_t r = 0; r < rows.count; ++r) {
      scales[r] = group.clip.ScaleFor(norms[r * gradient_groups_ + g]);
    }
    group.clip.AddScaled(rows.From(group.begin), scales, SumsOf(group), workers_.get(),
                         SpareFor(group));
  });
}

// 2^63 / K examples would be needed for a sum to overflow.
absl::Status ClippedSum::AddGroups(size_t rows, absl::Span<const double> norms,
                                   absl::FunctionRef<void(size_t index, const Group& group)> add) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  std::vector<float> statistics(adaptive_ ? norms.size() : 0);
  empty_ = false;
  rows_ += rows;
  for (size_t g = 0; g < gradient_groups_; ++g) add(g, groups_[g]);
  if (!adaptive_) return absl::OkStatus();
  for (size_t r = 0; r < norms.size(); ++r) {
    statistics[r] = Statistic(*adaptive_, clip_norm_, norms[r]);
  }
  const Group& group = groups_.back();
  group.clip.AddClipped({statistics.data(), statistics.size(), 1}, SumsOf(group), {}, nullptr,
                        SpareFor(group));
  return absl::OkStatus();
}

absl::Status ClippedSum::AddSums(absl::Span<const int64_t> sums, uint64_t rows) {
  if (sums.size() != sums_.size()) {
    return FieldError("sums", absl::StrCat("must be ", sums_.size(), ", got ", sums.size()));
  }
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  empty_ = false;
  rows_ += rows;
  internal::AddModulo(sums.data(), sums.size(), sums_.data());  // another's sums are not checked
  return absl::OkStatus();
}

absl::Status ClippedSum::CheckRoomFor(uint64_t rows, std::optional<uint64_t> records) const {
  if (!records || (rows_ <= *records && rows <= *records - rows_)) return absl::OkStatus();
  // The message has no number: the size of a sample is a secret.
  return FieldError("rows",
                    "must not be more than the sample has records: a row is the gradient of one "
                    "record, or of a microbatch, and comes once");
}

absl::Status ClippedSum::SetClipNorm(double clip_norm) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  if (!empty_) {
    return absl::FailedPreconditionError("sum: is of another clip norm: clear it first");
  }
  RETURN_IF_ERROR(groups_[0].clip.SetClipNorm(clip_norm));
  if (adaptive_) {
    RETURN_IF_ERROR(groups_.back().clip.SetClipNorm(StatisticClipNorm(*adaptive_, clip_norm)));
  }
  clip_norm_ = clip_norm;
  return absl::OkStatus();
}

}  // namespace dpledger::client
