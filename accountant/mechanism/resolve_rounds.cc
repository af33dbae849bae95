// Rounds of sum queries, by sampling scheme.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/outcome_parts.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/mechanism/sampling.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// The Gaussian queries of a round as one noise multiplier, and the discrete ones as one ρ of zCDP.
struct RoundNoise {
  JointNoise gaussian;
  double rho = 0;  // rounded up
  std::set<NoiseKind> kinds;
};

absl::StatusOr<RoundNoise> NoiseOf(const Round& round) {
  RoundNoise noise;
  for (const SumQuery& query : round.queries) {
    noise.kinds.insert(query.noise);
    const Interval z = Quotient(query.noise_stddev, query.l2_norm_bound);
    if (query.noise == NoiseKind::kDiscreteGaussian) {
      JointNoise check;  // of its domain
      RETURN_IF_ERROR(check.Add(z, 1));
      noise.rho = AddUp(noise.rho, DivUp(0.5, MulDown(z.lower(), z.lower())));
      continue;
    }
    RETURN_IF_ERROR(noise.gaussian.Add(z, 1));
  }
  return noise;
}

std::string Key(std::string_view name, std::initializer_list<uint64_t> whole, Interval z) {
  std::string key(name);
  for (const uint64_t value : whole) absl::StrAppend(&key, " ", value);
  absl::StrAppend(&key, " ", absl::Hex(std::bit_cast<uint64_t>(z.lower())), " ",
                  absl::Hex(std::bit_cast<uint64_t>(z.upper())));
  return key;
}

}  // namespace

absl::Status Resolver::AddRounds(const std::vector<History::CountedRound>& rounds) {
  for (const History::CountedRound& counted : rounds) {
    const SamplingScheme& scheme = counted.round.scheme;
    ASSIGN_OR_RETURN(const RoundNoise noise, NoiseOf(counted.round));
    for (const NoiseKind kind : noise.kinds) Assume(kind);
    composition_.schemes.insert(SchemeName(scheme));
    if (noise.rho > 0) {
      const auto* poisson = std::get_if<PoissonSampling>(&scheme.kind);
      const bool unsampled = std::holds_alternative<FullBatch>(scheme.kind) ||
                             (poisson != nullptr && poisson->probability == 1);
      if (!unsampled) return NoAnalysis("noise DISCRETE_GAUSSIAN on a sample");
      const double factor = static_cast<double>(neighbours_.group_size) * (replaces() ? 2 : 1);
      RETURN_IF_ERROR(
          AddCurve(ZeroConcentrated{MulUp(noise.rho, factor * factor), 0}, counted.count));
    }
    if (!noise.gaussian.empty()) {
      RETURN_IF_ERROR(
          AddGaussian(scheme, noise.gaussian.multiplier(), counted.count, counted.writer));
    }
  }
  for (const auto& [key, noises] : std::exchange(disjoint_, {}))
    RETURN_IF_ERROR(AddDisjoint(key.rounds, noises));
  std::map<EpochKey, FixedBins> fixed;
  for (const auto& [key, noises] : std::exchange(allocated_, {})) {
    if (key.fixed_bins) {
      EpochKey run = key;
      run.number = 0;
      fixed[run].push_back(noises);
    } else if (key.contributions > 1) {
      RETURN_IF_ERROR(AddTransversals(key.rounds, key.contributions, noises));
    } else {
      RETURN_IF_ERROR(AddAllocated(key.rounds, noises));
    }
  }
  for (const auto& [key, epochs] : fixed)
    RETURN_IF_ERROR(AddFixedBins(key.rounds, key.contributions, epochs));
  return absl::OkStatus();
}

absl::Status Resolver::AddGaussian(const SamplingScheme& scheme, Interval z, uint64_t count,
                                   const std::string& owner) {
  composition_.schemes.insert(SchemeName(scheme));
  const Gaussians gaussians{scheme.population_size, z, count, owner};
  return std::visit([&](const auto& kind) { return AddSampled(kind, gaussians); }, scheme.kind);
}

absl::Status Resolver::AddSampled(const FullBatch&, const Gaussians& all) {
  return AddUnsampled(all.z, all.count);
}

absl::Status Resolver::AddSampled(const PoissonSampling& scheme, const Gaussians& all) {
  return AddPoisson(scheme.probability, all.z, all.count);
}

