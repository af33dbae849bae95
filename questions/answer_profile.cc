#include "questions/answer_profile.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "accountant/profile/profile.h"
#include "base/status.h"
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

absl::Status AddPoints(const accountant::Composition& composition,
                       const std::optional<accountant::Composition>& plan,
                       const v1::ComputeProfileRequest& request, const accountant::Options& options,
                       accountant::profile::Origin& origin, v1::ComputeProfileResponse& response) {
  const bool by_epsilon = request.deltas_size() == 0;
  const std::vector<double> asked = ListOf(by_epsilon ? request.epsilons() : request.deltas());
  const auto curve_of = [&](const accountant::Composition& of) {
    return by_epsilon ? accountant::profile::DeltasAt(of, asked, options)
                      : accountant::profile::EpsilonsAt(of, asked, options);
  };
  ASSIGN_OR_RETURN(const accountant::profile::Curve curve, curve_of(composition));
  origin.Add(curve.origin);
  std::optional<accountant::profile::Curve> planned;
  if (plan.has_value()) {
    ASSIGN_OR_RETURN(planned, curve_of(*plan));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    v1::ProfilePoint& point = *response.add_points();
    const v1::Interval at = ToProto(accountant::Interval{asked[i], asked[i]});
    const v1::Interval value = ToProto(curve.values[i]);
    *point.mutable_epsilon() = by_epsilon ? at : value;
    *point.mutable_delta() = by_epsilon ? value : at;
    if (planned.has_value()) *point.mutable_planned() = ToProto(planned->values[i]);
  }
  return absl::OkStatus();
}

absl::Status AddTradeOff(const accountant::Composition& composition,
                         const v1::ComputeProfileRequest& request,
                         const accountant::Options& options, accountant::profile::Origin& origin,
                         v1::ComputeProfileResponse& response) {
  ASSIGN_OR_RETURN(const accountant::profile::TradeOff curve,
                   accountant::profile::ComputeTradeOff(
                       composition, ListOf(request.type_one_errors()), options));
  origin.Add(curve.origin);
  for (const accountant::profile::ErrorRates& rates : curve.points) {
    v1::ErrorRates& point = *response.add_trade_off();
    point.set_type_one(rates.type_one);
    *point.mutable_remove() = ToProto(rates.remove);
    *point.mutable_add() = ToProto(rates.add);
    *point.mutable_symmetric() = ToProto(rates.symmetric);
  }
  return absl::OkStatus();
}

absl::Status AddBayesSuccess(const accountant::Composition& composition,
                             const v1::ComputeProfileRequest& request,
                             const accountant::Options& options,
                             accountant::profile::Origin& origin,
                             v1::ComputeProfileResponse& response) {
  const std::vector<double> priors = ListOf(request.priors());
  ASSIGN_OR_RETURN(const accountant::profile::Curve curve,
                   accountant::profile::ComputeBayesSuccess(composition, priors, options));
  origin.Add(curve.origin);
  for (size_t i = 0; i < priors.size(); ++i) {
    v1::BayesSuccess& point = *response.add_bayes_success();
    point.set_prior(priors[i]);
    *point.mutable_success() = ToProto(curve.values[i]);
  }
  return absl::OkStatus();
}

absl::Status AddGaussianFit(const accountant::Composition& composition,
                            const v1::ComputeProfileRequest& request,
                            const accountant::Options& options, accountant::profile::Origin& origin,
                            v1::ComputeProfileResponse& response) {
  absl::StatusOr<accountant::profile::GaussianSummary> summary =
      accountant::profile::ComputeGaussianFit(composition, request.gaussian_least_delta(), options);
  if (absl::IsInvalidArgument(summary.status())) {
    return FieldError("gaussian_least_delta",
                      absl::StrCat("must be in (0, ", accountant::profile::kGreatestFitDelta,
                                   "), got ", request.gaussian_least_delta()));
  }
  RETURN_IF_ERROR(summary.status());
  origin.Add(summary->origin);
  v1::GaussianFit& fit = *response.mutable_gaussian_fit();
  *fit.mutable_mu() = ToProto(summary->fit.mu);
  *fit.mutable_regret() = ToProto(summary->fit.regret);
  fit.set_least_delta(summary->fit.least_delta);
  fit.set_greatest_delta(summary->fit.greatest_delta);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ComputeProfileResponse> AnswerProfile(const Subject& subject,
                                                         const v1::ComputeProfileRequest& request,
                                                         const accountant::Limits& limits) {
  RETURN_IF_ERROR(CheckAsked(request));
  ASSIGN_OR_RETURN(ResolvedQuestion question, Ask(subject, request.options(), limits));
  const accountant::Composition& composition = question.composition;
  const accountant::Options& options = question.options;
  const std::optional<accountant::Composition> plan =
      PlanOf(subject, composition, question.details);
  v1::ComputeProfileResponse response;
  accountant::profile::Origin origin;
  RETURN_IF_ERROR(AddPoints(composition, plan, request, options, origin, response));
  ASSIGN_OR_RETURN(const accountant::Answer advantage,
                   accountant::profile::ComputeAdvantage(composition, options));
  origin.Add(advantage);
  *response.mutable_advantage() = ToProto(advantage.value);
  if (request.type_one_errors_size() > 0) {
    RETURN_IF_ERROR(AddTradeOff(composition, request, options, origin, response));
  }
  if (request.priors_size() > 0) {
    RETURN_IF_ERROR(AddBayesSuccess(composition, request, options, origin, response));
  }
  if (request.gaussian_least_delta() != 0) {
    RETURN_IF_ERROR(AddGaussianFit(composition, request, options, origin, response));
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
