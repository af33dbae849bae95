// Calibration beside ledgers: what is left of a target. Those who have the ledgers are asked for
// epsilon with a run more, again and again.
#pragma once

#include "absl/status/statusor.h"
#include "cli/question_flags.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

struct RestFlags {
  double epsilon = 0;  // the target, of ledgers and run together
  double delta = 0;
  v1::Unknown solve = v1::UNKNOWN_UNSPECIFIED;
  RunFlags run;            // without what is solved for
  QuestionFlags question;  // about the ledgers
};

// The parameter of the run that keeps the target, on the safe side, to within a ten-thousandth (of
// steps: the greatest number). FAILED_PRECONDITION (NO_SOLUTION) if none does, which says what the
// ledgers cost alone; errors of the questions.
absl::StatusOr<v1::CalibrateResponse> SolveRest(const RestFlags& flags);

}  // namespace dpledger::cli
