#include "accountant/contour/ledger_line.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/contour/contour.h"
#include "accountant/contour/laid_line.h"
#include "accountant/contour/steps_of.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

// A line is laid with this much room in its period, and laid again when the composition has grown
// by this factor: measured, its gap has grown by a fifth by then.
constexpr double kRoom = 1.25;

}  // namespace

void LedgerLine::Append(const SampledGaussian& step) {
  const auto [place, fresh] = index_.try_emplace(
      {step.sampling_probability, step.noise_multiplier.lower(), step.noise_multiplier.upper()},
      steps_.size());
  if (fresh) {
    steps_.push_back(step);
    narrow_ = narrow_ && StepsOf({step}, false).narrow;
  } else {
    // Counts saturate, which would need centuries of appending.
    uint64_t& count = steps_[place->second].count;
    count = step.count > UINT64_MAX - count ? UINT64_MAX : count + step.count;
  }
  total_ += static_cast<double>(step.count);
}

bool LedgerLine::CatchUp(Live& live, bool add, const Limits& limits) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (i == live.terms.size()) {
      Line::Terms terms;
      if (!live.line->TermsFor(StepsOf({steps_[i]}, add).upper[0], limits, terms)) return false;
      live.terms.push_back(std::move(terms));
      live.counts.push_back(0);
    }
    const double count = static_cast<double>(steps_[i].count), more = count - live.counts[i];
    if (more == 0) continue;
    live.line->Add(live.terms[i], more);
    live.counts[i] = count;
  }
  return true;
}

absl::StatusOr<std::optional<Interval>> LedgerLine::LayAnew(bool add, const Limits& limits) {
  Live& live = add ? add_ : remove_;
  live.line.reset();
  // From the usual order, as a fresh question would: where there are several saddles the last one's
  // may have become the worse.
  live.order = kUsualOrder;
  Tilting tilting(StepsOf(steps_, add).upper, limits);
  ASSIGN_OR_RETURN(std::optional<LaidLine> laid,
                   LayForDelta(tilting, delta_, live.order, kRoom, true));
  if (!laid.has_value()) return std::nullopt;
  live.line = std::move(laid->line);
  live.terms = std::move(laid->terms);
  live.counts.clear();
  for (const SampledGaussian& step : steps_) live.counts.push_back(static_cast<double>(step.count));
  live.laid_count = total_;
  live.gap = std::fmax(kGoodGap, 10 * laid->epsilon.RelativeGap());
  live.epsilon = laid->guess;
  return std::optional<Interval>(laid->epsilon);
}

absl::StatusOr<std::optional<Interval>> LedgerLine::In(bool add, const Limits& limits) {
  Live& live = add ? add_ : remove_;
  if (live.line.has_value() && total_ <= kRoom * live.laid_count && CatchUp(live, add, limits)) {
    const std::optional<Interval> found = live.line->EpsilonAt(delta_, live.epsilon);
    if (found.has_value() && found->RelativeGap() <= live.gap) return found;
  }
  return LayAnew(add, limits);
}

bool LedgerLine::AddIsBelow(double epsilon, const Limits& limits) {
  const auto shows = [&] {
    double log_mgf = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i == chernoff_log_mgf_.size()) {
        // K as exact as 2^30 runs would want it.
        Step step = StepsOf({steps_[i]}, true).upper[0];
        step.count = 0x1p30;
        Tilting tilting({step}, limits);
        if (!std::isfinite(tilting.At(chernoff_order_).log_mgf)) return false;
        const Tilt tilt = tilting.StepAt(0, chernoff_order_);
        chernoff_log_mgf_.push_back(tilt.log_mgf + tilt.error);
      }
      log_mgf = AddUp(log_mgf, MulUp(static_cast<double>(steps_[i].count), chernoff_log_mgf_[i]));
    }
    return ChernoffShowsBelow(log_mgf, chernoff_order_, delta_, epsilon);
  };
  if (chernoff_order_ > 0 && shows()) return true;
  Tilting tilting(StepsOf(steps_, true).upper, limits);
  // A little below ε, so that the order found serves for a while.
  chernoff_order_ = OrderShowingBelow(tilting, delta_, epsilon * (1 - 1e-3), remove_.order);
  chernoff_log_mgf_.clear();
  return chernoff_order_ > 0 && shows();
}

absl::StatusOr<std::optional<Interval>> LedgerLine::Epsilon(const Limits& limits) {
  if (steps_.empty()) return Interval{0, 0};
  if (total_ < hopeless_below_) return std::nullopt;
  if (!narrow_) {
    Composition composition;
    composition.steps = steps_;
    return contour::Epsilon(composition, delta_, limits);
  }
  ASSIGN_OR_RETURN(const std::optional<Interval> remove, In(false, limits));
  if (!remove.has_value()) {
    hopeless_below_ = kRoom * total_;
    return std::nullopt;
  }
  if (AddIsBelow(remove->lower(), limits)) return remove;
  RETURN_IF_ERROR(limits.Check());
  ASSIGN_OR_RETURN(const std::optional<Interval> add, In(true, limits));
  if (!add.has_value()) {
    hopeless_below_ = kRoom * total_;
    return std::nullopt;
  }
  return Interval{std::fmax(remove->lower(), add->lower()),
                  std::fmax(remove->upper(), add->upper())};
}

}  // namespace dpledger::accountant::contour
