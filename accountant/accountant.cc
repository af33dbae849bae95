#include "accountant/accountant.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/beside_seen.h"
#include "accountant/between.h"
#include "accountant/mechanism/greatest_loss.h"
#include "accountant/mechanism/stated_loss.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/epoch_laws.h"
#include "accountant/question.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Work on the loss grid: a third of a second; and the least share of the budget that is kept for
// the bound asked for last.
constexpr double kSoon = 3e8, kLeastLeft = 1.0 / 30;
// Above this ε no loss grid of pairs is tried: none reaches so far, and to find that out takes
// long.
constexpr double kBeyondGrids = 1e4;
// The share of the budget for the composition above another, if one below is asked about too.
constexpr double kOfAbove = 0.6;
// The coarsest gap of a loss grid that is asked for where the wish for a finer one is not met.
constexpr double kCoarse = 1e-2;
constexpr double kForCoarser = 1e8;  // work: a tenth of a second
constexpr char kOutOfReach[] =
    "the privacy loss distribution is out of reach of the loss grid; answered by rdp";
constexpr char kOutOfTime[] =
    "the question ran out of its time; with more of it the interval may be narrower";
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

// The narrower of two answers, with what both leave.
Answer Narrower(Answer a, Answer b) {
  const Interval both = Meet(a.value, MethodName(a.method), b.value, MethodName(b.method));
  Answer answer = b.value.RelativeGap() <= a.value.RelativeGap() ? std::move(b) : std::move(a);
  answer.value = both;
  return answer;
}

// The intersection of `known`, if there is one, and another answer.
Answer And(std::optional<Answer> known, Answer other) {
  return known.has_value() ? Narrower(*std::move(known), std::move(other)) : other;
}

// Whether there are steps that may be seen and that only the loss grid takes, as pairs.
bool HasSeenPairs(const Composition& composition) {
  return std::any_of(composition.pairs.begin(), composition.pairs.end(), [](const PairStep& step) {
    return step.on_sample.has_value() && !step.sampled.has_value();
  });
}

// Answers one question by one method, or by the best of all that apply. All compositions that it
// asks about share one budget of work, and the laws of their epochs.
class Asking {
 public:
  Asking(const Question& question, const Options& options, pld::EpochLaws& laws)
      : question_(question), options_(options), limits_(options.limits), laws_(laws) {}

  absl::StatusOr<Answer> By(Method method, const Composition& composition);

 private:
  // Without a word on whether the interval is as narrow as asked for.
  absl::StatusOr<Answer> Known(Method method, const Composition& composition);
  absl::StatusOr<Answer> Exactly(Method method, const Composition& composition);
  absl::StatusOr<Answer> Between(Method method, const Composition& composition);
  std::optional<Answer> Closed(Method method, const Composition& composition) const;
  absl::StatusOr<std::optional<Answer>> OfLoss(Method method, const Composition& composition,
                                               double most_work);
  absl::StatusOr<std::optional<Answer>> FromAbove(Method method, const Composition& composition,
                                                  const Answer& by_rdp, double most_work);
  absl::StatusOr<double> LowerEnd(Method method, const LowerPart& below);
  // What `answer` says of another question, from the same budget.
  template <typename Answering>
  auto Ask(const Question& question, const Answering& answer);
  absl::StatusOr<Answer> ByRdp(const Composition& composition) const;
  Answer OrCoarser(const Composition& composition, Limits limits, Answer found) const;
  // nullopt where no loss grid is within reach.
  absl::StatusOr<std::optional<Answer>> ByPld(const Composition& composition, double most_work);
  absl::StatusOr<std::optional<Answer>> ByLoss(Method method, const Composition& composition,
                                               double most_work);

  bool Met(const Answer& answer) const {
    return answer.value.RelativeGap() <= options_.relative_gap;
  }

  const Question& question_;
  const Options& options_;
  Limits limits_;  // what is left of them
  pld::EpochLaws& laws_;
};

template <typename Answering>
auto Asking::Ask(const Question& question, const Answering& answer) {
  Asking asking(question, options_, laws_);
  asking.limits_ = limits_;
  auto answered = answer(asking);
  limits_.max_grid_work = asking.limits_.max_grid_work;
  return answered;
}

std::optional<Answer> Asking::Closed(Method method, const Composition& composition) const {
  if (method != Method::kBest && method != Method::kGaussian) return std::nullopt;
  const std::optional<Interval> closed = question_.Closed(composition);
  if (!closed.has_value()) return std::nullopt;
  return Answer{*closed, Method::kGaussian, {}};
}

// An answer by Rényi DP.
Answer AnswerOf(const rdp::Converted& upper) {
  return {{0, upper.value}, Method::kRdp, {kNoLowerBound}};
}

