#include "accountant/accountant.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "accountant/contour/contour.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/sampled_once.h"
#include "accountant/mechanism/greatest_loss.h"
#include "accountant/pld/pld.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr char kNoLowerBound[] = "rdp gives no lower bound";
constexpr char kCurvesLeftOut[] = "the lower bound leaves out what is known by a Rényi curve alone";

absl::Status CheckOptions(const Options& options) {
  RETURN_IF_ERROR(CheckArithmetic());
  if (!(options.relative_gap >= 1e-9 && options.relative_gap <= 1)) {
    return FieldError("options.relative_gap",
                      absl::StrCat("must be in [1e-9, 1], got ", options.relative_gap));
  }
  return absl::OkStatus();
}

absl::Status DoesNotApply(Method method, std::string_view why) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("method ", MethodName(method), ": ",
                                                 absl::string_view(why.data(), why.size()))),
      {"METHOD_DOES_NOT_APPLY", {{"method", MethodName(method)}}});
}

std::string WiderThanAsked(const Interval& interval, const Options& options) {
  return absl::StrCat("the interval is wider than asked for: relative gap ", interval.RelativeGap(),
                      ", wanted ", options.relative_gap);
}

// ε in closed form, where there is one; without a direction the larger of the two.
std::optional<Interval> ClosedEpsilon(const Composition& composition,
                                      std::optional<Direction> direction, double delta) {
  if (gaussian::Applies(composition)) return gaussian::Epsilon(composition, delta);
  if (gaussian::AppliesOnce(composition))
    return gaussian::EpsilonOnce(composition, direction, delta);
  if (composition.OnlyGaussians() && gaussian::TotalVariationUp(composition) <= delta)
    return Interval{0, 0};
  return std::nullopt;
}

std::optional<Interval> ClosedDelta(const Composition& composition,
                                    std::optional<Direction> direction, double epsilon) {
  if (gaussian::Applies(composition)) return gaussian::Delta(composition, epsilon);
  if (gaussian::AppliesOnce(composition))
    return gaussian::DeltaOnce(composition, direction, epsilon);
  return std::nullopt;
}

// One question with the functions that answer it by each method; `gaussian` where it can.
template <typename Gaussian, typename Rdp, typename Pld, typename Contour>
absl::StatusOr<Answer> Dispatch(const Composition& composition, const Options& options,
                                Gaussian gaussian, Rdp rdp, Pld pld, Contour contour) {
  const auto by_rdp = [&](std::vector<std::string> warnings) -> absl::StatusOr<Answer> {
    ASSIGN_OR_RETURN(const rdp::Converted converted, rdp());
    warnings.push_back(kNoLowerBound);
    return Answer{{0, converted.value}, Method::kRdp, std::move(warnings)};
  };
  const auto by_pld = [&]() -> absl::StatusOr<Answer> {
    ASSIGN_OR_RETURN(const pld::Bounds bounds, pld());
    if (!bounds.gridded) {
      return by_rdp(
          {"the privacy loss distribution is out of reach of the loss grid; answered by rdp"});
    }
    Answer answer{bounds.value, Method::kPld, {}};
    if (!bounds.met) {
      answer.warnings.push_back(WiderThanAsked(bounds.value, options));
    }
    return answer;
  };
  const auto by_contour =
      [&](const std::function<absl::StatusOr<Answer>()>& otherwise) -> absl::StatusOr<Answer> {
    if (!composition.OnlyGaussians()) return otherwise();
    ASSIGN_OR_RETURN(const std::optional<Interval> interval, contour());
    if (interval.has_value() && interval->RelativeGap() <= options.relative_gap) {
      return Answer{*interval, Method::kContour, {}};
    }
    ASSIGN_OR_RETURN(Answer other, otherwise());
    if (!interval.has_value()) return other;
    const Interval both =
        Meet(*interval, MethodName(Method::kContour), other.value, MethodName(other.method));
    if (other.value.RelativeGap() <= interval->RelativeGap()) {
      other.value = both;
      return other;
    }
    Answer answer{both, Method::kContour, {}};
    if (!(both.RelativeGap() <= options.relative_gap)) {
      answer.warnings.push_back(WiderThanAsked(both, options));
    }
    return answer;
  };
  switch (options.method) {
    case Method::kBest:
      if (const std::optional<Interval> closed = gaussian(); closed.has_value())
        return Answer{*closed, Method::kGaussian, {}};
      return by_contour([&]() -> absl::StatusOr<Answer> {
        absl::StatusOr<Answer> answer = by_pld();
        // Some steps are known by a Rényi curve alone.
        if (ReasonOf(answer.status()).reason == "METHOD_DOES_NOT_APPLY") return by_rdp({});
        return answer;
      });
    case Method::kGaussian:
      if (const std::optional<Interval> closed = gaussian(); closed.has_value())
        return Answer{*closed, Method::kGaussian, {}};
      return DoesNotApply(Method::kGaussian,
                          "applies to unsampled Gaussians, and to one sampled step");
    case Method::kRdp:
      return by_rdp({});
    case Method::kPld:
      return by_pld();
    case Method::kContour:
      return by_contour([&]() -> absl::StatusOr<Answer> {
        ASSIGN_OR_RETURN(Answer answer, by_pld());
        answer.warnings.push_back(
            "the contour integral does not close for these steps; answered by another method");
        return answer;
      });
  }
  return absl::InternalError("unknown method");
}

