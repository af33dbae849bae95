#include "accountant/contour/cut_steps.h"

#include <cmath>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kLogShare = -20.7;

// log of what the cut leaves out of the step's outcomes.
double LogLeftOut(const Step& step) {
  if (step.add) return LogCutUp(step.cut, 0) + std::log(step.count);
  const double without = std::log1p(-step.q) + LogCutUp(step.cut, 0);
  const double with = std::log(step.q) + LogCutUp(step.cut, step.mu);
  return std::fmax(without, with) + std::log1p(std::exp(-std::fabs(without - with))) +
         std::log(step.count);
}

}  // namespace

CutSteps WithCuts(std::vector<Step> steps, double delta) {
  CutSteps cut{std::move(steps), 0};
  const double goal = std::log(delta / static_cast<double>(cut.steps.size())) + kLogShare;
  for (Step& step : cut.steps) {
    if (step.q == 1) continue;
    // Nearly as low as a sharp cut would be, and as wide as that allows.
    const double sharp = std::sqrt(2 * std::fmax(1, std::log(step.count) - goal));
    const double of_sampled = std::sqrt(2 * std::fmax(1, std::log(step.count * step.q) - goal));
    step.cut = {std::fmax(sharp, step.add ? 0 : step.mu + of_sampled), 1.5 / sharp};
    for (int i = 0; i < 1000 && LogLeftOut(step) > goal; ++i) step.cut.at += step.cut.width / 4;
    cut.left_out = AddUp(cut.left_out, std::exp(LogLeftOut(step)) * (1 + 1e-8));
  }
  return cut;
}

}  // namespace dpledger::accountant::contour
