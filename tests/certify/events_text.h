// Events in proto JSON, for tests of the checker.
#pragma once

#include <string>

#include "absl/strings/str_format.h"

namespace dpledger::certify {

inline std::string Mechanism(const std::string& kind) { return "{\"mechanism\":{" + kind + "}}\n"; }
inline std::string PoissonRounds(double q, double sigma, double count) {
  return absl::StrFormat(
      "{\"rounds\":{\"scheme\":{\"poisson\":{\"probability\":%.17g}},\"queries\":"
      "[{\"l2NormBound\":1,\"noiseStddev\":%.17g}],\"count\":\"%.0f\"}}\n",
      q, sigma, count);
}
// Of epochs of one sampling scheme, such as "randomAllocation":{"roundsPerEpoch":"16"}.
inline std::string EpochRounds(const std::string& scheme, double sigma, int count) {
  return absl::StrFormat(
      "{\"rounds\":{\"scheme\":{%s},\"queries\":[{\"l2NormBound\":1,\"noiseStddev\":%.17g}],"
      "\"count\":\"%d\"}}\n",
      scheme, sigma, count);
}
inline std::string GaussianEvent(double noise_multiplier) {
  return Mechanism(absl::StrFormat("\"gaussian\":{\"noiseMultiplier\":%.17g}", noise_multiplier));
}

}  // namespace dpledger::certify