// What is known by a Rényi curve alone has no lower bound; the rest does, and more only costs more.
template <typename Ask>
absl::StatusOr<Answer> WithRest(const Composition& composition, const Options& options,
                                absl::StatusOr<Answer> answer, Ask ask) {
  if (!answer.ok() || composition.curves.empty() || options.method != Method::kBest) return answer;
  Composition rest = composition;
  rest.curves.clear();
  if (rest.Empty()) return answer;
  ASSIGN_OR_RETURN(const Answer below, ask(rest));
  answer->value =
      Meet({below.value.lower, kInfinity}, absl::StrCat(MethodName(below.method), " of a part"),
           answer->value, MethodName(answer->method));
  std::erase(answer->warnings, kNoLowerBound);
  answer->warnings.push_back(kCurvesLeftOut);
  return answer;
}

// The method whose description of the steps says what their greatest loss is.
Method MethodOfGreatestLoss(const Composition& composition) {
  if (composition.OnlyGaussians()) return Method::kGaussian;
  const bool by_curves = composition.pairs.empty() && composition.allocations.empty();
  return by_curves ? Method::kRdp : Method::kPld;
}

// ε at δ = 0: the greatest loss, whatever the method.
absl::StatusOr<Answer> AtDeltaZero(const Composition& composition, const Interval& greatest,
                                   const Options& options) {
  const Method method = MethodOfGreatestLoss(composition);
  const bool curves = !composition.curves.empty();
  if (options.method == Method::kGaussian && method != Method::kGaussian) {
    return DoesNotApply(Method::kGaussian, "applies to Gaussians");
  }
  if (options.method == Method::kPld && curves) {
    return DoesNotApply(Method::kPld, "applies to steps with a known loss distribution");
  }
  if (options.method == Method::kRdp || method == Method::kRdp) {
    return Answer{{0, greatest.upper}, Method::kRdp, {kNoLowerBound}};
  }
  Answer answer{greatest, method, {}};
  if (curves) answer.warnings.push_back(kCurvesLeftOut);
  if (greatest.RelativeGap() > options.relative_gap) {
    answer.warnings.push_back(WiderThanAsked(greatest, options));
  }
  return answer;
}

// Whether δ(epsilon) is 0, for whoever does not ask for another method's bound.
bool IsDeltaZero(const Composition& composition, std::optional<Direction> direction, double epsilon,
                 const Options& options) {
  const bool asked = options.method == Method::kBest ||
                     (options.method == Method::kPld && composition.curves.empty());
  return asked && GreatestLoss(composition, direction).upper <= epsilon;
}

// No ε is above the greatest loss.
absl::StatusOr<Answer> AtMost(const Interval& greatest, absl::StatusOr<Answer> answer) {
  if (answer.ok() && greatest.upper < answer->value.upper) {
    answer->value.upper = greatest.upper;
    answer->value.lower = std::fmin(answer->value.lower, greatest.upper);
  }
  return answer;
}

absl::Status CheckDelta(double delta) {
  if (delta >= 0 && delta < 1) return absl::OkStatus();
  return FieldError("delta", absl::StrCat("must be in [0, 1), got ", delta));
}

