#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/c/options.h"
#include "client/c/read.h"

namespace dpledger::client::c {
namespace {

constexpr size_t kMaxParts = 1 << 20;

absl::StatusOr<ClipGroup> ReadGroup(const std::string& field, const void* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_clip_group>(field, given));
  ClipGroup group;
  ASSIGN_OR_RETURN(group.name, ReadText(absl::StrCat(field, ".name"), read.name));
  group.size = read.size;
  group.clip_norm = read.clip_norm;
  if (read.gamma != 0) group.normalise = Normalise{read.gamma};
  if (read.part_count > kMaxParts) {
    return FieldError(absl::StrCat(field, ".part_count"),
                      absl::StrCat("must be at most ", kMaxParts, ", got ", read.part_count));
  }
  if (read.part_count > 0 && (read.part_sizes == nullptr || read.part_scales == nullptr)) {
    return FieldError(absl::StrCat(field, ".part_sizes"), "and part_scales must not be NULL");
  }
  for (size_t i = 0; i < read.part_count; ++i) {
    group.parts.push_back({read.part_sizes[i], read.part_scales[i]});
  }
  return group;
}

absl::StatusOr<AdaptiveClipNorm> ReadAdaptive(const dpledger_adaptive_clip_norm* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_adaptive_clip_norm>("adaptive", given));
  RETURN_IF_ERROR(CheckReserved("adaptive", read.reserved));
  RETURN_IF_ERROR(
      CheckConstant("adaptive.rule", read.rule, DPLEDGER_MEAN_NORM, DPLEDGER_NORM_QUANTILE));
  AdaptiveClipNorm adaptive;
  constexpr char kWhy[] = " for this rule";
  if (read.rule == DPLEDGER_MEAN_NORM) {
    RETURN_IF_ERROR(CheckZero("adaptive.quantile", read.quantile, kWhy));
    RETURN_IF_ERROR(CheckZero("adaptive.learning_rate", read.learning_rate, kWhy));
    adaptive.rule = MeanNorm{.alpha = read.alpha, .beta = read.beta};
  } else {
    RETURN_IF_ERROR(CheckZero("adaptive.alpha", read.alpha, kWhy));
    RETURN_IF_ERROR(CheckZero("adaptive.beta", read.beta, kWhy));
    adaptive.rule = NormQuantile{.quantile = read.quantile, .learning_rate = read.learning_rate};
  }
  adaptive.noise_multiplier = read.noise_multiplier;
  adaptive.expected_batch_size = read.expected_batch_size;
  return adaptive;
}

}  // namespace

absl::StatusOr<PrivatizerOptions> ReadPrivatizerOptions(const dpledger_privatizer_options* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_privatizer_options>("options", given));
  PrivatizerOptions options;
  ASSIGN_OR_RETURN(const auto groups,
                   ReadArray("groups", read.groups, read.group_count, /*most=*/4096));
  for (const auto& [field, element] : groups) {
    ASSIGN_OR_RETURN(options.groups.emplace_back(), ReadGroup(field, element));
  }
  options.noise_multiplier = read.noise_multiplier;
  RETURN_IF_ERROR(
      CheckConstant("allocation", read.allocation, DPLEDGER_PROPORTIONAL, DPLEDGER_LEAST_VARIANCE));
  if (read.allocation == DPLEDGER_LEAST_VARIANCE) {
    options.allocation = NoiseAllocation::kLeastVariance;
  }
  ASSIGN_OR_RETURN(options.microbatches, ReadFlag("microbatches", read.microbatches));
  if (read.threads != 0) options.threads = read.threads;
  if (read.adaptive == nullptr) return options;
  ASSIGN_OR_RETURN(options.adaptive, ReadAdaptive(read.adaptive));
  return options;
}

absl::StatusOr<GradientRows> ReadRows(const dpledger_gradient_rows* given) {
  ASSIGN_OR_RETURN(const auto read, ReadStruct<dpledger_gradient_rows>("rows", given));
  RETURN_IF_ERROR(CheckConstant("rows.format", read.format, DPLEDGER_FLOAT32, DPLEDGER_FLOAT16));
  RETURN_IF_ERROR(CheckReserved("rows", read.reserved));
  constexpr NumberFormat kFormats[] = {NumberFormat::kFloat32, NumberFormat::kBfloat16,
                                       NumberFormat::kFloat16};
  return GradientRows{read.first, read.count, read.stride, kFormats[read.format]};
}

}  // namespace dpledger::client::c
