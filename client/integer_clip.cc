#include "client/integer_clip.h"

#include <algorithm>
#include <array>
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
// (4096 + 1) K^2 < 2^63 for K <= 2^25.
constexpr size_t kCheckedBlock = 4096;

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

absl::Status CheckSize(std::string_view field, size_t size) {
  if (size >= 1 && size <= kMaxSize) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, 2^40], got ", size));
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

double SquaredNorm(absl::Span<const float> gradient) {
  std::array<double, kLanes> lanes = {};
  const size_t whole = gradient.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double x = gradient[i + lane];
      lanes[lane] += x * x;
    }
  }
  for (size_t i = whole; i < gradient.size(); ++i) {
    const double x = gradient[i];
    lanes[i - whole] += x * x;
  }
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

double SquaredNormUp(absl::Span<const float> gradient) {
  return Up(SquaredNorm(gradient), gradient.size(), 1);
}

bool FitsNormBound(absl::Span<const int32_t> q, int64_t norm_bound) {
  const auto bound = static_cast<uint64_t>(norm_bound);
  uint64_t total = 0;
  for (size_t begin = 0; begin < q.size(); begin += kCheckedBlock) {
    const absl::Span<const int32_t> block = q.subspan(begin, kCheckedBlock);
    uint64_t largest = 0;
    for (const int32_t value : block) {
      largest = std::max(largest, static_cast<uint64_t>(std::abs(int64_t{value})));
    }
    if (largest > bound) return false;
    for (const int32_t value : block) {
      const int64_t wide = value;
      total += static_cast<uint64_t>(wide * wide);
    }
    if (total > bound * bound) return false;
  }
  return true;
}

absl::StatusOr<IntegerClip> IntegerClip::Create(size_t size, double clip_norm, int64_t norm_bound) {
  RETURN_IF_ERROR(CheckSize("size", size));
  return CreateChecked({ClipPart{size}}, ClipToNorm{clip_norm}, norm_bound, "size");
}

absl::StatusOr<IntegerClip> IntegerClip::Create(absl::Span<const ClipPart> parts,
                                                const ClipRule& rule, int64_t norm_bound) {
  if (parts.empty()) return FieldError("parts", "must be one or more, got none");
  size_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string field = absl::StrCat("parts[", i, "]");
    RETURN_IF_ERROR(CheckSize(absl::StrCat(field, ".size"), parts[i].size));
    RETURN_IF_ERROR(CheckDomain(absl::StrCat(field, ".scale"), parts[i].scale));
    total += parts[i].size;
    if (total > kMaxSize) {
      return FieldError("parts", "must have at most 2^40 coordinates together, got more");
    }
  }
  return CreateChecked(parts, rule, norm_bound, "parts");
}

absl::StatusOr<IntegerClip> IntegerClip::CreateChecked(absl::Span<const ClipPart> parts,
                                                       const ClipRule& rule, int64_t norm_bound,
                                                       std::string_view size_field) {
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
    return FieldError(size_field, absl::StrCat(clip.size_,
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

double IntegerClip::Norm(absl::Span<const float> gradient) const {
  double square = 0;
  for (const Part& part : parts_) {
    square += ShareOfSquare(part, SquaredNorm(gradient.subspan(part.begin, part.size)));
  }
  return NormOf(square);
}

void IntegerClip::Clip(absl::Span<const float> gradient, absl::Span<int32_t> clipped) const {
  // A norm that is not finite has scale 0, which the value that is not finite makes NaN again.
  ClipScaled(gradient, ScaleFor(Norm(gradient)), clipped);
}

void IntegerClip::ClipScaled(absl::Span<const float> gradient, double scale,
                             absl::Span<int32_t> clipped) const {
  const auto fits = [&](auto round) {
    return Quantise(gradient, scale, round, clipped) && FitsNormBound(clipped, norm_bound_);
  };
  // Ties to even. Then toward zero, which cannot lengthen the vector; it is for inputs made to
  // round up.
  if (fits([](double x) { return std::nearbyint(x); })) return;
  if (fits([](double x) { return std::trunc(x); })) return;
  std::fill(clipped.begin(), clipped.end(), 0);
}

// False if a coordinate is not certainly within K (or is NaN), which the conversion needs.
template <typename Round>
bool IntegerClip::Quantise(absl::Span<const float> gradient, double scale, Round round,
                           absl::Span<int32_t> q) const {
  const auto limit = static_cast<double>(norm_bound_);
  bool convertible = true;
  for (const Part& part : parts_) {
    const double part_scale = scale * part.scale;
    for (size_t i = part.begin; i < part.begin + part.size; ++i) {
      const double scaled = part_scale * static_cast<double>(gradient[i]);
      const bool within = std::fabs(scaled) <= limit;
      convertible &= within;
      q[i] = within ? static_cast<int32_t>(round(scaled)) : 0;
    }
  }
  return convertible;
}

}  // namespace dpledger::client
