// Rounds of sum queries, by sampling scheme.
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
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
      noise.rho = AddUp(noise.rho, DivUp(0.5, MulDown(z.lower, z.lower)));
      continue;
    }
    RETURN_IF_ERROR(noise.gaussian.Add(z, 1));
  }
  return noise;
}

bool IsEpochScheme(const SamplingScheme& scheme) {
  return std::holds_alternative<DisjointBatches>(scheme.kind) ||
         std::holds_alternative<RandomAllocation>(scheme.kind);
}

std::string Key(std::string_view name, std::initializer_list<uint64_t> whole, Interval z) {
  std::string key(name);
  for (const uint64_t value : whole) absl::StrAppend(&key, " ", value);
  absl::StrAppend(&key, " ", absl::Hex(std::bit_cast<uint64_t>(z.lower)), " ",
                  absl::Hex(std::bit_cast<uint64_t>(z.upper)));
  return key;
}

}  // namespace

absl::Status Resolver::AddRounds(const std::vector<History::CountedRound>& rounds) {
  std::vector<History::CountedRound> of_epochs;
  for (const History::CountedRound& counted : rounds) {
    const SamplingScheme& scheme = counted.round.scheme;
    if (IsEpochScheme(scheme)) {
      of_epochs.push_back(counted);
      continue;
    }
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
      RETURN_IF_ERROR(AddGaussian(scheme, noise.gaussian.multiplier(), counted.count));
    }
  }
  return AddEpochs(of_epochs);
}

absl::Status Resolver::AddGaussian(const SamplingScheme& scheme, Interval z, uint64_t count) {
  composition_.schemes.insert(SchemeName(scheme));
  if (std::holds_alternative<FullBatch>(scheme.kind)) return AddUnsampled(z, count);
  if (const auto* poisson = std::get_if<PoissonSampling>(&scheme.kind)) {
    return AddPoisson(poisson->probability, z, count);
  }
  if (const auto* fixed = std::get_if<FixedSizeSampling>(&scheme.kind)) {
    return AddFixedSize(*fixed, scheme.population_size, z, count);
  }
  return AddTruncated(std::get<TruncatedPoisson>(scheme.kind), scheme.population_size, z, count);
}

absl::Status Resolver::AddFixedSize(const FixedSizeSampling& scheme, uint64_t population,
                                    Interval z, uint64_t count) {
  const std::string name = scheme.with_replacement ? "with_replacement" : "without_replacement";
  if (!replaces() || neighbours_.group_size != 1) {
    return NoAnalysis(absl::StrCat("sampling scheme ", name));
  }
  const Interval distance = Distance(z);
  const std::string key = Key(name, {population, scheme.sample_size}, z);
  if (scheme.with_replacement) {
    return AddPair(
        key, WithReplacementPair(population, scheme.sample_size, distance.upper, Bound::kUpper),
        WithReplacementPair(population, scheme.sample_size, distance.lower, Bound::kLower), count);
  }
  if (scheme.sample_size == population) return AddUnsampled(z, count);
  const Interval q =
      Quotient(static_cast<double>(scheme.sample_size), static_cast<double>(population));
  return AddPair(key, WithoutReplacementPair(q.upper, distance.upper),
                 SampledGaussianPair(q.lower, distance.lower), count);
}

