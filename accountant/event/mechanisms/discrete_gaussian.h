// Noise P(k) ∝ e^{-k²/2σ²} on each whole-number coordinate (Canonne, Kamath, Steinke 2020).
// Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include <optional>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct DiscreteGaussian {
  double sigma;                            // > 0
  uint64_t sensitivity;                    // L2, >= 1
  std::optional<uint64_t> dimension = {};  // >= 1; absent: not stated

  static constexpr char kName[] = "discrete_gaussian";
  static constexpr Nature kNature = Nature::kNoiseOnASum;
  static constexpr auto Fields() {
    return std::tuple(Field{"sigma", &DiscreteGaussian::sigma, rules::Positive},
                      Field{"sensitivity", &DiscreteGaussian::sensitivity, rules::Count},
                      Field{"dimension", &DiscreteGaussian::dimension,
                            [](std::string_view field, std::optional<uint64_t> value) {
                              return value.has_value() ? rules::Count(field, *value)
                                                       : absl::OkStatus();
                            }});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
