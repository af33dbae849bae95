// Lines of event files.
#pragma once

#include <string>

namespace dpledger::testing {

// `count` rounds of one Gaussian sum query under Poisson sampling. Numbers as they are to stand in
// the file.
std::string PoissonRounds(const std::string& probability, const std::string& noise_multiplier,
                          const std::string& count);

std::string SamplingLine(int round);
std::string SumQueryLine(int round);

}  // namespace dpledger::testing
