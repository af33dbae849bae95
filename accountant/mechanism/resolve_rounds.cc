// Rounds of sum queries, by sampling scheme.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr char kNoFewerRecords[] =
    "batches of a fixed size: the data set that has the record has at least population_size "
    "records, from which each batch was drawn";

Interval Half(Interval z) { return {z.lower() / 2, z.upper() / 2}; }  // exact

// Noises whose intervals overlap are one, up to rounding: two queries of σ 2 in a round, and one of
// √2.
NoiseCounts TakenAlike(const NoiseCounts& noises) {
  NoiseCounts taken;
  for (const auto& [z, count] : noises) {
    const bool alike = !taken.empty() && z.first <= taken.rbegin()->first.second;
    if (!alike) {
      taken.emplace(z, count);
      continue;
    }
    auto same = taken.extract(std::prev(taken.end()));
    same.key().second = std::fmax(same.key().second, z.second);
    same.mapped() += count;
    taken.insert(std::move(same));
  }
  return taken;
}

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

}  // namespace

absl::Status Resolver::AddRounds(const std::vector<History::CountedRound>& rounds) {
  for (const History::CountedRound& counted : rounds) {
    const SamplingScheme& scheme = counted.round.scheme;
    ASSIGN_OR_RETURN(const RoundNoise noise, NoiseOf(counted.round));
    for (const NoiseKind kind : noise.kinds) Assume(kind);
    composition_.schemes.insert(SchemeName(scheme));
    if (noise.rho > 0) {
      RETURN_IF_ERROR(AddDiscrete(scheme, noise, counted.count));
    } else if (!noise.gaussian.empty()) {
      RETURN_IF_ERROR(
          AddGaussian(scheme, noise.gaussian.multiplier(), counted.count, counted.writer));
    }
  }
  DescribePopulations(rounds);
  for (const auto& [key, noises] : std::exchange(disjoint_, {}))
    RETURN_IF_ERROR(AddDisjoint(key.rounds, TakenAlike(noises)));
  std::map<std::string, FixedBins, std::less<>> fixed;
  for (const auto& [key, counted] : std::exchange(allocated_, {})) {
    const NoiseCounts noises = TakenAlike(counted);
    if (key.fixed_bins) {
      FixedBins& run = fixed[std::string(History::WriterOf(key.owner))];
      run[{key.rounds, key.contributions}].push_back(noises);
    } else if (key.contributions > 1) {
      RETURN_IF_ERROR(AddTransversals(key.rounds, key.contributions, noises));
    } else {
      RETURN_IF_ERROR(AddAllocated(key.rounds, noises));
    }
  }
  for (const auto& [writer, run] : fixed) RETURN_IF_ERROR(AddFixedBins(run));
  return absl::OkStatus();
}

// Of discrete noise no more is known than zCDP, on the whole data or on a sample.
absl::Status Resolver::AddDiscrete(const SamplingScheme& scheme, const RoundNoise& noise,
                                   uint64_t count) {
  const double factor = static_cast<double>(neighbours_.group_size) * (replaces() ? 2 : 1);
  Concentrated whole{{MulUp(noise.rho, factor * factor), 0}};
  const auto* poisson = std::get_if<PoissonSampling>(&scheme.kind);
  const auto* fixed_size = std::get_if<WithoutReplacement>(&scheme.kind);
  const bool unsampled =
      std::holds_alternative<FullBatch>(scheme.kind) ||
      (poisson != nullptr && poisson->probability == 1) ||
      (fixed_size != nullptr && fixed_size->sample_size == scheme.population_size);
  if (unsampled) {
    RETURN_IF_ERROR(AddCurve(whole.above, count));
    return noise.gaussian.empty() ? absl::OkStatus()
                                  : AddUnsampled(noise.gaussian.multiplier(), count);
  }
  if ((poisson == nullptr || replaces()) && (fixed_size == nullptr || !replaces())) {
    return NoAnalysis(
        absl::StrCat("noise DISCRETE_GAUSSIAN on a sample by ", ToAbsl(SchemeName(scheme))));
  }
  RETURN_IF_ERROR(OnlySingleRecords("noise DISCRETE_GAUSSIAN on a sample"));
  if (!noise.gaussian.empty()) {  // on the same sample
    const Interval distance = Distance(noise.gaussian.multiplier());
    whole.above.rho = AddUp(whole.above.rho, MulUp(distance.upper(), distance.upper()) / 2);
    whole.rho = MulDown(distance.lower(), distance.lower()) / 2;
  }
  if (poisson != nullptr) {
    const double q = poisson->probability;
    return AddSampledCurve(SampleOf::kPoisson, {q, q}, whole, count);
  }
  return AddSampledCurve(SampleOf::kFixedSize,
                         ShareOf(fixed_size->sample_size, scheme.population_size), whole, count);
}

