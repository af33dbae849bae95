// Rounds of epochs, which depend on each other: mechanism/CLAIM.md, section 4.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "accountant/mechanism/outcome_parts.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr char kTooManyRounds[] =
    "one epoch has more rounds than it should: each that they fill or begin is accounted as whole, "
    "with the least noise of all";

// `noises` are those of one or more whole epochs, each of them with one noise.
bool AreWholeEpochs(uint64_t rounds, const NoiseCounts& noises) {
  return std::all_of(noises.begin(), noises.end(),
                     [rounds](const auto& noise) { return noise.second % rounds == 0; });
}

uint64_t TotalOf(const NoiseCounts& noises) {
  uint64_t total = 0;
  for (const auto& [z, count] : noises) total = std::min(total + count, kGreatestCount);
  return total;
}

// Partitions take some ten milliseconds each; a few pairs more are left to the sums of outputs.
constexpr size_t kMostPartitions = 8;

absl::StatusOr<uint64_t> Times(uint64_t contributions, uint64_t epochs) {
  if (contributions <= kGreatestCount / epochs) return contributions * epochs;
  return WithReason(absl::FailedPreconditionError(
                        "the contributions of all epochs of random_allocation are more than 2^53"),
                    {"COUNT_TOO_LARGE", {}});
}

uint64_t EpochsOf(uint64_t total, uint64_t rounds) {
  return total / rounds + (total % rounds == 0 ? 0 : 1);
}

// From the least noise, rounded down, to the greatest, rounded up. from != to.
Interval RangeOf(NoiseCounts::const_iterator from, NoiseCounts::const_iterator to) {
  double least = from->first.first, greatest = from->first.second;
  for (++from; from != to; ++from) {
    least = std::fmin(least, from->first.first);
    greatest = std::fmax(greatest, from->first.second);
  }
  return {least, greatest};
}

// Rényi divergence of order two of n rounds of noise multiplier z, in which a record takes part
// with probability n/m, in one of them: log(1 + n/m² (e^{1/z²} - 1)).
double OrderTwo(uint64_t n, uint64_t m, double z) {
  const double square = 1 / (z * z), rounds = static_cast<double>(m);
  const double log_excess =
      square < 1 ? std::log(std::expm1(square)) : square + std::log1p(-std::exp(-square));
  const double log_part = std::log(static_cast<double>(n) / (rounds * rounds)) + log_excess;
  return log_part > 0 ? log_part + std::log1p(std::exp(-log_part)) : std::log1p(std::exp(log_part));
}

}  // namespace

absl::Status Resolver::AddDisjoint(uint64_t rounds, const NoiseCounts& noises) {
  if (AreWholeEpochs(rounds, noises)) {
    for (const auto& [z, count] : noises)
      RETURN_IF_ERROR(AddUnsampled({z.first, z.second}, count / rounds));
    return absl::OkStatus();
  }
  Interval z = RangeOf(noises.begin(), noises.end());
  const uint64_t total = TotalOf(noises);
  // Of one epoch the worst record is in the batch with the least noise.
  if (total <= rounds) z = {z.lower(), noises.begin()->first.second};
  if (total > rounds) composition_.warnings.insert(kTooManyRounds);
  return AddUnsampled(z, EpochsOf(total, rounds));
}

absl::Status Resolver::AddAllocated(uint64_t rounds, const NoiseCounts& noises) {
  if (AreWholeEpochs(rounds, noises)) {
    for (const auto& [z, count] : noises)
      RETURN_IF_ERROR(AddAllocation(rounds, {z.first, z.second}, 0, count / rounds));
    return absl::OkStatus();
  }
  const double least_noise = noises.begin()->first.first;
  const uint64_t total = TotalOf(noises);
  if (total > rounds) {
    composition_.warnings.insert(kTooManyRounds);
    return AddAllocation(rounds, {least_noise, kInfinity}, 0, EpochsOf(total, rounds));
  }
  if (noises.size() > 1) {
    composition_.warnings.insert(
        "rounds of one epoch of random_allocation differ in noise: its bounds are not tight");
  }
  // Those of more noise apart, where that costs less.
  auto split = noises.end();
  uint64_t before = 0, together = total;
  double least_cost = OrderTwo(total, rounds, least_noise);
  for (auto next = noises.begin(); next != noises.end();) {
    before += next->second;
    if (++next == noises.end()) break;
    const double cost = OrderTwo(before, rounds, least_noise) +
                        OrderTwo(total - before, rounds - before, next->first.first);
    if (cost >= least_cost) continue;
    least_cost = cost;
    split = next;
    together = before;
  }
  RETURN_IF_ERROR(AddAllocation(rounds, RangeOf(noises.begin(), split), rounds - together, 1));
  if (split == noises.end()) return absl::OkStatus();
  return AddAllocation(rounds - together, {split->first.first, kInfinity}, rounds - total, 1);
}

absl::Status Resolver::AddTransversals(uint64_t rounds, uint64_t contributions,
                                       const NoiseCounts& noises) {
  if (AreWholeEpochs(rounds, noises)) {
    for (const auto& [z, count] : noises) {
      RETURN_IF_ERROR(AddTransversals(rounds, contributions, Interval{z.first, z.second},
                                      count / rounds, false));
    }
    return absl::OkStatus();
  }
  const uint64_t total = TotalOf(noises);
  if (total > rounds) composition_.warnings.insert(kTooManyRounds);
  // Each epoch that was begun as whole, with the least noise of all.
  return AddTransversals(rounds, contributions, Interval{noises.begin()->first.first, kInfinity},
                         EpochsOf(total, rounds), false);
}

