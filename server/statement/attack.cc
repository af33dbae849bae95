#include "server/statement/attack.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "questions/guarantee.h"
#include "server/statement/fields.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

using accountant::AddDown;
using accountant::AddUp;
using accountant::DivUp;
using accountant::ExpDown;
using accountant::ExpUp;
using accountant::MulDown;
using accountant::MulUp;

constexpr double kPrior = 0.5;

double AsChance(double value) { return std::isnan(value) ? 1.0 : std::clamp(value, 0.0, 1.0); }

// "out of 100", rounded up.
std::string InAHundred(double chance) { return UpperText(std::min(100.0, MulUp(100, chance))); }

std::string Question(const v1::AnswerDetails& details) {
  const bool group = details.group_size() > 1;
  const std::string records = group ? absl::StrCat("up to ", CountText(details.group_size()),
                                                   " records that belong together")
                                    : "a record";
  switch (details.adjacency()) {
    case v1::REPLACE_ONE:
      return absl::StrCat("which of two values ", records, group ? " have" : " has");
    case v1::ZERO_OUT:
      return absl::StrCat("whether ", records, " contributed or ", group ? "were" : "was",
                          " left blank");
    default:
      return absl::StrCat("whether ", records, group ? " are" : " is", " among the data");
  }
}

// Whom an alarm is wrongly about, and whom rightly.
std::pair<const char*, const char*> Alarmed(v1::Adjacency adjacency) {
  if (adjacency == v1::REPLACE_ONE)
    return {"with the other value", "with the value that is looked for"};
  if (adjacency == v1::ZERO_OUT) return {"left blank", "that contributed"};
  return {"that are not among them", "that are"};
}

// An odometer says nothing of chances before the runs; it bounds what their outputs are worth to
// whoever sees them: odds of at most e^ε where they were even.
std::string OdometerWords(const v1::Statement::Answer& answer) {
  if (answer.epsilon().upper() > questions::kUseful) {
    return "There is no useful bound on what an attacker has learned by now: a privacy loss above "
           "10 leaves hardly a doubt.";
  }
  return absl::StrCat(
      "Someone who sees all that these entries released, knows all other records, and held it for "
      "a coin toss ",
      Question(answer.details()), ", has reason to be sure of the truth by now to at most ",
      ChanceUp(AsChance(DivUp(1, AddDown(1, ExpDown(-answer.epsilon().upper()))))),
      ", but for a chance of ", StatedText(answer.delta()),
      " that the runs' own randomness has shown more: of a record, a delta and runs that were "
      "chosen beforehand. Of runs that did not happen this says nothing.");
}

std::string PlanWords(const Facts& facts) {
  const v1::Statement::Answer& answer = facts.answer;
  const double upper = answer.epsilon().upper();
  const Attack attack =
      facts.profile.has_value() ? AttackOf(*facts.profile) : AttackOf(upper, answer.delta());
  const auto [wrongly, rightly] = Alarmed(answer.details().adjacency());
  std::string words = absl::StrCat(
      "If the guarantee holds, someone who sees all that these entries released, knows all other "
      "records, and held it for a coin toss ",
      Question(answer.details()), ", tells it rightly with a chance of at most ",
      ChanceUp(attack.success), ". Raising a false alarm on 1 in 100 of those ", wrongly,
      ", such a guesser finds on average at most ", InAHundred(attack.detection),
      " in 100 of those ", rightly, ".");
  if (!facts.profile.has_value()) {
    words +=
        " These chances follow from epsilon and delta alone, and may be larger than they "
        "need be.";
  }
  if (answer.has_planned_epsilon()) {
    absl::StrAppend(&words,
                    " They hold for the rounds so far; for a run that may be stopped for "
                    "what it showed, the plan's epsilon, ",
                    UpperText(answer.planned_epsilon().upper()), ", is the one that counts.");
  }
  return words;
}

}  // namespace

Attack AttackOf(const v1::ComputeProfileResponse& profile) {
  Attack attack;
  for (const v1::BayesSuccess& success : profile.bayes_success()) {
    if (success.prior() == kPrior) attack.success = AsChance(success.success().upper());
  }
  for (const v1::ErrorRates& rates : profile.trade_off()) {
    if (rates.type_one() == kFalseAlarm)
      attack.detection = AsChance(AddUp(1, -rates.symmetric().lower()));
  }
  return attack;
}

Attack AttackOf(double epsilon, double delta) {
  if (!std::isfinite(epsilon)) return {};
  Attack attack;
  // success = (1 + advantage) / 2, advantage <= (e^ε - 1 + 2δ) / (e^ε + 1).
  const double up = ExpUp(epsilon);
  if (std::isfinite(up)) {
    const double advantage =
        DivUp(AddUp(AddUp(up, -1), MulUp(2, delta)), AddDown(ExpDown(epsilon), 1));
    attack.success = AsChance(DivUp(AddUp(1, advantage), 2));
  }
  // 1 - β <= min(δ + e^ε α, 1 - e^{-ε} (1 - δ - α)).
  const double low = AddUp(delta, MulUp(up, kFalseAlarm));
  const double rest = AddDown(AddDown(1, -delta), -kFalseAlarm);
  const double high = AddUp(1, -MulDown(ExpDown(-epsilon), std::max(0.0, rest)));
  attack.detection = AsChance(std::min(low, high));
  return attack;
}

std::string AttackWords(const Facts& facts) {
  const v1::Statement::Answer& answer = facts.answer;
  if (!answer.has_epsilon()) {
    return "No bound is stated on what an attacker can learn from what was released, because "
           "epsilon is refused.";
  }
  const std::string delta = questions::DeltaWarning(facts.delta, PopulationOf(facts));
  return absl::StrCat(
      questions::Doubts(answer.details()),
      !std::isfinite(answer.epsilon().upper())
          ? "No bound is known at this delta on what an attacker can learn from what was released."
      : IsOdometer(answer) ? OdometerWords(answer)
                           : PlanWords(facts),
      delta.empty() ? "" : absl::StrCat(" The ", delta, "."));
}

}  // namespace dpledger::server::statement
