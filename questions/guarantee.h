// What an answer's number promises, in words: the one text that the command line, Python, the page
// and statements show. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::questions {

// What the question was: ε at a δ, or a whole plan or curve; δ at an ε; the cost of a search for
// parameters, of whose runs all are released, or the best one alone.
enum class Asked { kEpsilon, kDelta, kSearch, kBestOfSearch };

// An ε above this tells hardly anybody anything: odds of e^10 are 22,000 to 1.
inline constexpr double kUseful = 10;

// Of an answer with these details whose number is at most `bound` (an ε). Its sentences say, in
// this order: what speaks against the number, what it protects and of whom, from whom, on what
// conditions, and what it does not say. Of adjacencies and regimes that this version does not know
// it says nothing: empty.
std::string GuaranteeOf(const v1::AnswerDetails& details, double bound,
                        Asked asked = Asked::kEpsilon);

// What speaks against the number, in whole sentences with a blank behind each; may be empty.
std::string Doubts(const v1::AnswerDetails& details);

// The text where nothing is promised. `why` is a clause.
std::string NoGuarantee(const v1::AnswerDetails& details, absl::string_view why);

// Whether δ is 1/n or more: a mechanism that gives out one record drawn at random has that δ, and
// no ε.
bool GivesOutWholeRecords(double delta, uint64_t records);

// Why δ is too large for that many records, 0 being none stated; empty if it is below 1/(10 n).
std::string DeltaWarning(double delta, uint64_t records);

}  // namespace dpledger::questions