// If a record may be missing, the number of records is a secret: a population size that follows it
// tells neighbouring data sets apart.
void Resolver::DescribePopulations(const std::vector<History::CountedRound>& rounds) {
  uint64_t least = 0, greatest = 0;
  for (const History::CountedRound& counted : rounds) {
    const uint64_t population = counted.round.scheme.population_size;
    if (population == 0) continue;
    least = least == 0 ? population : std::min(least, population);
    greatest = std::max(greatest, population);
  }
  if (greatest == 0) return;
  if (neighbours_.adjacency == Adjacency::kAddOrRemoveOne) {
    composition_.assumptions.insert(
        "population_size, like divisors and numbers of steps, is a constant chosen beforehand, not "
        "the number of records at hand");
  }
  if (least == greatest) return;
  composition_.warnings.insert(absl::StrCat(
      "rounds state different populations, from ", least, " to ", greatest,
      ": one data set has one; if it was taken from the data at hand, or if a sampling probability "
      "was worked out with a wrong one, this answer is too small"));
}

absl::Status Resolver::AddGaussian(const SamplingScheme& scheme, Interval z, uint64_t count,
                                   const std::string& owner) {
  composition_.schemes.insert(SchemeName(scheme));
  const GaussianRounds rounds{scheme.population_size, z, count, owner};
  return std::visit([&](const auto& kind) { return kind.AddTo(*this, rounds); }, scheme.kind);
}

absl::Status FullBatch::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  return resolver.AddUnsampled(rounds.z, rounds.count);
}

absl::Status PoissonSampling::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  return resolver.AddPoisson(probability, rounds.z, rounds.count);
}

absl::Status WithoutReplacement::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  RETURN_IF_ERROR(resolver.OnlySingleRecords("sampling scheme without_replacement"));
  const Interval q = ShareOf(sample_size, rounds.population);
  if (resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    resolver.composition().assumptions.insert(kNoFewerRecords);
    // Where all were drawn, the neighbour has one record more.
    const double least = ShareOf(sample_size, std::max(rounds.population, sample_size + 1)).lower();
    return resolver.AddPoisson(Interval{least, q.upper()}, Half(rounds.z), rounds.count);
  }
  if (sample_size == rounds.population) return resolver.AddUnsampled(rounds.z, rounds.count);
  const Interval distance = resolver.Distance(rounds.z);
  const bool replaced = resolver.replaces();
  return resolver.AddPair(
      PairKey(kName, {rounds.population, sample_size}, rounds.z),
      replaced ? WithoutReplacementPair(q.upper(), distance.upper())
               : ZeroedWithoutReplacementPair(q.upper(), distance.upper(), Bound::kUpper),
      replaced ? SampledGaussianPair(q.lower(), distance.lower())
               : ZeroedWithoutReplacementPair(q.lower(), distance.lower(), Bound::kLower),
      rounds.count, std::nullopt, FixedSizeRound{q.upper(), Resolver::Apart(rounds.z).upper()});
}

absl::Status WithReplacement::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  RETURN_IF_ERROR(resolver.OnlySingleRecords("sampling scheme with_replacement"));
  const Interval apart = Resolver::Apart(rounds.z);
  const std::string key = PairKey(kName, {rounds.population, sample_size}, rounds.z);
  if (resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne) {
    resolver.composition().assumptions.insert(kNoFewerRecords);
    return resolver.AddPair(
        key,
        GroupSampledGaussianPair(sample_size, ShareOf(1, rounds.population).upper(), apart.upper(),
                                 Bound::kUpper),
        GroupSampledGaussianPair(sample_size,
                                 ShareOf(1, std::max<uint64_t>(rounds.population, 2)).lower(),
                                 apart.lower(), Bound::kLower),
        rounds.count);
  }
  return resolver.AddPair(
      key, WithReplacementPair(rounds.population, sample_size, apart.upper(), Bound::kUpper),
      WithReplacementPair(rounds.population, sample_size, resolver.Distance(rounds.z).lower(),
                          Bound::kLower),
      rounds.count);
}

absl::Status TruncatedPoisson::AddTo(Resolver& resolver, const GaussianRounds& rounds) const {
  RETURN_IF_ERROR(resolver.OnlySingleRecords("sampling scheme truncated_poisson"));
  const Interval one = {Quotient(1, rounds.z.upper()).lower(),
                        Quotient(1, rounds.z.lower()).upper()};
  if (max_sample_size >= rounds.population)
    return resolver.AddPoisson(probability, rounds.z, rounds.count);
  if (rounds.population > kGreatestPopulation) {
    return resolver.NoAnalysis("sampling scheme truncated_poisson from more than 10^10 records");
  }
  resolver.composition().assumptions.insert(
      "truncated_poisson: population_size is the exact size of the data set that has the record");
  const Neighbour neighbour = resolver.replaces() ? Neighbour::kOther
                              : resolver.neighbours().adjacency == Adjacency::kZeroOut
                                  ? Neighbour::kNull
                                  : Neighbour::kAbsent;
  const auto pair = [&](double distance, Bound bound) {
    return TruncatedPoissonPair(rounds.population, probability, max_sample_size, distance,
                                neighbour, bound);
  };
  return resolver.AddPair(
      PairKey("truncated_poisson",
              {rounds.population, std::bit_cast<uint64_t>(probability), max_sample_size}, rounds.z),
      pair(one.upper(), Bound::kUpper), pair(one.lower(), Bound::kLower), rounds.count);
}

}  // namespace dpledger::accountant
