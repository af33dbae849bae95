#include "accountant/mechanism/composition.h"

#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr uint64_t kGreatestCount = uint64_t{1} << 53;
constexpr char kFloatingPointNoise[] =
    "floating-point noise: GAUSSIAN noise is taken to be real-valued and added exactly";

absl::Status NoAnalysis(std::string what, Adjacency adjacency) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat(what, ": no analysis under ", AdjacencyName(adjacency),
                                     "; it is refused, not approximated")),
                    {"NO_ANALYSIS", {{"subject", what}, {"adjacency", AdjacencyName(adjacency)}}});
}

absl::StatusOr<uint64_t> Multiply(uint64_t a, uint64_t b) {
  if (a != 0 && b > kGreatestCount / a) {
    return WithReason(absl::FailedPreconditionError(
                          "the nested counts of a mechanism multiply to more than 2^53"),
                      {"COUNT_TOO_LARGE", {}});
  }
  return a * b;
}

// a / b as an interval; a point where the quotient is exact, so that σ = 2, S = 1 stays z = 2.
Interval Quotient(double a, double b) {
  const double quotient = a / b;
  if (std::fma(quotient, b, -a) == 0) return {quotient, quotient};
  return {NextDown(quotient), NextUp(quotient)};
}

// Noise multipliers whose squares stay far from the ends of doubles.
constexpr double kLeastNoise = 1e-100, kGreatestNoise = 1e100;

// (Σ_i count_i z_i^-2)^(-1/2): the noise multiplier of several Gaussian queries on one sample
// (McMahan et al. 2018, arXiv 1812.06210, eq. 1).
class JointNoise {
 public:
  absl::Status Add(Interval z, uint64_t count) {
    if (!(z.lower >= kLeastNoise && z.upper <= kGreatestNoise)) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            "a noise multiplier of ", z.upper, ": outside [1e-100, 1e100], ",
                            "no analysis; it is refused, not approximated")),
                        {"NO_ANALYSIS", {{"subject", "noise multiplier"}}});
    }
    if (empty_ && count == 1) single_ = z;
    one_ = empty_ && count == 1;
    empty_ = false;
    const double n_up = NextUp(static_cast<double>(count)),
                 n_down = NextDown(static_cast<double>(count));
    precision_.upper = AddUp(precision_.upper, DivUp(n_up, MulDown(z.lower, z.lower)));
    precision_.lower = AddDown(precision_.lower, DivDown(n_down, MulUp(z.upper, z.upper)));
    return absl::OkStatus();
  }
  bool empty() const { return empty_; }
  Interval multiplier() const {
    if (one_) return single_;
    return {DivDown(1, NextUp(std::sqrt(precision_.upper))),
            DivUp(1, NextDown(std::sqrt(precision_.lower)))};
  }

 private:
  bool empty_ = true;
  bool one_ = false;  // exactly one query: its own multiplier, without the roundings of the sum
  Interval single_;
  Interval precision_{0, 0};
};

class Resolver {
 public:
  explicit Resolver(Adjacency adjacency) { composition_.adjacency = adjacency; }

  absl::Status AddRound(const Round& round, uint64_t count) {
    const std::string scheme = SchemeName(round.scheme);
    double q;
    if (std::holds_alternative<FullBatch>(round.scheme.kind)) {
      q = 1;
    } else if (const auto* poisson = std::get_if<PoissonSampling>(&round.scheme.kind)) {
      q = poisson->probability;
    } else {
      return NoAnalysis(absl::StrCat("sampling scheme ", scheme), composition_.adjacency);
    }
    JointNoise noise;
    for (const SumQuery& query : round.queries) {
      switch (query.noise) {
        case NoiseKind::kGaussian:
          composition_.assumptions.insert(kFloatingPointNoise);
          break;
        case NoiseKind::kRoundedGaussian:
          break;
        case NoiseKind::kDiscreteGaussian:
          return NoAnalysis("noise DISCRETE_GAUSSIAN", composition_.adjacency);
      }
      RETURN_IF_ERROR(noise.Add(Quotient(query.noise_stddev, query.l2_norm_bound), 1));
    }
    composition_.schemes.insert(scheme);
    return noise.empty() ? absl::OkStatus() : AddStep(q, noise.multiplier(), count);
  }

