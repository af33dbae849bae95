// What a trainer released beside what was recorded about it: the check behind every test of this
// folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::testing {

// What the test trainer does in each step.
inline constexpr double kSamplingProbability = 0.01;
double NoiseOfStep(uint64_t step);
v1::Declaration FaultDeclaration();

// One writer's rounds, with the noise of the round's one query.
using Rounds = std::map<uint64_t, double>;

// What a trainer wrote into its file; a line that a kill tore is no release.
Rounds ReleasedRounds(const std::string& path);

// The rounds of `writer` in a ledger. Complains about a round that is there twice or out of order,
// a query without its sampling event just before it, and a request whose entries are not together.
Rounds LedgerRounds(const std::vector<v1::LedgerEntry>& entries, const std::string& writer,
                    std::vector<std::string>& complaints);

// The rounds of batches that wait in a spool.
Rounds BatchRounds(const std::vector<v1::AppendBatchRequest>& batches);

// A complaint for every released round that is not recorded with its noise.
std::vector<std::string> Unrecorded(const Rounds& released, const Rounds& recorded);

}  // namespace dpledger::testing