absl::Status CheckEpsilon(double epsilon) {
  if (epsilon >= 0 && std::isfinite(epsilon)) return absl::OkStatus();
  return FieldError("epsilon", absl::StrCat("must be finite and >= 0, got ", epsilon));
}

}  // namespace

absl::StatusOr<Answer> ComputeEpsilon(const Composition& composition, double delta,
                                      const Options& options) {
  RETURN_IF_ERROR(CheckDelta(delta));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{kInfinity, kInfinity}, options.method, {}};
  const Interval greatest = GreatestLoss(composition, std::nullopt);
  if (delta == 0) return AtDeltaZero(composition, greatest, options);
  absl::StatusOr<Answer> answer = Dispatch(
      composition, options, [&] { return ClosedEpsilon(composition, std::nullopt, delta); },
      [&] { return rdp::EpsilonFromCurve(rdp::CurveOf(composition), delta, options.limits); },
      [&] { return pld::Epsilon(composition, delta, options.relative_gap, options.limits); },
      [&] { return contour::Epsilon(composition, delta, options.limits); });
  return AtMost(greatest,
                WithRest(composition, options, std::move(answer), [&](const Composition& rest) {
                  return ComputeEpsilon(rest, delta, options);
                }));
}

absl::StatusOr<Answer> ComputeDelta(const Composition& composition, double epsilon,
                                    const Options& options) {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{1, 1}, options.method, {}};
  if (IsDeltaZero(composition, std::nullopt, epsilon, options)) {
    return Answer{{0, 0}, MethodOfGreatestLoss(composition), {}};
  }
  absl::StatusOr<Answer> answer = Dispatch(
      composition, options, [&] { return ClosedDelta(composition, std::nullopt, epsilon); },
      [&] { return rdp::DeltaFromCurve(rdp::CurveOf(composition), epsilon, options.limits); },
      [&] { return pld::Delta(composition, epsilon, options.relative_gap, options.limits); },
      [&] { return contour::Delta(composition, epsilon, options.limits); });
  return WithRest(composition, options, std::move(answer),
                  [&](const Composition& rest) { return ComputeDelta(rest, epsilon, options); });
}

absl::StatusOr<Answer> ComputeEpsilonIn(Direction direction, const Composition& composition,
                                        double delta, const Options& options) {
  RETURN_IF_ERROR(CheckDelta(delta));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{kInfinity, kInfinity}, options.method, {}};
  const Interval greatest = GreatestLoss(composition, direction);
  if (delta == 0) return AtDeltaZero(composition, greatest, options);
  absl::StatusOr<Answer> answer = Dispatch(
      composition, options, [&] { return ClosedEpsilon(composition, direction, delta); },
      [&] { return rdp::EpsilonFromCurve(rdp::CurveOf(composition), delta, options.limits); },
      [&] {
        return pld::EpsilonIn(direction, composition, delta, options.relative_gap, options.limits);
      },
      [&] { return contour::EpsilonIn(direction, composition, delta, options.limits); });
  return AtMost(greatest,
                WithRest(composition, options, std::move(answer), [&](const Composition& rest) {
                  return ComputeEpsilonIn(direction, rest, delta, options);
                }));
}

absl::StatusOr<Answer> ComputeDeltaIn(Direction direction, const Composition& composition,
                                      double epsilon, const Options& options) {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{1, 1}, options.method, {}};
  if (IsDeltaZero(composition, direction, epsilon, options)) {
    return Answer{{0, 0}, MethodOfGreatestLoss(composition), {}};
  }
  absl::StatusOr<Answer> answer = Dispatch(
      composition, options, [&] { return ClosedDelta(composition, direction, epsilon); },
      [&] { return rdp::DeltaFromCurve(rdp::CurveOf(composition), epsilon, options.limits); },
      [&] {
        return pld::DeltaIn(direction, composition, epsilon, options.relative_gap, options.limits);
      },
      [&] { return contour::DeltaIn(direction, composition, epsilon, options.limits); });
  return WithRest(composition, options, std::move(answer), [&](const Composition& rest) {
    return ComputeDeltaIn(direction, rest, epsilon, options);
  });
}

}  // namespace dpledger::accountant
