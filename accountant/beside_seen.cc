#include "accountant/beside_seen.h"

#include <cmath>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// A step is taken as seen if without the record an output is beyond half the distance with at most
// this share (its log) of the sampling probability. No bound rests on it.
constexpr double kLogMistaken = -40;
// Far more than sums of logarithms, products and one exponential round; and than the logarithm of a
// tail does that is no underflow.
constexpr double kSlack = 1e-13, kSlackOfTail = 1e-11;

// The steps that show their record, if it is in a sample, under one of the two data sets.
struct Side {
  // λ: -log of the probability that the record is in no sample; and of outputs that do not show it,
  // rounded down.
  double in_none = 0, not_shown = 0;

  void Add(const Interval& q, double tail, double count) {
    in_none -= count * std::log1p(-q.upper()) * (1 + kSlack);
    not_shown -= count * std::log1p(-q.lower() * (1 - 2 * tail)) * (1 - kSlack);
  }
  // The probability that it is in some sample, rounded up; that outputs show it, rounded down.
  double InSome() const { return std::fmin(1, -std::expm1(-in_none) * (1 + kSlack)); }
  double Shown() const { return -std::expm1(-not_shown) * (1 - kSlack); }
};

struct Seen {
  Side with, without;  // P's and Q's, of the remove direction
  // Outputs without the record look as if it had been seen with at most this probability; its log.
  double mistaken = 0, log_mistaken = -kInfinity;

  // Whether it took the step.
  bool Take(const OnSample& step, uint64_t steps) {
    const double half = 0.5 / step.noise_multiplier;
    if (step.probability.upper() >= 1 ||
        LogNormalTail(half) > std::log(step.probability.lower()) + kLogMistaken) {
      return false;
    }
    const double count = static_cast<double>(steps);
    // Far out its own rounding, and that of `half`, are shares of its size.
    const double log_tail = LogNormalTail(half) * (1 - 32 * kUnitRoundoff) + kSlackOfTail;
    const double tail = ExpUp(log_tail), log_one = log_tail + std::log(count) + kSlackOfTail;
    const double most = std::fmax(log_mistaken, log_one), least = std::fmin(log_mistaken, log_one);
    with.Add(step.probability, tail, count);
    if (step.replaced) without.Add(step.probability, tail, count);
    mistaken += count * tail * (1 + kSlack);
    log_mistaken = most + std::log1p(std::exp(least - most)) + kSlackOfTail;
    return true;
  }
};

// One direction's question: P against Q.
struct Directed {
  const Side &p, &q;
  const Seen& seen;
  const AskRest& ask;
  const Composition& rest;
  Direction direction;

  // What the rest's ε is moved by: λ_P - λ_Q, for the upper bound and for the lower one.
  double ShiftAbove() const { return NextDown(p.not_shown - q.in_none); }
  double ShiftBelow() const { return AddUp(NextUp(p.in_none - q.not_shown), 4 * seen.mistaken); }
  // δ that no output without the record makes up for, and the share of outputs that show nothing.
  double ShownBelow(double epsilon) const {
    const double made_up = ExpUp(epsilon + seen.log_mistaken) * (1 + 1e-9);
    return p.in_none == 0 ? 0 : NextDown(p.Shown() - made_up);
  }
  double LeftBelow() const {
    return MulDown(NextDown(1 - p.InSome()), NextDown(1 - 2 * seen.mistaken));
  }

  absl::StatusOr<Answer> Epsilon(double delta) const;
  absl::StatusOr<Answer> Delta(double epsilon) const;
  absl::StatusOr<Answer> Ask(Question::Of of, double at, Direction in) const {
    if (rest.Empty()) return Answer{{0, 0}, Method::kGaussian, {}};
    return ask({of, at, in}, rest);
  }
  // E_γ of the rest, γ = e^x; below 1 it is 1 - γ + γ E_{1/γ} of the other direction.
  absl::StatusOr<Answer> DeltaOfRest(double x) const {
    if (x >= 0) return Ask(Question::Of::kDelta, x, direction);
    const bool remove = direction == Direction::kRemove;
    ASSIGN_OR_RETURN(Answer answer,
                     Ask(Question::Of::kDelta, -x, remove ? Direction::kAdd : Direction::kRemove));
    const auto at = [x](double other) { return -std::expm1(x) + std::exp(x) * other; };
    answer.value = {at(answer.value.lower()) * (1 - kSlack),
                    std::fmin(1, at(answer.value.upper()) * (1 + kSlack))};
    return answer;
  }
};