  absl::Status AddMechanism(const Mechanism& mechanism, uint64_t outer_count) {
    ASSIGN_OR_RETURN(const uint64_t count, Multiply(mechanism.count, outer_count));
    if (std::holds_alternative<NoOp>(mechanism.kind)) return absl::OkStatus();
    if (std::holds_alternative<NonPrivate>(mechanism.kind)) {
      composition_.non_private = true;
      return absl::OkStatus();
    }
    if (const auto* gaussian = std::get_if<Gaussian>(&mechanism.kind)) {
      composition_.schemes.insert("full_batch");
      composition_.assumptions.insert(kFloatingPointNoise);
      JointNoise noise;
      RETURN_IF_ERROR(noise.Add({gaussian->noise_multiplier, gaussian->noise_multiplier}, 1));
      return AddStep(1, noise.multiplier(), count);
    }
    if (const auto* sampled = std::get_if<PoissonSampled>(&mechanism.kind))
      return AddSampled(*sampled, count);
    if (const auto* self = std::get_if<SelfComposed>(&mechanism.kind)) {
      ASSIGN_OR_RETURN(const uint64_t inner, Multiply(self->count, count));
      return AddMechanism(self->event.front(), inner);
    }
    if (const auto* composed = std::get_if<Composed>(&mechanism.kind)) {
      for (const Mechanism& event : composed->events) RETURN_IF_ERROR(AddMechanism(event, count));
      return absl::OkStatus();
    }
    return NoAnalysis(absl::StrCat("mechanism ", std::get<NotAnalysed>(mechanism.kind).name),
                      composition_.adjacency);
  }

  Composition Finish() && {
    for (const auto& [key, count] : counts_) {
      composition_.steps.push_back({std::get<0>(key), {std::get<1>(key), std::get<2>(key)}, count});
    }
    return std::move(composition_);
  }

 private:
  absl::Status AddStep(double q, Interval z, uint64_t count) {
    if (composition_.adjacency == Adjacency::kReplaceOne) {
      if (q < 1) return NoAnalysis("Poisson-sampled Gaussian", composition_.adjacency);
      z = {z.lower / 2, z.upper / 2};  // exact
    }
    uint64_t& total = counts_[{q, z.lower, z.upper}];
    if (count > kGreatestCount - total) {
      return WithReason(absl::FailedPreconditionError("more than 2^53 equal rounds"),
                        {"COUNT_TOO_LARGE", {}});
    }
    total += count;
    return absl::OkStatus();
  }

  // Several Gaussian mechanisms on one sample are one Gaussian mechanism on it.
  absl::Status AddSampled(const PoissonSampled& sampled, uint64_t count) {
    JointNoise noise;
    RETURN_IF_ERROR(CollectGaussians(sampled.event.front(), 1, noise));
    if (noise.empty()) return absl::OkStatus();
    composition_.schemes.insert("poisson");
    composition_.assumptions.insert(kFloatingPointNoise);
    return AddStep(sampled.sampling_probability, noise.multiplier(), count);
  }

  absl::Status CollectGaussians(const Mechanism& mechanism, uint64_t outer_count,
                                JointNoise& noise) {
    ASSIGN_OR_RETURN(const uint64_t count, Multiply(mechanism.count, outer_count));
    if (std::holds_alternative<NoOp>(mechanism.kind)) return absl::OkStatus();
    if (const auto* gaussian = std::get_if<Gaussian>(&mechanism.kind)) {
      return noise.Add({gaussian->noise_multiplier, gaussian->noise_multiplier}, count);
    }
    if (const auto* self = std::get_if<SelfComposed>(&mechanism.kind)) {
      ASSIGN_OR_RETURN(const uint64_t inner, Multiply(self->count, count));
      return CollectGaussians(self->event.front(), inner, noise);
    }
    if (const auto* composed = std::get_if<Composed>(&mechanism.kind)) {
      for (const Mechanism& event : composed->events)
        RETURN_IF_ERROR(CollectGaussians(event, count, noise));
      return absl::OkStatus();
    }
    return NoAnalysis("mechanism poisson_sampled of anything but Gaussians",
                      composition_.adjacency);
  }

  std::map<std::tuple<double, double, double>, uint64_t> counts_;  // by (q, z.lower, z.upper)
  Composition composition_;
};

}  // namespace

double Composition::TotalCount() const {
  double total = 0;
  const auto add = [&total](const auto& list) {
    for (const auto& step : list) total += static_cast<double>(step.count);
  };
  add(steps);
  add(pairs);
  add(allocations);
  add(curves);
  return total;
}

absl::StatusOr<Composition> Resolve(const History& history, Adjacency adjacency) {
  Resolver resolver(adjacency);
  for (const History::CountedRound& counted : history.Rounds()) {
    RETURN_IF_ERROR(resolver.AddRound(counted.round, counted.count));
  }
  for (const Mechanism& mechanism : history.Mechanisms())
    RETURN_IF_ERROR(resolver.AddMechanism(mechanism, 1));
  return std::move(resolver).Finish();
}

}  // namespace dpledger::accountant
