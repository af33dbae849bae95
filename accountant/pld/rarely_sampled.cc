#include "accountant/pld/rarely_sampled.h"

#include <cmath>

#include "accountant/numeric/rounding.h"
#include "accountant/pld/pld.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Twice in the sample, as a share of δ.
constexpr double kNegligible = 0.01;
constexpr double kGreatestShare = 0.01;
// Of the loss grid, for each of the three questions that one makes: not part of that one's budget.
constexpr double kMostWork = 1.5e8;
constexpr double kFewRoundings = 16 * kUnitRoundoff;

// Probabilities that a record is in the samples of one round, and of more.
struct Samples {
  Interval one;
  double more;  // at most
};

Samples SamplesOf(double q, double rounds) {
  const double one = rounds * q * std::exp((rounds - 1) * std::log1p(-q));
  return {{one * (1 - kFewRoundings), one * (1 + kFewRoundings)},
          rounds * (rounds - 1) / 2 * q * q * (1 + kFewRoundings)};
}

// δ of adding a record, at most, at ε >= 0: of cQ - bP₁, what is without the record and with it in
// one sample.
absl::StatusOr<double> AddDeltaUp(const Samples& samples, const Composition& once, double epsilon,
                                  const Limits& limits) {
  const double some = AddUp(samples.one.upper(), samples.more);
  const double c = NextUp(some - std::expm1(epsilon) * (1 - some) * (1 - kFewRoundings));
  const double b = samples.one.lower();
  if (c <= 0) return 0;
  const double at = std::fmax(0, std::log(b / c) - kFewRoundings);
  ASSIGN_OR_RETURN(const Bounds once_added, Delta(once, at, 1e-3, limits, Direction::kAdd));
  return AddUp(MulUp(std::fmin(b, c) * (1 + kFewRoundings), once_added.value.upper()),
               std::fmax(0, c - b) * (1 + kFewRoundings));
}

}  // namespace

absl::StatusOr<std::optional<Interval>> EpsilonOfRarelySampled(std::optional<Direction> direction,
                                                               const Composition& composition,
                                                               double delta, double relative_gap,
                                                               const Limits& given) {
  Limits limits = given;
  limits.max_grid_work = std::fmin(limits.max_grid_work, kMostWork);
  if (direction == Direction::kAdd || composition.steps.size() != 1 || !composition.OnlyGaussians())
    return std::nullopt;
  const SampledGaussian& step = composition.steps.front();
  const double q = step.sampling_probability, rounds = static_cast<double>(step.count);
  if (step.count < 2 || q * rounds > kGreatestShare) return std::nullopt;
  const Samples samples = SamplesOf(q, rounds);
  if (samples.more > kNegligible * delta) return std::nullopt;
  if (delta >= samples.one.upper() + samples.more) return Interval{0, 0};
  Composition once;
  once.adjacency = composition.adjacency;
  once.allocations.push_back({step.count, step.noise_multiplier, 1});
  // ε at which the allocation's δ is a share `of_one` of the record's being in one sample, and what
  // that is of the run: e^ε = 1 + w (e^ε₁ - 1) - v, w and v the probabilities of one and of more.
  const auto at = [&](double of_one) -> absl::StatusOr<std::optional<Interval>> {
    if (of_one >= 1) return Interval{0, 0};
    ASSIGN_OR_RETURN(const Bounds found,
                     Epsilon(once, of_one, relative_gap, limits, Direction::kRemove));
    if (!found.gridded) return std::nullopt;
    const auto of_run = [&](double epsilon, double one, double more) {
      return std::log1p(one * std::expm1(epsilon) - more);
    };
    return Interval{
        std::fmax(0, of_run(found.value.lower(), samples.one.lower(), samples.more) *
                         (1 - kFewRoundings)),
        std::fmax(0, of_run(found.value.upper(), samples.one.upper(), 0) * (1 + kFewRoundings))};
  };
  ASSIGN_OR_RETURN(const auto least, at(DivUp(delta, samples.one.lower())));
  ASSIGN_OR_RETURN(const auto greatest,
                   at(DivDown(NextDown(delta - samples.more), samples.one.upper())));
  if (!least.has_value() || !greatest.has_value()) return std::nullopt;
  const Interval remove{least->lower(), greatest->upper()};
  // At ε = 0 δ is the same in both directions.
  if (direction == Direction::kRemove || remove.upper() == 0) return remove;
  ASSIGN_OR_RETURN(const double add, AddDeltaUp(samples, once, remove.upper(), limits));
  if (add <= delta) return remove;
  // No loss of adding a record is greater than if none of the samples has it.
  const double greatest_add = rounds * -std::log1p(-q) * (1 + kFewRoundings);
  return Interval{remove.lower(), std::fmax(remove.upper(), greatest_add)};
}

}  // namespace dpledger::accountant::pld
