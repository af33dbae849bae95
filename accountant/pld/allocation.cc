#include "accountant/pld/allocation.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "accountant/allocation/ratio_law.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/replaced_epochs.h"
#include "accountant/pld/work.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Meshes of laws: for a first look, the coarsest and the finest to answer by, some tenths of a
// second.
constexpr double kFirstLook = 0.1, kCoarsest = 0.03, kFinest = 0.003;

// The shares of the limits that one discretisation and a first look take, by coarser laws where
// that takes more work, but not by laws coarser than kCoarsestLaw.
constexpr double kShareOfLimits = 0.6, kShareOfLook = 0.05, kCoarsestLaw = 0.2;
// For replaced records: steps of the loss grid between values of the profile.
constexpr double kSpacing = 2;

// Of the ratio's law under Q; at most one, as its far jumps are relative ones.
double Variance(const AllocatedGaussian& epoch) {
  if (epoch.replaced) return SpreadOf(epoch) * SpreadOf(epoch);
  const double mu = 1 / epoch.noise_multiplier.lower();
  return std::fmin(1, std::expm1(mu * mu) / static_cast<double>(epoch.rounds));
}

// A law of mesh 1 has a variance that is off by kLawsShare times what a loss grid of this step
// adds: log2 t/3 of the variance, and step²/12. Both shrink together.
double StepOfMeshOne(const AllocatedGaussian& epoch) {
  const double levels = std::log2(static_cast<double>(epoch.rounds)) + 1;
  return std::sqrt(4 * Variance(epoch) * levels / kLawsShare);
}

using SharedLaw = std::shared_ptr<const allocation::RatioLaw>;

absl::StatusOr<SharedLaw> UpperOf(const AllocatedGaussian& epoch, double mesh, double tail,
                                  EpochLaws& laws, const Limits& limits) {
  return laws.Upper({epoch.rounds, DivUp(1, epoch.noise_multiplier.lower()), epoch.missing}, mesh,
                    tail, limits);
}

absl::StatusOr<Allocation> AllocateReplaced(const AllocatedGaussian& epoch, double step,
                                            const Wanted& wanted, size_t max_atoms,
                                            double most_work, EpochLaws& laws,
                                            const Limits& limits) {
  Allocation result;
  ASSIGN_OR_RETURN(const ReplacedPairs pairs,
                   PairsOf(epoch, Sides::kBoth, wanted, most_work, laws, limits));
  ASSIGN_OR_RETURN(const Shares upper,
                   Shares::Of(pairs.upper, step, wanted.tail, max_atoms, limits));
  ASSIGN_OR_RETURN(const Shares lower,
                   Shares::Of(pairs.lower, step, wanted.tail, max_atoms, limits));
  result.upper = upper.Upper();
  result.lower = lower.Lower();
  result.work = pairs.work;
  return result;
}

}  // namespace

absl::StatusOr<Allocation> Allocate(const AllocatedGaussian& epoch, double step, double tail,
                                    std::optional<double> tilt, size_t max_atoms, size_t among,
                                    EpochLaws& laws, const Limits& limits) {
  double mesh = std::clamp(step / StepOfMeshOne(epoch), kFinest, kCoarsest);
  const double most_work = kShareOfLimits * limits.max_grid_work / static_cast<double>(among);
  if (epoch.replaced) {
    return AllocateReplaced(epoch, step, {kSpacing * step, mesh, tail, tilt}, max_atoms, most_work,
                            laws, limits);
  }
  Allocation result;
  const double before = laws.work();
  ASSIGN_OR_RETURN(const SharedLaw look, UpperOf(epoch, kFirstLook, tail, laws, limits));
  // Both laws together, as their work goes with the mesh.
  const double looks = 2 * kWorkOfProduct * look->products / most_work;
  mesh = std::fmax(mesh, std::fmin(kCoarsestLaw, kFirstLook * std::sqrt(looks)));
  ASSIGN_OR_RETURN(const SharedLaw above, UpperOf(epoch, mesh, tail, laws, limits));
  result.work = laws.work() - before;
  ASSIGN_OR_RETURN(const Shares upper, Shares::Of(*above, step, max_atoms));
  result.upper = upper.Upper();
  if (std::isinf(epoch.noise_multiplier.upper())) {
    result.lower = DiscretePair::Merged(step, 0, 0);
    return result;
  }
  ASSIGN_OR_RETURN(
      const SharedLaw below,
      laws.Lower({epoch.rounds, DivDown(1, epoch.noise_multiplier.upper()), epoch.missing}, mesh,
                 tail, limits));
  result.work = laws.work() - before;
  ASSIGN_OR_RETURN(const Shares lower, Shares::Of(*below, step, max_atoms));
  result.lower = lower.Lower();
  return result;
}

// Values of a profile that are kSpacing steps apart add kSpacing² of what a grid of losses does.
double ExcessOf(const AllocatedGaussian& epoch) {
  return 1 + kLawsShare + (epoch.replaced ? kSpacing * kSpacing : 0);
}

double CoarsestStep(const AllocatedGaussian& epoch) { return kCoarsest * StepOfMeshOne(epoch); }

absl::StatusOr<Pair> CoarsePair(const AllocatedGaussian& epoch, double tail, EpochLaws& laws,
                                const Limits& limits) {
  if (epoch.replaced) {
    ASSIGN_OR_RETURN(
        const ReplacedPairs pairs,
        PairsOf(epoch, Sides::kUpper, {SpreadOf(epoch) / 2, kFirstLook, tail, std::nullopt},
                kShareOfLook * limits.max_grid_work, laws, limits));
    return pairs.upper;
  }
  ASSIGN_OR_RETURN(const SharedLaw law, UpperOf(epoch, kFirstLook, tail, laws, limits));
  Pair pair;
  for (size_t j = 0; j < law->q.size(); ++j)
    pair.atoms.push_back({law->q[j] * law->ratio[j], law->q[j]});
  return pair;
}

}  // namespace dpledger::accountant::pld