bool IsDelta(double delta) { return delta > 0 && delta < 1; }

absl::StatusOr<Answer> Directed::Epsilon(double delta) const {
  const double least = DivDown(NextDown(delta - p.InSome()), NextUp(1 - p.InSome()));
  if (!IsDelta(least)) {
    // That the record is seen says what ε is at least.
    const double shown = NextDown(p.Shown() - delta);
    const double lower = shown > 0 ? LogDown(shown) - seen.log_mistaken - 1e-9 : 0;
    return Answer{{std::fmax(0, lower * (1 - kSlack)), kInfinity}, Method::kGaussian, {}};
  }
  ASSIGN_OR_RETURN(Answer answer, Ask(Question::Of::kEpsilon, least, direction));
  double upper = std::fmax(0, NextUp(answer.value.upper() - ShiftAbove()));
  if (answer.value.upper() == 0 && upper > 0) {
    ASSIGN_OR_RETURN(const Answer at_zero, Delta(0));
    if (at_zero.value.upper() <= delta) upper = 0;
  }
  double lower = 0;
  if (const double most = DivUp(NextUp(delta - ShownBelow(upper)), LeftBelow()); IsDelta(most)) {
    ASSIGN_OR_RETURN(const Answer below, Ask(Question::Of::kEpsilon, most, direction));
    if (below.value.lower() > 0) lower = NextDown(below.value.lower() - ShiftBelow());
  }
  answer.value = {std::fmax(0, lower), upper};
  return answer;
}

absl::StatusOr<Answer> Directed::Delta(double epsilon) const {
  ASSIGN_OR_RETURN(Answer answer, DeltaOfRest(NextDown(epsilon + ShiftAbove())));
  ASSIGN_OR_RETURN(const Answer below, DeltaOfRest(NextUp(epsilon + ShiftBelow())));
  const double in_some = p.InSome();
  const double upper = in_some + (1 - in_some) * answer.value.upper() * (1 + kSlack);
  const double lower = AddDown(ShownBelow(epsilon), MulDown(LeftBelow(), below.value.lower()));
  answer.value = {std::fmax(0, lower), std::fmin(1, upper * (1 + kSlack))};
  return answer;
}

// Takes the steps that are seen out of the composition.
Seen TakeSeen(Composition& composition) {
  Seen seen;
  std::erase_if(composition.steps, [&](const SampledGaussian& step) {
    const double q = step.sampling_probability;
    return seen.Take({{q, q}, step.noise_multiplier.upper(), false}, step.count);
  });
  std::erase_if(composition.pairs, [&](const PairStep& step) {
    return step.on_sample.has_value() && seen.Take(*step.on_sample, step.count);
  });
  return seen;
}

}  // namespace

absl::StatusOr<std::optional<Answer>> BesideSeen(const Question& question,
                                                 const Composition& composition,
                                                 const AskRest& ask) {
  Composition rest = composition;
  const Seen seen = TakeSeen(rest);
  if (seen.with.in_none == 0 || !(seen.mistaken < 0.1)) return std::nullopt;
  std::optional<Answer> greater;
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    if (question.direction.value_or(direction) != direction) continue;
    const bool remove = direction == Direction::kRemove;
    const Side &p = remove ? seen.with : seen.without, &q = remove ? seen.without : seen.with;
    const Directed directed{p, q, seen, ask, rest, direction};
    ASSIGN_OR_RETURN(Answer answer, question.epsilon() ? directed.Epsilon(question.at)
                                                       : directed.Delta(question.at));
    if (!greater.has_value()) {
      greater = std::move(answer);
      continue;
    }
    const Interval both{std::fmax(greater->value.lower(), answer.value.lower()),
                        std::fmax(greater->value.upper(), answer.value.upper())};
    if (answer.value.upper() > greater->value.upper()) greater = std::move(answer);
    greater->value = both;
  }
  return greater;
}

}  // namespace dpledger::accountant
