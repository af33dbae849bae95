#include "tests/cli/events.h"

#include "absl/strings/str_cat.h"

namespace dpledger::testing {

std::string PoissonRounds(const std::string& probability, const std::string& noise_multiplier,
                          const std::string& count) {
  return absl::StrCat(R"({"rounds":{"scheme":{"poisson":{"probability":)", probability,
                      R"(}},"queries":[{"l2_norm_bound":1,"noise_stddev":)", noise_multiplier,
                      R"(}],"count":")", count, "\"}}\n");
}

std::string SamplingLine(int round) {
  return absl::StrCat(R"({"sampling":{"round":")", round,
                      R"(","scheme":{"poisson":{"probability":0.01}}}})", "\n");
}

std::string SumQueryLine(int round) {
  return absl::StrCat(R"({"sum_query":{"round":")", round,
                      R"(","query":{"group":"g","l2_norm_bound":1,"noise_stddev":2}}})", "\n");
}

}  // namespace dpledger::testing
