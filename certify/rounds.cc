// Rounds of sum queries as steps, and steps whose loss has no closed form.
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "certify/allocation.h"
#include "certify/copies.h"
#include "certify/steps.h"

namespace dpledger::certify {
namespace {

constexpr size_t kMostEnclosed = 4;  // different ones
constexpr double kManyRounds = 1e5;  // that may ignore a part of δ each
constexpr double kManyEpochs = 10;

bool Same(const Ball& a, const Ball& b) { return arb_equal(a.get(), b.get()); }

}  // namespace

absl::Status AddRuns(double more, double& runs) {
  if (more > kMostRuns - runs) return Unknown("more than 2^53 runs");
  runs += more;
  return absl::OkStatus();
}

absl::Status Steps::AddGaussian(const Ball& one_record, const Sampling& sampling, double count) {
  const Ball& q = sampling.q;
  const Ball square = one_record * sampling.times * sampling.times;
  if (CertainlyAtMost(1.0, q)) {
    above_.variance = above_.variance + square * Times() * Times() * count;
    return absl::OkStatus();
  }
  const Ball mu = Sqrt(square);
  if (sampling.draws > 1 || to_.group_size > 1)
    return AddCopies(mu, q, sampling.draws * to_.group_size, count);
  const auto against =
      replaced() ? SampledGaussian::Against::kOpposite : SampledGaussian::Against::kNothing;
  for (SampledGaussian& step : above_.sampled) {
    if (!Same(step.q, q) || !Same(step.mu, mu)) continue;
    return AddRuns(count, step.count);
  }
  if (count > kMostRuns) return Unknown("more than 2^53 runs");
  if (above_.sampled.size() == kMostKinds) return Unknown("more than 64 kinds of sampled steps");
  above_.sampled.push_back({q, mu, against, count});
  return absl::OkStatus();
}

absl::Status Steps::AddRound(const Ball& one_record, const Sampling& sampling) {
  if (!sampling.of_epoch()) return AddGaussian(one_record, sampling, 1);
  const bool released = CertainlyPositive(one_record);
  if (!released && sampling.in != Sampling::In::kSomeRound)
    return Unknown("an epoch that is not whole");
  const auto [place, is_first] =
      begun_.try_emplace(sampling.incarnation, BegunEpoch{sampling, one_record, 0});
  BegunEpoch& begun = place->second;
  if (begun.sampling.epoch != sampling.epoch) {
    RETURN_IF_ERROR(Finish(begun));
    if (sampling.epoch < begun.sampling.epoch) return Unknown("epochs that go back");
    begun = {sampling, one_record, 0};
  } else if (begun.count == 0 && !is_first) {
    return Unknown("an epoch beside whole ones");
  }
  if (!CertainlyPositive(begun.one_record)) begun.one_record = one_record;
  if (begun.sampling.in != sampling.in || begun.sampling.rounds != sampling.rounds ||
      begun.sampling.population != sampling.population ||
      (released && !Same(begun.one_record, one_record)))
    return Unknown("an epoch of unequal rounds");
  if (++begun.count > sampling.rounds) return Unknown("more rounds than their epoch has");
  return absl::OkStatus();
}

absl::Status Steps::AddRounds(const Ball& one_record, const Sampling& sampling, double count) {
  if (!sampling.of_epoch()) return AddGaussian(one_record, sampling, count);
  const double rounds = static_cast<double>(sampling.rounds);
  if (std::fmod(count, rounds) != 0) {
    return FieldError("count",
                      absl::StrCat("must be a multiple of the epoch's rounds, ", sampling.rounds));
  }
  // Rounds of the same number that come later are none of these epochs.
  BegunEpoch& begun = begun_[sampling.incarnation];
  RETURN_IF_ERROR(Finish(begun));
  begun.sampling = sampling;
  return AddEpochs(one_record, sampling, count / rounds);
}

// Whole, an epoch has each of its rounds once; of a partition several tell no more than one.
absl::Status Steps::Finish(BegunEpoch& begun) {
  const uint64_t count = std::exchange(begun.count, 0);
  if (count == 0) return absl::OkStatus();
  if (count != begun.sampling.rounds && begun.sampling.in != Sampling::In::kSomeRound)
    return Unknown("an epoch that is not whole");
  return AddEpochs(begun.one_record, begun.sampling, 1);
}

absl::Status Steps::AddEpochs(const Ball& one_record, const Sampling& sampling, double epochs) {
  switch (sampling.in) {
    case Sampling::In::kSomeRound:
      return AddGaussian(one_record, {}, epochs);
    case Sampling::In::kFixedRound: {
      FixedBins& bins =
          fixed_.try_emplace(sampling.writer, FixedBins{sampling.rounds, sampling.population, 0.0})
              .first->second;
      if (bins.rounds != sampling.rounds || bins.population != sampling.population)
        return Unknown("fixed bins that change");
      bins.one_record = bins.one_record + one_record * epochs;
      return absl::OkStatus();
    }
    default:
      return AddAllocated(one_record, sampling.rounds, epochs);
  }
}

absl::Status Steps::FinishEpochs() {
  for (auto& [incarnation, begun] : begun_) RETURN_IF_ERROR(Finish(begun));
  for (const auto& [writer, bins] : fixed_)
    RETURN_IF_ERROR(AddAllocated(bins.one_record, bins.rounds, 1));
  return absl::OkStatus();
}

absl::Status Steps::AddAllocated(const Ball& one_record, uint64_t rounds, double epochs) {
  const std::string name = absl::StrCat("allocation ", rounds, " ", one_record.Exactly());
  return AddEnclosed(name, epochs, [&] {
    const Closeness close = {closeness_.ignored / std::fmax(epochs, kManyEpochs),
                             closeness_.places};
    return EncloseAllocation(Sqrt(one_record), rounds, close);
  });
}

absl::Status Steps::AddCopies(const Ball& mu, const Ball& q, uint64_t draws, double count) {
  if (replaced()) return Unknown("samples with replacement, or for groups, under replace-one");
  const std::string name = absl::StrCat("copies ", draws, " ", q.Exactly(), " ", mu.Exactly());
  return AddEnclosed(name, count, [&] {
    const Closeness close = {closeness_.ignored / kManyRounds, closeness_.places};
    return EncloseCopies(mu, q, draws, close);
  });
}

absl::Status Steps::AddEnclosed(const std::string& name, double count,
                                absl::FunctionRef<absl::StatusOr<Enclosed>()> make) {
  for (EnclosedStep& known : enclosed_) {
    if (known.name != name) continue;
    RETURN_IF_ERROR(AddRuns(count, known.below.count));
    return AddRuns(count, above_.pairs[known.place].count);
  }
  if (enclosed_.size() == kMostEnclosed)
    return Unknown("more than 4 different losses that have no closed form");
  ASSIGN_OR_RETURN(Enclosed one, make());
  one.above.count = one.below.count = count;
  above_alone_.insert(above_.pairs.size());
  enclosed_.push_back({name, above_.pairs.size(), std::move(one.below)});
  above_.pairs.push_back(std::move(one.above));
  return absl::OkStatus();
}

absl::StatusOr<Ball> Steps::Square(const v1::SumQuery& query) const {
  RETURN_IF_ERROR(rules::Positive("l2_norm_bound", query.l2_norm_bound()));
  RETURN_IF_ERROR(rules::Positive("noise_stddev", query.noise_stddev()));
  if (query.noise() != v1::GAUSSIAN && query.noise() != v1::ROUNDED_GAUSSIAN)
    return Unknown("noise of the kind DISCRETE_GAUSSIAN");
  if (query.noise() == v1::ROUNDED_GAUSSIAN) {
    RETURN_IF_ERROR(rules::Positive("grid", query.grid()));
    RETURN_IF_ERROR(rules::WholeDouble("l2_norm_bound", query.l2_norm_bound()));
    RETURN_IF_ERROR(rules::WholeDouble("noise_stddev", query.noise_stddev()));
  } else {
    RETURN_IF_ERROR(rules::Must(query.grid() == 0, "be 0 unless noise is ROUNDED_GAUSSIAN", "grid",
                                query.grid()));
  }
  const Ball mu = Ball(query.l2_norm_bound()) / query.noise_stddev();
  return mu * mu;
}

Steps::Sampling Steps::OfEpoch(Sampling::In in, uint64_t rounds, uint64_t epoch,
                               const v1::SamplingScheme& scheme) {
  Sampling sampling;
  sampling.in = in, sampling.rounds = rounds, sampling.population = scheme.population_size();
  sampling.epoch = epoch;
  return sampling;
}

absl::StatusOr<Steps::Sampling> Steps::SamplingOf(const v1::SamplingScheme& scheme) const {
  if (scheme.has_full_batch()) return Sampling{};
  // Of a batch of fixed size one record more takes another's place.
  if (scheme.has_without_replacement() && to_.adjacency == v1::ADD_OR_REMOVE_ONE &&
      to_.group_size == 1) {
    const uint64_t size = scheme.without_replacement().sample_size();
    const uint64_t population = scheme.population_size();
    RETURN_IF_ERROR(rules::Count("scheme.population_size", population));
    if (size >= 1 && size < population) {
      return Sampling{Ball(static_cast<double>(size)) / static_cast<double>(population), 2};
    }
  }
  if (scheme.has_random_allocation() && !replaced() && to_.group_size == 1) {
    const v1::RandomAllocation& allocation = scheme.random_allocation();
    const uint64_t rounds = allocation.rounds_per_epoch();
    RETURN_IF_ERROR(rules::Count("scheme.random_allocation.rounds_per_epoch", rounds));
    const bool fixed = allocation.fixed_bins();
    if (allocation.contributions() <= 1) {
      return OfEpoch(fixed ? Sampling::In::kFixedRound : Sampling::In::kRandomRound, rounds,
                     allocation.epoch(), scheme);
    }
  }
  if (scheme.has_disjoint_batches() && to_.adjacency != v1::ADD_OR_REMOVE_ONE) {
    const v1::DisjointBatches& batches = scheme.disjoint_batches();
    RETURN_IF_ERROR(
        rules::Count("scheme.disjoint_batches.batches_per_epoch", batches.batches_per_epoch()));
    return OfEpoch(Sampling::In::kSomeRound, batches.batches_per_epoch(), batches.epoch(), scheme);
  }
  if (scheme.has_with_replacement() && to_.adjacency == v1::ADD_OR_REMOVE_ONE &&
      to_.group_size == 1) {
    const uint64_t draws = scheme.with_replacement().sample_size();
    const uint64_t population = scheme.population_size();
    RETURN_IF_ERROR(rules::Count("scheme.with_replacement.sample_size", draws));
    RETURN_IF_ERROR(rules::Count("scheme.population_size", population));
    RETURN_IF_ERROR(rules::WholeIn(1, population, "scheme.with_replacement.sample_size", draws));
    if (population > 1) {
      return Sampling{Ball(1.0) / static_cast<double>(population), 2, draws};
    }
  }
  if (!scheme.has_poisson()) {
    const auto* field = scheme.GetReflection()->GetOneofFieldDescriptor(
        scheme, scheme.GetDescriptor()->FindOneofByName("kind"));
    if (field == nullptr) return FieldError("scheme.kind", "must be set");
    return Unknown(absl::StrCat("the sampling scheme ", field->name()));
  }
  const double q = scheme.poisson().probability();
  RETURN_IF_ERROR(rules::SamplingProbability("scheme.poisson.probability", q));
  return Sampling{q};
}

}  // namespace dpledger::certify