absl::StatusOr<Answer> Asking::ByRdp(const Composition& composition) const {
  ASSIGN_OR_RETURN(const rdp::Converted upper, question_.Rdp(composition, options_.limits));
  return AnswerOf(upper);
}

absl::StatusOr<std::optional<Answer>> Asking::ByPld(const Composition& composition,
                                                    double most_work) {
  // Where a finer grid than usual is out of reach, the usual one is asked: who wishes for a
  // narrower answer does not get a wider one.
  for (double gap = options_.relative_gap;; gap *= 10) {
    Limits limits = limits_;
    limits.max_grid_work = std::fmin(limits.max_grid_work, most_work);
    ASSIGN_OR_RETURN(const pld::Bounds bounds, question_.Pld(composition, gap, limits, laws_));
    limits_.max_grid_work =
        std::fmax(kLeastLeft * options_.limits.max_grid_work, limits_.max_grid_work - bounds.work);
    if (bounds.gridded) return OrCoarser(composition, limits, {bounds.value, Method::kPld, {}});
    if (gap > 0.9 * Options().relative_gap) return std::nullopt;
  }
}

// A grid that does not meet the wish may say less than a coarser one, whose laws are its own.
Answer Asking::OrCoarser(const Composition& composition, Limits limits, Answer found) const {
  limits.max_grid_work = std::fmin(limits.max_grid_work, kForCoarser);
  for (const double gap : {Options().relative_gap, kCoarse}) {
    if (Met(found) || options_.relative_gap >= gap) continue;
    pld::EpochLaws laws;
    const absl::StatusOr<pld::Bounds> bounds = question_.Pld(composition, gap, limits, laws);
    if (!bounds.ok()) break;  // out of time
    if (bounds->gridded) found = Narrower(std::move(found), {bounds->value, Method::kPld, {}});
  }
  return found;
}

// Answers for an exact composition by its loss: by the contour on one line, pld as far as it gets
// soon, the contour by jumps, then pld, until the interval is as narrow as asked for.
absl::StatusOr<std::optional<Answer>> Asking::ByLoss(Method method, const Composition& composition,
                                                     double most_work) {
  std::optional<Answer> known;
  double tried = 0;  // by pld
  const auto by_contour = [&](contour::Effort effort) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<Interval> interval,
                     question_.Contour(composition, options_.limits, effort));
    if (interval.has_value())
      known = And(std::move(known), Answer{*interval, Method::kContour, {}});
    return absl::OkStatus();
  };
  const auto by_pld = [&](double work) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<Answer> answer, ByPld(composition, work));
    if (answer.has_value()) known = And(std::move(known), *answer);
    return absl::OkStatus();
  };
  const auto met = [&] { return known.has_value() && Met(*known); };
  if (method == Method::kContour) RETURN_IF_ERROR(by_contour(contour::Effort::kByJumps));
  if (method == Method::kBest) {
    RETURN_IF_ERROR(by_contour(contour::Effort::kOneLine));
    if (!met() && contour::Applies(composition) && composition.pairs.empty()) {
      tried = std::fmin(kSoon, limits_.max_grid_work);
      RETURN_IF_ERROR(by_pld(tried));
      if (!met()) RETURN_IF_ERROR(by_contour(contour::Effort::kByJumps));
      if (!met()) {
        ASSIGN_OR_RETURN(const std::optional<Interval> interval,
                         question_.Rarely(composition, options_.relative_gap, limits_));
        if (interval.has_value())
          known = And(std::move(known), Answer{*interval, Method::kPld, {}});
      }
    }
  }
  // Once more only with more work than before.
  most_work = std::fmin(most_work, limits_.max_grid_work);
  if (!met() && most_work > tried) RETURN_IF_ERROR(by_pld(most_work));
  return known;
}

// Of an exact composition: what is known of its loss, and what rdp adds to that.
absl::StatusOr<Answer> Asking::Exactly(Method method, const Composition& composition) {
  ASSIGN_OR_RETURN(const std::optional<Answer> by_loss,
                   ByLoss(method, composition, limits_.max_grid_work));
  Answer answer;
  // Where the grid answers, the Rényi bound may be less yet.
  const bool gridded = by_loss.has_value() && by_loss->method == Method::kPld;
  if (by_loss.has_value() && (method != Method::kBest || (Met(*by_loss) && !gridded))) {
    answer = *by_loss;
  } else {
    ASSIGN_OR_RETURN(answer, ByRdp(composition));
    if (by_loss.has_value()) {
      answer = Narrower(std::move(answer), *by_loss);
    } else {
      answer.warnings.insert(answer.warnings.begin(), kOutOfReach);
    }
  }
  return answer;
}

