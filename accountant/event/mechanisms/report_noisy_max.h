// Adds fresh noise to each of several scores and releases the index of the best. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct ReportNoisyMax {
  enum class Noise { kLaplace, kExponential, kGumbel };
  double noise_multiplier;  // scale over a score's sensitivity, > 0
  Noise noise;
  bool monotonic;  // one record moves all scores the same way

  static constexpr char kName[] = "report_noisy_max";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"noise_multiplier", &ReportNoisyMax::noise_multiplier, rules::Positive},
                      Field{"noise", &ReportNoisyMax::noise, UpTo(Noise::kGumbel)},
                      Field{"monotonic", &ReportNoisyMax::monotonic, kAny});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