absl::Status Resolver::AddTransversals(uint64_t rounds, uint64_t contributions, Interval z,
                                       uint64_t count, bool grows) {
  if (contributions == 1) return AddAllocation(rounds, z, 0, count, grows);
  if (contributions == rounds) {
    ASSIGN_OR_RETURN(const uint64_t times, Times(contributions, count));
    return AddUnsampled(z, times);
  }
  composition_.warnings.insert(
      "random_allocation with more than one contribution: the upper bound is that of one in each "
      "of as many blocks of rounds");
  const uint64_t size = rounds / contributions, larger = rounds % contributions;
  for (const auto& [block, blocks] :
       {std::pair{size + 1, larger}, std::pair{size, contributions - larger}}) {
    if (blocks == 0) continue;
    ASSIGN_OR_RETURN(const uint64_t times, Times(blocks, count));
    RETURN_IF_ERROR(AddAllocation(block, {z.lower(), kInfinity}, 0, times, grows));
  }
  if (std::isinf(z.upper())) return absl::OkStatus();
  // Below: what parts of the outcomes show, or else the sum of the outputs. Nothing above, where
  // the blocks stand for it.
  const std::string key = PairKey("transversals", {rounds, contributions}, z);
  const double one = Distance(z).lower();
  const double distance =
      MulDown(NextDown(static_cast<double>(contributions)),
              DivDown(one, NextUp(std::sqrt(NextUp(static_cast<double>(rounds))))));
  RETURN_IF_ERROR(AddPair(key, Pair::Nothing(), SampledGaussianPair(1, distance), count));
  PairStep& added = composition_.pairs[pairs_.at(key)];
  if (!replaces() && composition_.pairs.size() <= kMostPartitions && added.parts == nullptr)
    added.parts = std::make_shared<const OutcomeParts>(rounds, contributions, one);
  return absl::OkStatus();
}

namespace {

// All epochs of one shape as one round of noise: above, every epoch that was begun, with its least
// noise; below, those that were whole, with their most noise.
Interval JointNoiseOf(uint64_t rounds, const std::vector<NoiseCounts>& epochs) {
  JointNoise above, below;
  for (const NoiseCounts& noises : epochs) {
    if (AreWholeEpochs(rounds, noises)) {
      for (const auto& [z, count] : noises) {
        above.Include({z.first, z.first}, count / rounds);
        below.Include({z.second, z.second}, count / rounds);
      }
      continue;
    }
    const uint64_t total = TotalOf(noises);
    const Interval range = RangeOf(noises.begin(), noises.end());
    above.Include({range.lower(), range.lower()}, EpochsOf(total, rounds));
    if (total >= rounds) below.Include({range.upper(), range.upper()}, total / rounds);
  }
  return {above.multiplier().lower(), below.empty() ? kInfinity : below.multiplier().upper()};
}

}  // namespace

absl::Status Resolver::AddFixedBins(const FixedBins& run) {
  // Of parts that contradict each other all but the one with the most to hide count as if nothing
  // were drawn: mechanism/CLAIM.md, section 4.
  BinsShape sampled = run.begin()->first;
  double most = 0;
  for (const auto& [shape, epochs] : run) {
    const double z = JointNoiseOf(shape.rounds, epochs).lower();
    const double precision = static_cast<double>(shape.contributions) / (z * z);
    if (precision <= most) continue;
    most = precision;
    sampled = shape;
  }
  for (const auto& [shape, epochs] : run) {
    const Interval z = JointNoiseOf(shape.rounds, epochs);
    if (shape == sampled) {
      // Below, each part alone is less than all of them together; one of them is enough.
      RETURN_IF_ERROR(AddTransversals(shape.rounds, shape.contributions, z, 1, true));
      continue;
    }
    RETURN_IF_ERROR(AddAllocation(1, {z.lower(), kInfinity}, 0, shape.contributions, true));
  }
  if (run.size() > 1) {
    composition_.warnings.insert(
        "fixed bins are one draw for their writer, and its entries differ in rounds_per_epoch or "
        "contributions: all but one of these kinds count as if every record were in every epoch");
  }
  return absl::OkStatus();
}

absl::Status Resolver::AddAllocation(uint64_t rounds, Interval z, uint64_t missing, uint64_t count,
                                     bool grows) {
  if (rounds == 1 && std::isfinite(z.upper())) return AddUnsampled(z, count);
  return AddCount(count, allocations_[{rounds, missing, z.lower(), z.upper(), grows}]);
}

absl::Status DisjointBatches::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  if (resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    return resolver.NoAnalysis(
        "sampling scheme disjoint_batches (removing a record shifts the other batches; declare "
        "ZERO_OUT or REPLACE_ONE)");
  }
  return resolver.AddDisjoint(*this, rounds);
}

absl::Status RandomAllocation::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  RETURN_IF_ERROR(resolver.OnlySingleRecords("sampling scheme random_allocation"));
  return resolver.AddAllocated(*this, rounds);
}

absl::Status Resolver::AddDisjoint(const DisjointBatches& scheme, const GaussianRounds& rounds) {
  return AddCount(rounds.count,
                  disjoint_[{rounds.owner, rounds.population, scheme.batches_per_epoch,
                             scheme.epoch}][{rounds.z.lower(), rounds.z.upper()}]);
}

absl::Status Resolver::AddAllocated(const RandomAllocation& scheme, const GaussianRounds& rounds) {
  const EpochKey key = {rounds.owner, rounds.population,    scheme.rounds_per_epoch,
                        scheme.epoch, scheme.contributions, scheme.fixed_bins};
  return AddCount(rounds.count, allocated_[key][{rounds.z.lower(), rounds.z.upper()}]);
}

}  // namespace dpledger::accountant