absl::Status Resolver::AddTruncated(const TruncatedPoisson& scheme, uint64_t population, Interval z,
                                    uint64_t count) {
  RETURN_IF_ERROR(OnlySingleRecords("sampling scheme truncated_poisson"));
  const Interval one = {Quotient(1, z.upper).lower, Quotient(1, z.lower).upper};
  if (scheme.max_sample_size >= population) return AddPoisson(scheme.probability, z, count);
  if (population > kGreatestPopulation) {
    return NoAnalysis("sampling scheme truncated_poisson from more than 10^10 records");
  }
  composition_.assumptions.insert(
      "truncated_poisson: population_size is the exact size of the data set that has the record");
  const Neighbour neighbour = replaces()                                     ? Neighbour::kOther
                              : neighbours_.adjacency == Adjacency::kZeroOut ? Neighbour::kNull
                                                                             : Neighbour::kAbsent;
  const auto pair = [&](double distance, Bound bound) {
    return TruncatedPoissonPair(population, scheme.probability, scheme.max_sample_size, distance,
                                neighbour, bound);
  };
  return AddPair(
      Key("truncated_poisson",
          {population, std::bit_cast<uint64_t>(scheme.probability), scheme.max_sample_size}, z),
      pair(one.upper, Bound::kUpper), pair(one.lower, Bound::kLower), count);
}

// The rounds of one writer's epoch belong together: the unit of account is the epoch, and a partial
// one counts as whole. Rounds of an epoch that differ in noise are all taken to have the least.
absl::Status Resolver::AddEpochs(const std::vector<History::CountedRound>& rounds) {
  struct Epoch {
    uint64_t rounds = 0;
    Interval z;
  };
  // By writer, kind of scheme, population, rounds an epoch, and the epoch's number.
  std::map<std::tuple<std::string, size_t, uint64_t, uint64_t, uint64_t>, Epoch> epochs;
  for (const History::CountedRound& counted : rounds) {
    const SamplingScheme& scheme = counted.round.scheme;
    const std::string name = SchemeName(scheme);
    ASSIGN_OR_RETURN(const RoundNoise noise, NoiseOf(counted.round));
    if (noise.rho > 0) return NoAnalysis("noise DISCRETE_GAUSSIAN on a sample");
    const auto* batches = std::get_if<DisjointBatches>(&scheme.kind);
    if (batches != nullptr && neighbours_.adjacency == Adjacency::kAddOrRemoveOne) {
      return NoAnalysis(
          "sampling scheme disjoint_batches (removing a record shifts the other batches; declare "
          "ZERO_OUT or REPLACE_ONE)");
    }
    if (batches == nullptr && (replaces() || neighbours_.group_size != 1)) {
      return NoAnalysis("sampling scheme random_allocation");
    }
    for (const NoiseKind kind : noise.kinds) Assume(kind);
    composition_.schemes.insert(name);
    const auto& allocation = std::get_if<RandomAllocation>(&scheme.kind);
    const Interval z = noise.gaussian.multiplier();
    Epoch& epoch =
        epochs[{counted.writer, scheme.kind.index(), scheme.population_size,
                batches != nullptr ? batches->batches_per_epoch : allocation->rounds_per_epoch,
                batches != nullptr ? batches->epoch : allocation->epoch}];
    epoch.z = epoch.rounds == 0
                  ? z
                  : Interval{std::fmin(epoch.z.lower, z.lower), std::fmin(epoch.z.upper, z.upper)};
    RETURN_IF_ERROR(AddCount(counted.count, epoch.rounds));
  }
  std::map<std::tuple<uint64_t, double, double>, uint64_t> allocations;
  for (const auto& [key, epoch] : epochs) {
    const uint64_t size = std::get<3>(key);
    const uint64_t count = epoch.rounds / size + (epoch.rounds % size == 0 ? 0 : 1);
    if (epoch.rounds % size != 0) {
      composition_.warnings.insert("a partial epoch is accounted as a whole one");
    }
    const bool is_disjoint = std::get<1>(key) == SamplingScheme{0, DisjointBatches{}}.kind.index();
    if (is_disjoint || size == 1) {
      RETURN_IF_ERROR(AddUnsampled(epoch.z, count));
    } else {
      RETURN_IF_ERROR(AddCount(count, allocations[{size, epoch.z.lower, epoch.z.upper}]));
    }
  }
  for (const auto& [key, count] : allocations) {
    composition_.allocations.push_back(
        {std::get<0>(key), {std::get<1>(key), std::get<2>(key)}, count});
  }
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
