// Whether an answer of another accountant and ours can both be right, and whether ours is at least
// as good.
//
//  1. Where the truth lies by their account and where it lies by ours meet.
//  2. Our upper bound is not above theirs: rdp against their Rényi accountants, best against the
//     others.
// Numbers may differ by rounding, a relative 1e-6: theirs come from transforms in double precision,
// whose rounding moves ε by about 1e-7 where it is not counted.
#pragma once

#include <map>
#include <string>

#include "tests/accountant/conformance/reference_case.h"

namespace dpledger::accountant::conformance {

enum class Verdict {
  kAgrees,
  kTheyAreBelow,  // their upper bound is below our lower: one of the two is wrong
  kTheyAreAbove,  // their lower bound is above our upper: one of the two is wrong
  kWeAreLooser,   // our upper bound is above theirs
  kRefused,       // we have no analysis
  kFailed,        // any other error
};

struct Judgement {
  Verdict verdict;
  std::string why;  // the numbers, or the refusal
};

// Keeps answers, for many cases ask the same question. Not thread safe.
class Judge {
 public:
  Judgement operator()(const ReferenceCase& reference);

 private:
  absl::StatusOr<Interval> Best(const ReferenceCase& reference, const Composition& composition,
                                double relative_gap);

  std::map<std::string, absl::StatusOr<Interval>> known_;
};

}  // namespace dpledger::accountant::conformance
