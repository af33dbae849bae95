#include "client/integer_clip.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMaxSize = size_t{1} << 40;
constexpr size_t kLanes = 64;

// An upper bound of the true square, from the lanes' sum, that leaves room for combining `parts` of
// them. Squares of floats are exact. The roundings on the way of any term: an addition each 64
// coordinates and one more, the tree's 6, parts - 1, and 3 products with this bound and alpha^2.
// These are n + 2 for n = floor(size/64) + 7 + parts, and (1 - 2^-53)^-(n + 2) <= 1 + n 2^-52 for
// 4 <= n < 2^50.
double Up(double squared_norm, size_t size, size_t parts) {
  const auto roundings = static_cast<double>(size / kLanes + 7 + parts);
  return squared_norm * (1 + roundings * 0x1p-52);
}

absl::Status CheckDomain(std::string_view field, double value) {
  if (value >= 1e-30 && value <= 1e30) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1e-30, 1e30], got ", value));
}

// The sum's unit where alpha is 1.
double GridOf(const ClipRule& rule, double target) {
  const auto* clip = std::get_if<ClipToNorm>(&rule);
  return (clip != nullptr ? clip->clip_norm : 1) / target;
}

absl::Status CheckRule(const ClipRule& rule) {
  if (const auto* clip = std::get_if<ClipToNorm>(&rule)) {
    return CheckDomain("clip_norm", clip->clip_norm);
  }
  return CheckDomain("gamma", std::get<Normalise>(rule).gamma);
}

}  // namespace

absl::StatusOr<IntegerClip> IntegerClip::Create(absl::Span<const ClipPart> parts,
                                                const ClipRule& rule, int64_t norm_bound) {
  if (parts.empty()) return FieldError("parts", "must be one or more, got none");
  size_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string field = absl::StrCat("parts[", i, "]");
    if (parts[i].size < 1 || parts[i].size > kMaxSize) {
      return FieldError(absl::StrCat(field, ".size"),
                        absl::StrCat("must be in [1, 2^40], got ", parts[i].size));
    }
    RETURN_IF_ERROR(CheckDomain(absl::StrCat(field, ".scale"), parts[i].scale));
    total += parts[i].size;
    if (total > kMaxSize) {
      return FieldError("parts", "must have at most 2^40 coordinates together, got more");
    }
  }
  RETURN_IF_ERROR(CheckRule(rule));
  IntegerClip clip;
  clip.size_ = 0;
  for (const ClipPart& part : parts) {
    clip.parts_.push_back({clip.size_, part.size, part.scale});
    clip.size_ += part.size;
  }
  const auto dimension = static_cast<double>(clip.size_);
  const auto bound = static_cast<double>(norm_bound);
  // Rounding moves each coordinate by 1/2 at most. Less, by what chance makes of the roundings, is
  // not enough where many coordinates have one value, as in gradients of 16-bit numbers: all of
  // them are rounded the same way.
  const double target = bound - std::sqrt(dimension) / 2;
  if (!(target >= bound / 2)) {
    return FieldError("parts", absl::StrCat(clip.size_,
                                            " coordinates are too many for the integer norm "
                                            "bound ",
                                            norm_bound));
  }
  clip.rule_ = rule;
  clip.target_ = target;
  clip.norm_bound_ = norm_bound;
  clip.grid_ = GridOf(rule, clip.target_);
  return clip;
}

absl::Status IntegerClip::SetClipNorm(double clip_norm) {
  if (!std::holds_alternative<ClipToNorm>(rule_)) {
    return FieldError("clip_norm", "must not be set where gradients are normalised");
  }
  RETURN_IF_ERROR(CheckDomain("clip_norm", clip_norm));
  rule_ = ClipToNorm{clip_norm};
  grid_ = GridOf(rule_, target_);
  return absl::OkStatus();
}

double IntegerClip::ScaleFor(double norm) const {
  if (!(norm >= 0 && norm < kInfinity)) return 0;
  const auto* clip = std::get_if<ClipToNorm>(&rule_);
  const double divisor =
      clip != nullptr ? std::max(clip->clip_norm, norm) : norm + std::get<Normalise>(rule_).gamma;
  return std::nextafter(target_ / divisor, 0.0);
}

double IntegerClip::ShareOfSquare(const Part& part, double squared_norm) const {
  return part.scale * part.scale * Up(squared_norm, part.size, parts_.size());
}

double IntegerClip::NormOf(double square) { return std::nextafter(std::sqrt(square), kInfinity); }

}  // namespace dpledger::client