// Answers for a composition that is not exact. Upper bound: that of an exact one above it, or of
// its own Rényi curve if that is less. Lower bound: that of an exact one below it. (The Rényi curve
// of the one above says no more than its own.)
absl::StatusOr<Answer> Asking::Between(Method method, const Composition& asked) {
  ASSIGN_OR_RETURN(const rdp::Converted by_curve, question_.Rdp(asked, options_.limits));
  const Answer by_rdp = AnswerOf(by_curve);
  ASSIGN_OR_RETURN(
      const Composition composition,
      WithPairsOfSamples(asked, question_.Delta(by_rdp.value.upper()), options_.limits));
  double order = by_curve.order;
  if (HasLooseChoices(composition)) {
    ASSIGN_OR_RETURN(const rdp::Converted by_choices,
                     question_.Rdp(WithCurvesOfChoices(composition), options_.limits));
    order = by_choices.order;
  }
  const LowerPart below = Below(composition, order);
  const bool best = method == Method::kBest;
  Answer answer = by_rdp;
  if (!best || !IsCurvesAlone(composition)) {
    const double share = below.dominated.Empty() ? 1 : kOfAbove;
    const absl::StatusOr<std::optional<Answer>> upper =
        FromAbove(method, composition, by_rdp, share * limits_.max_grid_work);
    if (best && absl::IsDeadlineExceeded(upper.status())) return answer;
    RETURN_IF_ERROR(upper.status());
    if (upper->has_value()) {
      if (!best || (*upper)->value.upper() < answer.value.upper()) answer = **upper;
    } else if (!best) {
      answer.warnings.insert(answer.warnings.begin(), kOutOfReach);
    }
  }
  answer.value = {0, answer.value.upper()};
  if (!below.dominated.Empty()) {
    ASSIGN_OR_RETURN(double lower, LowerEnd(method, below));
    if (lower == 0) {
      for (const LowerPart& part : PartsBelow(composition, below, order)) {
        ASSIGN_OR_RETURN(const double shown, LowerEnd(method, part));
        lower = std::fmax(lower, shown);
      }
    }
    const std::string name = MethodName(answer.method);
    answer.value = Meet({lower, kInfinity}, "what is below", answer.value, name);
    std::erase(answer.warnings, kNoLowerBound);
  }
  if (below.leaves_out_curves) answer.warnings.push_back(kCurvesLeftOut);
  return answer;
}

// Answers for an exact composition: in closed form if there is one, else by its loss.
absl::StatusOr<std::optional<Answer>> Asking::OfLoss(Method method, const Composition& composition,
                                                     double most_work) {
  if (std::optional<Answer> closed = Closed(method, composition); closed.has_value()) return closed;
  return ByLoss(method, composition, most_work);
}

absl::StatusOr<std::optional<Answer>> Asking::FromAbove(Method method,
                                                        const Composition& composition,
                                                        const Answer& by_rdp, double most_work) {
  const double delta = question_.Delta(by_rdp.value.upper());
  ASSIGN_OR_RETURN(const Composition above, Above(composition, delta, options_.limits));
  ASSIGN_OR_RETURN(const std::optional<Composition> in_blocks,
                   InBlocks(above, delta, options_.limits));
  if (!in_blocks.has_value()) return OfLoss(method, above, most_work);
  // Of few rounds, or where blocks are coarse, the rounds by themselves may say more.
  ASSIGN_OR_RETURN(std::optional<Answer> joint, OfLoss(method, *in_blocks, most_work / 2));
  absl::StatusOr<std::optional<Answer>> by_round = OfLoss(method, above, most_work / 2);
  if (!joint.has_value()) return by_round;
  const bool less =
      by_round.ok() && by_round->has_value() && (*by_round)->value.upper() < joint->value.upper();
  return less ? *std::move(by_round) : std::move(joint);
}

// δ of what is above `below` is at least `share` times that of the dominated composition.
absl::StatusOr<double> Asking::LowerEnd(Method method, const LowerPart& below) {
  Question question = question_;
  if (question.epsilon() && below.share < 1) question.at = DivUp(question.at, below.share);
  if (question.epsilon() && question.at >= 1) return 0;
  ASSIGN_OR_RETURN(const std::optional<Answer> least, Ask(question, [&](Asking& asking) {
                     return asking.OfLoss(method, below.dominated, limits_.max_grid_work);
                   }));
  if (!least.has_value()) return 0;
  const double lower = least->value.lower();
  return question.epsilon() || below.share == 1 ? lower : MulDown(lower, below.share);
}