absl::Status Resolver::AddSampled(const FixedSizeSampling& scheme, const Gaussians& all) {
  const std::string name = scheme.with_replacement ? "with_replacement" : "without_replacement";
  if (!replaces() || neighbours_.group_size != 1) {
    return NoAnalysis(absl::StrCat("sampling scheme ", name));
  }
  const Interval distance = Distance(all.z);
  const std::string key = Key(name, {all.population, scheme.sample_size}, all.z);
  if (scheme.with_replacement) {
    return AddPair(
        key,
        WithReplacementPair(all.population, scheme.sample_size, distance.upper(), Bound::kUpper),
        WithReplacementPair(all.population, scheme.sample_size, distance.lower(), Bound::kLower),
        all.count);
  }
  if (scheme.sample_size == all.population) return AddUnsampled(all.z, all.count);
  const Interval q =
      Quotient(static_cast<double>(scheme.sample_size), static_cast<double>(all.population));
  return AddPair(key, WithoutReplacementPair(q.upper(), distance.upper()),
                 SampledGaussianPair(q.lower(), distance.lower()), all.count, std::nullopt,
                 FixedSizeRound{q.upper(), distance.upper()});
}

absl::Status Resolver::AddSampled(const TruncatedPoisson& scheme, const Gaussians& all) {
  RETURN_IF_ERROR(OnlySingleRecords("sampling scheme truncated_poisson"));
  const Interval one = {Quotient(1, all.z.upper()).lower(), Quotient(1, all.z.lower()).upper()};
  if (scheme.max_sample_size >= all.population)
    return AddPoisson(scheme.probability, all.z, all.count);
  if (all.population > kGreatestPopulation) {
    return NoAnalysis("sampling scheme truncated_poisson from more than 10^10 records");
  }
  composition_.assumptions.insert(
      "truncated_poisson: population_size is the exact size of the data set that has the record");
  const Neighbour neighbour = replaces()                                     ? Neighbour::kOther
                              : neighbours_.adjacency == Adjacency::kZeroOut ? Neighbour::kNull
                                                                             : Neighbour::kAbsent;
  const auto pair = [&](double distance, Bound bound) {
    return TruncatedPoissonPair(all.population, scheme.probability, scheme.max_sample_size,
                                distance, neighbour, bound);
  };
  return AddPair(
      Key("truncated_poisson",
          {all.population, std::bit_cast<uint64_t>(scheme.probability), scheme.max_sample_size},
          all.z),
      pair(one.upper(), Bound::kUpper), pair(one.lower(), Bound::kLower), all.count);
}

absl::Status Resolver::AddSampled(const DisjointBatches& scheme, const Gaussians& all) {
  if (neighbours_.adjacency == Adjacency::kAddOrRemoveOne) {
    return NoAnalysis(
        "sampling scheme disjoint_batches (removing a record shifts the other batches; declare "
        "ZERO_OUT or REPLACE_ONE)");
  }
  return AddCount(all.count, disjoint_[{all.owner, all.population, scheme.batches_per_epoch,
                                        scheme.epoch}][{all.z.lower(), all.z.upper()}]);
}

absl::Status Resolver::AddSampled(const RandomAllocation& scheme, const Gaussians& all) {
  RETURN_IF_ERROR(OnlySingleRecords("sampling scheme random_allocation"));
  const EpochKey key = {all.owner,    all.population,       scheme.rounds_per_epoch,
                        scheme.epoch, scheme.contributions, scheme.fixed_bins};
  return AddCount(all.count, allocated_[key][{all.z.lower(), all.z.upper()}]);
}

// ---- Epochs: mechanism/CLAIM.md, section 4 ----

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
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
  const std::string key = Key("transversals", {rounds, contributions}, z);
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

absl::Status Resolver::AddFixedBins(uint64_t rounds, uint64_t contributions,
                                    const FixedBins& epochs) {
  NoiseCounts all;
  uint64_t begun = 0, whole = 0;
  for (const NoiseCounts& noises : epochs) {
    const uint64_t total = TotalOf(noises);
    begun = std::min(begun + EpochsOf(total, rounds), kGreatestCount);
    whole += total / rounds;
    for (const auto& noise : noises) all[noise.first] = 1;
  }
  Interval z = RangeOf(all.begin(), all.end());
  // Noise of as many rounds on one record adds up to that of one.
  z = {DivDown(z.lower(), NextUp(std::sqrt(NextUp(static_cast<double>(begun))))),
       whole == 0 ? kInfinity
                  : DivUp(z.upper(), NextDown(std::sqrt(NextDown(static_cast<double>(whole)))))};
  return AddTransversals(rounds, contributions, z, 1, true);
}

absl::Status Resolver::AddAllocation(uint64_t rounds, Interval z, uint64_t missing, uint64_t count,
                                     bool grows) {
  if (rounds == 1 && std::isfinite(z.upper())) return AddUnsampled(z, count);
  return AddCount(count, allocations_[{rounds, missing, z.lower(), z.upper(), grows}]);
}

}  // namespace dpledger::accountant
