#include "accountant/pld/steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
#include "accountant/pld/allocation.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// A loss grid longer than this would take longer to build than any transform of it; all grids
// together take at most about 256 MiB (two doubles an atom, and as many while they are directed).
constexpr size_t kGreatestAtoms = size_t{1} << 21;
constexpr size_t kGreatestAtomsTogether = size_t{1} << 23;
// Beyond that of an atom of a pair with few terms (pld/work.h).
constexpr double kWorkOfTerm = 30;

double WorkOfTermsOf(const Pair& pair) {
  size_t most = 0;
  for (const DensityPiece& piece : pair.pieces)
    most = std::max(most, piece.p.size() + piece.q.size());
  return kWorkOfTerm * static_cast<double>(most);
}

}  // namespace

DirectedLosses Discretised::In(Direction direction, Side side) const {
  std::vector<DirectedLoss> losses;
  losses.reserve(pairs.size());
  for (const Counted& c : pairs)
    losses.push_back(Directed(side == Side::kUpper ? c.upper : c.lower, c.count, direction, side));
  return {std::move(losses), step};
}

Steps::Steps(const Composition& composition, EpochLaws& laws)
    : allocations_(composition.allocations), laws_(laws) {
  symmetric_ = std::all_of(allocations_.begin(), allocations_.end(),
                           [](const AllocatedGaussian& epoch) { return epoch.replaced; });
  for (const SampledGaussian& s : composition.steps) {
    const double q = s.sampling_probability;
    const Interval z = s.noise_multiplier;
    symmetric_ &= q == 1;
    Step step{{}, std::nullopt, static_cast<double>(s.count)};
    if (z.lower() == z.upper()) {
      // 1/z is off by a rounding, which moves q e^{μt - μ²/2} by u·μ|t - μ|; grids end at |t| = 38
      // + μ.
      const double mu = 1 / z.lower();
      step.upper = SampledGaussianPair(q, mu);
      if (std::fma(mu, z.lower(), -1) != 0)
        step.upper.relative_error = 2 * kUnitRoundoff * mu * (2 * mu + 40);
    } else {
      step.upper = SampledGaussianPair(q, DivUp(1, z.lower()));
      step.lower = SampledGaussianPair(q, DivDown(1, z.upper()));
    }
    pairs_.push_back(std::move(step));
  }
  for (const PairStep& s : composition.pairs) {
    symmetric_ &= s.upper.symmetric && s.lower.symmetric;
    Step step{s.upper, std::nullopt, static_cast<double>(s.count)};
    if (!(s.lower == s.upper)) step.lower = s.lower;
    pairs_.push_back(std::move(step));
  }
}

double Steps::Aligned(double mesh) const {
  if (pairs_.size() == 1 && allocations_.empty() && pairs_[0].upper.pieces.empty()) {
    const double spacing = LatticeSpacing(pairs_[0].upper);
    // A lattice much finer than the mesh is thinned.
    if (spacing > 0 && spacing < 8)
      return spacing >= mesh / 16 ? spacing : spacing * std::floor(mesh / spacing);
  }
  for (const Step& step : pairs_) {
    const double spacing = LatticeSpacing(step.upper);
    if (spacing > mesh) return spacing / std::ceil(spacing / mesh);
    if (spacing > 0 && step.upper.pieces.empty() && spacing > 0.5 * mesh) return spacing;
  }
  return mesh;
}

double Steps::WorkOfTerms() const {
  double most = 0;
  for (const Step& step : pairs_) {
    most = std::fmax(most, WorkOfTermsOf(step.upper));
    if (step.lower.has_value()) most = std::fmax(most, WorkOfTermsOf(*step.lower));
  }
  return most;
}

double Steps::CoarsestMesh() const {
  double mesh = 0.05;
  for (const AllocatedGaussian& allocation : allocations_)
    mesh = std::fmin(mesh, CoarsestStep(allocation));
  return mesh;
}

absl::StatusOr<Discretised> Steps::Discretise(double mesh, double tail, std::optional<double> tilt,
                                              const Limits& limits) const {
  Discretised result;
  result.step = mesh;
  const size_t most =
      std::min(kGreatestAtoms, kGreatestAtomsTogether / (pairs_.size() + allocations_.size()));
  for (const Step& step : pairs_) {
    RETURN_IF_ERROR(limits.Check());
    ASSIGN_OR_RETURN(const Shares shares, Shares::Of(step.upper, mesh, tail, most, limits));
    Discretised::Counted counted{shares.Upper(), {}, step.count};
    result.work += WorkOfTermsOf(step.upper) * static_cast<double>(counted.upper.mass.size());
    if (step.lower.has_value()) {
      ASSIGN_OR_RETURN(const Shares less, Shares::Of(*step.lower, mesh, tail, most, limits));
      counted.lower = less.Lower();
      result.work += WorkOfTermsOf(*step.lower) * static_cast<double>(counted.lower.mass.size());
    } else {
      counted.lower = shares.Lower();
    }
    result.pairs.push_back(std::move(counted));
  }
  for (const AllocatedGaussian& allocation : allocations_) {
    ASSIGN_OR_RETURN(Allocation both, Allocate(allocation, mesh, tail, tilt, most,
                                               allocations_.size(), laws_, limits));
    result.work += both.work;
    result.pairs.push_back(
        {std::move(both.upper), std::move(both.lower), static_cast<double>(allocation.count)});
  }
  for (Discretised::Counted& counted : result.pairs) {
    // The least that a step reveals is nothing: one outcome, of mass one.
    const std::vector<double>& mass = counted.lower.mass;
    if (std::all_of(mass.begin(), mass.end(), [](double m) { return m == 0; }) &&
        counted.lower.remove_infinity == 0 && counted.lower.add_infinity == 0) {
      counted.lower = {0, mesh, {1}, 0, 0, 0};
    }
  }
  return result;
}

absl::StatusOr<Sketch> Steps::Draw(double tail, const Limits& limits) const {
  Sketch sketch;
  for (const Step& step : pairs_) sketch.Add(step.upper, step.count);
  for (const AllocatedGaussian& allocation : allocations_) {
    ASSIGN_OR_RETURN(const Pair coarse, CoarsePair(allocation, tail, laws_, limits));
    sketch.Add(coarse, static_cast<double>(allocation.count), ExcessOf(allocation));
  }
  return sketch;
}

}  // namespace dpledger::accountant::pld
