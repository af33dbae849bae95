// Questions about ledgers that neither plans nor filters bound together: the number is an
// odometer's, and the answer says so.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

absl::Status CheckOptions(const Subject& subject, const v1::AccountingOptions& options,
                          accountant::Method method) {
  if (options.parameters() != v1::PARAMETERS_UNSPECIFIED &&
      options.parameters() != subject.parameters) {
    return FieldError("options.parameters",
                      "is for events alone; these ledgers' declarations bound them by no plan");
  }
  if (method == accountant::Method::kBest || method == accountant::Method::kRdp)
    return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("method ", accountant::MethodName(method),
                                                 ": an odometer is answered by rdp only")),
      {"METHOD_DOES_NOT_APPLY", {{"method", accountant::MethodName(method)}}});
}

}  // namespace

absl::StatusOr<ResolvedQuestion> AskOdometer(const Subject& subject,
                                             const v1::AccountingOptions& options,
                                             const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(ResolvedQuestion question, Begin(subject, options, limits));
  RETURN_IF_ERROR(CheckOptions(subject, options, question.options.method));
  v1::AnswerDetails& details = question.details;
  details.set_parameters(v1::ADAPTIVE);
  details.set_regime(v1::ODOMETER);
  details.add_assumptions(
      "ODOMETER: the number bounds the runs that happened: with a probability of at least 1 - "
      "delta over their own outputs, the privacy loss of all that these ledgers released was at "
      "most epsilon at every time so far, whatever outputs their plans depended on and in whatever "
      "order "
      "their rounds came");
  details.add_assumptions(
      "ODOMETER: the number that was asked at, delta or epsilon, was chosen without looking at "
      "outputs");
  details.add_assumptions(
      "ODOMETER: the sample and the noise of a round, and of an epoch that shares its samples "
      "among rounds, are set before it releases anything");
  details.add_warnings(absl::StrCat(
      "an odometer is no (epsilon, delta)-differential privacy, which speaks of runs that did not "
      "happen too. These ledgers have none together: ",
      subject.no_common_bound.message()));
  RETURN_IF_ERROR(ResolveInto(subject, options, question));
  return question;
}

}  // namespace dpledger::questions