absl::StatusOr<Answer> Asking::Known(Method method, const Composition& composition) {
  if (method == Method::kRdp) return ByRdp(composition);
  if (const std::optional<Answer> closed = Closed(method, composition); closed.has_value())
    return *closed;
  if (method == Method::kGaussian) {
    return DoesNotApply(Method::kGaussian,
                        "applies to unsampled Gaussians, and to one sampled step");
  }
  std::optional<Answer> beside;
  if (method == Method::kBest) {
    bool narrow = true;  // what is known of the rest
    const auto ask = [&](const Question& question, const Composition& rest) {
      auto known = Ask(question, [&](Asking& asking) { return asking.Known(method, rest); });
      narrow = narrow && known.ok() && Met(*known);
      return known;
    };
    ASSIGN_OR_RETURN(beside, BesideSeen(question_, composition, ask));
    // No other bound on the whole is narrower than that on the rest.
    const bool enough = beside.has_value() && std::isfinite(beside->value.upper()) &&
                        (!narrow || beside->value.RelativeGap() <= 4 * options_.relative_gap);
    if (enough) return *beside;
    if (question_.epsilon() && beside.has_value() && beside->value.lower() > kBeyondGrids &&
        HasSeenPairs(composition)) {
      ASSIGN_OR_RETURN(Answer by_rdp, ByRdp(composition));
      return And(std::move(beside), std::move(by_rdp));
    }
  }
  ASSIGN_OR_RETURN(Answer answer, IsExact(composition) ? Exactly(method, composition)
                                                       : Between(method, composition));
  if (method == Method::kContour && answer.method != method) {
    answer.warnings.push_back(
        "the contour integral does not close for these steps; answered by another method");
  }
  return And(std::move(beside), std::move(answer));
}

absl::StatusOr<Answer> Asking::By(Method method, const Composition& composition) {
  ASSIGN_OR_RETURN(Answer answer, Known(method, composition));
  if (method == Method::kBest && !Met(answer))
    answer = question_.WithInclusions(composition, std::move(answer));
  if (answer.value.lower() > 0) std::erase(answer.warnings, kNoLowerBound);
  if (answer.method != Method::kRdp) std::erase(answer.warnings, kOutOfReach);
  // No warning of a wide interval if curves are left out or rdp alone answers: that explains it.
  const bool rdp_alone = answer.method == Method::kRdp && answer.value.lower() == 0;
  const bool explained =
      rdp_alone || std::count(answer.warnings.begin(), answer.warnings.end(), kCurvesLeftOut) > 0;
  if (!explained && !Met(answer)) answer.warnings.push_back(WiderThanAsked(answer.value, options_));
  // Unsaid, the same question would have two answers, and nobody could tell why.
  if (!Met(answer) && absl::IsDeadlineExceeded(options_.limits.Check()))
    answer.warnings.push_back(kOutOfTime);
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
    return Answer{{0, greatest.upper()}, Method::kRdp, {kNoLowerBound}};
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
  return asked && GreatestLoss(composition, direction).upper() <= epsilon;
}

// No ε is above the greatest loss.
absl::StatusOr<Answer> AtMost(double greatest, absl::StatusOr<Answer> answer) {
  if (answer.ok() && greatest < answer->value.upper()) {
    answer->value = {std::fmin(answer->value.lower(), greatest), greatest};
  }
  return answer;
}

bool IsByPairs(const Options& options) {
  return options.method == Method::kBest || options.method == Method::kPld;
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
                                      const Options& options, std::optional<Direction> direction) {
  RETURN_IF_ERROR(CheckDelta(delta));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{kInfinity, kInfinity}, options.method, {}};
  const Interval greatest = GreatestLoss(composition, direction);
  if (delta == 0) return AtDeltaZero(composition, greatest, options);
  if (const auto stated = StatedAlone(composition); stated && IsByPairs(options)) {
    return Answer{EpsilonOfStated(*stated, delta), Method::kPld, {}};
  }
  const Question question{Question::Of::kEpsilon, delta, direction};
  pld::EpochLaws laws;
  const double most = std::fmin(greatest.upper(), LossBesideStated(composition, direction, delta));
  return AtMost(most, Asking(question, options, laws).By(options.method, composition));
}

absl::StatusOr<Answer> ComputeDelta(const Composition& composition, double epsilon,
                                    const Options& options, std::optional<Direction> direction) {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  RETURN_IF_ERROR(CheckOptions(options));
  if (composition.non_private) return Answer{{1, 1}, options.method, {}};
  if (IsDeltaZero(composition, direction, epsilon, options)) {
    return Answer{{0, 0}, MethodOfGreatestLoss(composition), {}};
  }
  if (const auto stated = StatedAlone(composition); stated && IsByPairs(options)) {
    return Answer{DeltaOfStated(*stated, epsilon), Method::kPld, {}};
  }
  const Question question{Question::Of::kDelta, epsilon, direction};
  pld::EpochLaws laws;
  return Asking(question, options, laws).By(options.method, composition);
}

}  // namespace dpledger::accountant
