#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "accountant/profile/profile.h"
#include "base/status.h"
#include "questions/answers.h"
#include "questions/guarantee.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

absl::Status CheckAsked(const v1::ComputeProfileRequest& request) {
  if (request.epsilons_size() > 0 && request.deltas_size() > 0) {
    return FieldError("deltas", "must be empty where epsilons are given: ask for one of both");
  }
  if (request.epsilons_size() == 0 && request.deltas_size() == 0 &&
      request.type_one_errors_size() == 0 && request.priors_size() == 0 &&
      request.gaussian_least_delta() == 0) {
    return FieldError("epsilons",
                      "or deltas, type_one_errors, priors or gaussian_least_delta must be given");
  }
  return absl::OkStatus();
}

std::vector<double> ListOf(const google::protobuf::RepeatedField<double>& field) {
  return {field.begin(), field.end()};
}

// A question, and the answer as far as it is made.
struct Building {
  const accountant::Composition& composition;
  const v1::ComputeProfileRequest& request;
  const accountant::Options& options;
  accountant::profile::Origin& origin;
  v1::ComputeProfileResponse& response;
};

absl::Status AddPoints(const Building& at, const std::optional<accountant::Composition>& plan) {
  const bool by_epsilon = at.request.deltas_size() == 0;
  const std::vector<double> asked =
      ListOf(by_epsilon ? at.request.epsilons() : at.request.deltas());
  const auto curve_of = [&](const accountant::Composition& of) {
    return by_epsilon ? accountant::profile::DeltasAt(of, asked, at.options)
                      : accountant::profile::EpsilonsAt(of, asked, at.options);
  };
  ASSIGN_OR_RETURN(const accountant::profile::Curve curve, curve_of(at.composition));
  at.origin.Add(curve.origin);
  std::optional<accountant::profile::Curve> planned;
  if (plan.has_value()) {
    ASSIGN_OR_RETURN(planned, curve_of(*plan));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    v1::ProfilePoint& point = *at.response.add_points();
    const v1::Interval given = ToProto(accountant::Interval{asked[i], asked[i]});
    const v1::Interval value = ToProto(curve.values[i]);
    *point.mutable_epsilon() = by_epsilon ? given : value;
    *point.mutable_delta() = by_epsilon ? value : given;
    if (planned.has_value()) *point.mutable_planned() = ToProto(planned->values[i]);
  }
  return absl::OkStatus();
}

absl::Status AddTradeOff(const Building& at) {
  ASSIGN_OR_RETURN(const accountant::profile::TradeOff curve,
                   accountant::profile::ComputeTradeOff(
                       at.composition, ListOf(at.request.type_one_errors()), at.options));
  at.origin.Add(curve.origin);
  for (const accountant::profile::ErrorRates& rates : curve.points) {
    v1::ErrorRates& point = *at.response.add_trade_off();
    point.set_type_one(rates.type_one);
    *point.mutable_remove() = ToProto(rates.remove);
    *point.mutable_add() = ToProto(rates.add);
    *point.mutable_symmetric() = ToProto(rates.symmetric);
  }
  return absl::OkStatus();
}

absl::Status AddBayesSuccess(const Building& at) {
  const std::vector<double> priors = ListOf(at.request.priors());
  ASSIGN_OR_RETURN(const accountant::profile::Curve curve,
                   accountant::profile::ComputeBayesSuccess(at.composition, priors, at.options));
  at.origin.Add(curve.origin);
  for (size_t i = 0; i < priors.size(); ++i) {
    v1::BayesSuccess& point = *at.response.add_bayes_success();
    point.set_prior(priors[i]);
    *point.mutable_success() = ToProto(curve.values[i]);
  }
  return absl::OkStatus();
}

absl::Status AddGaussianFit(const Building& at) {
  absl::StatusOr<accountant::profile::GaussianSummary> summary =
      accountant::profile::ComputeGaussianFit(at.composition, at.request.gaussian_least_delta(),
                                              at.options);
  if (absl::IsInvalidArgument(summary.status())) {
    return FieldError("gaussian_least_delta",
                      absl::StrCat("must be in (0, ", accountant::profile::kGreatestFitDelta,
                                   "), got ", at.request.gaussian_least_delta()));
  }
  RETURN_IF_ERROR(summary.status());
  at.origin.Add(summary->origin);
  v1::GaussianFit& fit = *at.response.mutable_gaussian_fit();
  *fit.mutable_mu() = ToProto(summary->fit.mu);
  *fit.mutable_regret() = ToProto(summary->fit.regret);
  fit.set_least_delta(summary->fit.least_delta);
  fit.set_greatest_delta(summary->fit.greatest_delta);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ComputeProfileResponse> Answer(const Subject& subject,
                                                  const v1::ComputeProfileRequest& request,
                                                  const accountant::Limits& limits) {
  RETURN_IF_ERROR(CheckAsked(request));
  RETURN_IF_ERROR(CheckNotPlanned(request.options()));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, request.options(), limits));
  const accountant::Composition& composition = question.composition;
  const accountant::Options& options = question.options;
  const std::optional<accountant::Composition> plan =
      PlanOf(subject, composition, question.details);
  v1::ComputeProfileResponse response;
  accountant::profile::Origin origin;
  const Building at{composition, request, options, origin, response};
  RETURN_IF_ERROR(AddPoints(at, plan));
  ASSIGN_OR_RETURN(const accountant::Answer advantage,
                   accountant::profile::ComputeAdvantage(composition, options));
  origin.Add(advantage);
  *response.mutable_advantage() = ToProto(advantage.value);
  if (request.type_one_errors_size() > 0) {
    RETURN_IF_ERROR(AddTradeOff(at));
  }
  if (request.priors_size() > 0) {
    RETURN_IF_ERROR(AddBayesSuccess(at));
  }
  if (request.gaussian_least_delta() != 0) {
    RETURN_IF_ERROR(AddGaussianFit(at));
  }
  v1::AnswerDetails& details = question.details;
  details.set_method(
      absl::StrJoin(origin.methods, ", ", [](std::string* out, accountant::Method method) {
        out->append(accountant::MethodName(method));
      }));
  for (const std::string& warning : origin.warnings) details.add_warnings(warning);
  details.set_guarantee(composition.non_private
                            ? NoGuarantee(details, "one of the events hides nothing")
                            : GuaranteeOf(details, 0));
  *response.mutable_details() = std::move(details);
  return response;
}

}  // namespace dpledger::questions
