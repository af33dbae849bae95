// What an answer's number promises, in words: the one text that the command line, Python, the page
// and statements show. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::questions {

// Of an answer with these details whose number is at most `bound` (of an ε; of a δ, 1 bounds
// nothing). Its sentences say, in this order: what speaks against the number, what it protects and
// of whom, from whom, and what it does not say. Of adjacencies and regimes that this version does
// not know it says nothing: empty.
std::string GuaranteeOf(const v1::AnswerDetails& details, double bound);

// Why δ is too large for that many records, 0 being none stated; empty if it is below 1/n. Of a
// mechanism that gives out one record drawn at random, δ is 1/n, and there is no ε.
std::string DeltaWarning(double delta, uint64_t records);

}  // namespace dpledger::questions
