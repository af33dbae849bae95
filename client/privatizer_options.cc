#include "client/privatizer_options.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client {
namespace {

constexpr size_t kMaxSize = size_t{1} << 40;

absl::Status CheckIn(double least, double most, std::string_view field, double value) {
  if (value >= least && value <= most) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [", least, ", ", most, "], got ", value));
}

absl::Status CheckGroup(const ClipGroup& group) {
  if (group.name.empty() || group.name.size() > 200) {
    return FieldError("name", absl::StrCat("must have 1 to 200 bytes, got ", group.name.size()));
  }
  if (group.size < 1 || group.size > kMaxSize) {
    return FieldError("size", absl::StrCat("must be in [1, 2^40], got ", group.size));
  }
  if (group.normalise && group.clip_norm != 0) {
    return FieldError("clip_norm", absl::StrCat("must be 0 where gradients are normalised, got ",
                                                group.clip_norm));
  }
  if (group.parts.empty()) return absl::OkStatus();
  size_t total = 0;
  for (const ClipPart& part : group.parts) {
    if (part.size > kMaxSize - total) total = kMaxSize;  // too many, however they go on
    total += std::min(part.size, kMaxSize);
  }
  if (total == group.size) return absl::OkStatus();
  return FieldError("parts",
                    absl::StrCat("must add up to the group's ", group.size, ", got ", total));
}

absl::Status CheckGroups(const std::vector<ClipGroup>& groups) {
  if (groups.empty() || groups.size() > 4096) {
    return FieldError("groups", absl::StrCat("must be 1 to 4096, got ", groups.size()));
  }
  std::set<std::string_view> names;
  size_t total = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string field = absl::StrCat("groups[", i, "]");
    RETURN_IF_ERROR(PrefixField(field, CheckGroup(groups[i])));
    if (!names.insert(groups[i].name).second) {
      return FieldError(absl::StrCat(field, ".name"),
                        absl::StrCat("must differ from the others', got \"", groups[i].name, "\""));
    }
    total += groups[i].size;  // no more than 4096 * 2^40
  }
  if (total <= kMaxSize) return absl::OkStatus();
  return FieldError("groups",
                    absl::StrCat("must have 2^40 coordinates together at most, got ", total));
}

absl::Status Check(const MeanNorm& rule) {
  RETURN_IF_ERROR(CheckIn(1e-3, 1e3, "alpha", rule.alpha));
  return CheckIn(1e-3, 1e3, "beta", rule.beta);
}

absl::Status Check(const NormQuantile& rule) {
  RETURN_IF_ERROR(CheckIn(0, 1, "quantile", rule.quantile));
  return CheckIn(1e-6, 10, "learning_rate", rule.learning_rate);
}

absl::Status CheckAdaptive(const PrivatizerOptions& options) {
  const AdaptiveClipNorm& adaptive = *options.adaptive;
  if (options.groups.size() != 1 || options.groups[0].normalise) {
    return FieldError("adaptive", "needs exactly one group, which has a clip norm");
  }
  if (options.microbatches) {
    return FieldError("adaptive",
                      "must be absent with microbatches, which have no norms of records");
  }
  RETURN_IF_ERROR(PrefixField(
      "adaptive", std::visit([](const auto& rule) { return Check(rule); }, adaptive.rule)));
  if (!(adaptive.noise_multiplier > options.noise_multiplier &&
        std::isfinite(adaptive.noise_multiplier))) {
    return FieldError("adaptive.noise_multiplier",
                      absl::StrCat("must be finite and above the round's, ",
                                   options.noise_multiplier, ", got ", adaptive.noise_multiplier));
  }
  return CheckIn(1e-9, 1e15, "adaptive.expected_batch_size", adaptive.expected_batch_size);
}

}  // namespace

double NextClipNorm(const AdaptiveClipNorm& adaptive, double clip_norm, double noised_sum) {
  const double mean = noised_sum / adaptive.expected_batch_size;
  double next = 0;
  if (const auto* rule = std::get_if<MeanNorm>(&adaptive.rule)) {
    next = rule->alpha * mean;
  } else {
    const auto& quantile = std::get<NormQuantile>(adaptive.rule);
    // The sum is of shares less a half.
    next = clip_norm * std::exp(-quantile.learning_rate * (mean + 0.5 - quantile.quantile));
  }
  return std::clamp(std::clamp(next, clip_norm / 10, clip_norm * 10), 1e-24, 1e24);
}

absl::Status CheckOptions(const PrivatizerOptions& options) {
  RETURN_IF_ERROR(CheckGroups(options.groups));
  return options.adaptive ? CheckAdaptive(options) : absl::OkStatus();
}

}  // namespace dpledger::client
