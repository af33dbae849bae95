#include "accountant/recursion/fixed_size.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/shifted_sum.h"
#include "accountant/pair/profile_pair.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// One or two rounds are as their own pairs have them; a rate or distance beyond these leaves
// doubles or says nothing.
constexpr uint64_t kFewestRounds = 4;
constexpr double kLeastDistance = 1e-3, kGreatestDistance = 10, kGreatestShare = 0.999;
constexpr double kLeastNegligible = 1e-200;
// Ways to cut the rounds, the best first: parts of a right angle, rounds in a block, and the mesh
// in standard deviations of one round's loss. At q = .01, z = 2 and δ = 1e-6 cells by 8, 6, 5 and 4
// angles add .1, .3, .7 and 2 % to ε, blocks of 250 rounds about 1 %, as 1/√rounds, and meshes half
// a part in 12/mesh².
struct Cut {
  int angles;
  uint64_t rounds;
  double mesh;
};
constexpr Cut kCuts[] = {{8, 2000, 0.05}, {8, 2000, 0.1}, {8, 1000, 0.15}, {6, 1000, 0.15},
                         {6, 1000, 0.2},  {6, 500, 0.2},  {6, 1000, 0.35}, {6, 500, 0.35},
                         {5, 500, 0.5},   {5, 500, 0.7},  {5, 250, 0.5},   {5, 250, 0.7},
                         {4, 250, 0.7},   {4, 120, 0.5},  {4, 60, 0.5},    {4, 30, 0.5}};
// The first part of a right angle, as a share of what it would be if all were equal: places near
// two ends count the most.
constexpr double kFirstAngle = 0.52;
constexpr double kMostPoints = 6000;
// Nanoseconds: of one product in a round, and of one value of a hockey stick's sum.
constexpr double kWorkOfProduct = 0.06, kWorkOfTerm = 8;
// Terms of a value of a hockey stick, all slices together.
constexpr double kTerms = 1500;
// More than underflow loses.
constexpr double kFaint = 1e-300;

// The losses of one round next to the sampled Gaussian, by quadrature. No bound rests on it.
class Losses {
 public:
  explicit Losses(const FixedSizeRound& round) {
    const double q = round.share, d = round.distance, width = (d + 18) / kPoints;
    for (int i = 0; i < kPoints; ++i) {
      const double t = -9 + width * (i + 0.5);
      const double ratio = 1 - q + q * std::exp(d * t - d * d / 2);
      loss_.push_back(std::log(ratio));
      mass_.push_back(ratio * width * 0.3989422804 * std::exp(-t * t / 2));
    }
  }
  double Spread() const {
    double sum = 0;
    for (size_t i = 0; i < loss_.size(); ++i) sum += mass_[i] * loss_[i] * loss_[i];
    return std::sqrt(sum);
  }
  // An ε at which δ of this many rounds is at most `delta`, about.
  double Reach(double rounds, double delta) const {
    double least = kInfinity;
    for (double order = 0.5; order < 300; order *= 1.4) {
      double sum = 0;
      for (size_t i = 0; i < loss_.size(); ++i) sum += mass_[i] * std::exp(order * loss_[i]);
      // Of moments and a chord of the hockey stick.
      const double chord = order * std::log(order) - (1 + order) * std::log1p(order);
      least = std::fmin(least, (1.1 * rounds * std::log(sum) + chord - std::log(delta)) / order);
    }
    return least;
  }

 private:
  static constexpr int kPoints = 600;
  std::vector<double> loss_, mass_;
};

// The greatest value u(s) = e^{-s/2} (V(e^s) - (e^s - 1)_+) on the lattice s = -n·mesh, ...,
// n·mesh, of V_t(y) = sup E[V_{t-1}(yρ)], V_0(y) = (y - 1)_+. It is even.
class Recursion {
 public:
  explicit Recursion(const BlockPlan& plan)
      : mesh_(plan.mesh),
        points_(static_cast<ptrdiff_t>(std::ceil(plan.reach / plan.mesh))),
        half_(static_cast<size_t>(points_) + 1, 0),
        value_(static_cast<size_t>(2 * points_ + 1)) {}

  // Adds a pair that a round may be; all are added before the first step.
  void Add(const Pair& pair) {
    laws_.push_back(LawOf(pair));
    around_.resize(static_cast<size_t>(2 * (points_ + farthest_) + 1));
  }

  void Step() {
    // u at all places that a round may lead to: past the last one δ is at most what it is there.
    const ptrdiff_t middle = points_ + farthest_;
    for (ptrdiff_t i = 0; i <= middle; ++i) {
      const double u = i <= points_
                           ? half_[static_cast<size_t>(i)]
                           : half_.back() * ExpUp(-mesh_ * static_cast<double>(i - points_) / 2);
      around_[static_cast<size_t>(middle + i)] = around_[static_cast<size_t>(middle - i)] = u;
    }
    std::fill(half_.begin(), half_.end(), 0);
    for (const Law& law : laws_) {
      std::copy(law.rise.begin(), law.rise.end(), value_.begin());
      AddShifted(law.taps, around_.data() + farthest_, value_.data(), value_.size());
      // With the records exchanged: the mirror image.
      const double outward = 1 + kUnitRoundoff * (16 + static_cast<double>(law.taps.size()));
      const double* const above = value_.data() + points_;
      for (ptrdiff_t i = 0; i <= points_; ++i) {
        double& u = half_[static_cast<size_t>(i)];
        u = std::fmax(u, std::fmax(above[i], above[-i]) * outward + kFaint);
      }
    }
  }

  std::vector<double> Profile() const {
    std::vector<double> profile;
    for (size_t i = 0; i < half_.size(); ++i) {
      const double epsilon = mesh_ * static_cast<double>(i);
      profile.push_back(std::fmin(1, half_[i] * ExpUp(epsilon / 2) * (1 + 8 * kUnitRoundoff)));
    }
    return profile;
  }

 private:
  struct Law {
    std::vector<Shift> taps;   // mass √(P-mass·Q-mass) at the loss place·mesh
    std::vector<double> rise;  // u of one round by itself
  };

  Law LawOf(const Pair& pair) {
    Law law;
    double only_p = 0, only_q = 0;
    for (const Atom& atom : pair.atoms) {
      if (atom.q == 0) {
        only_p += atom.p;
      } else if (atom.p == 0) {
        only_q += atom.q;
      } else {
        const auto place =
            static_cast<ptrdiff_t>(std::nearbyint(std::log(atom.p / atom.q) / mesh_));
        law.taps.push_back(
            {place, std::sqrt(atom.p) * std::sqrt(atom.q) * (1 + 8 * kUnitRoundoff)});
        farthest_ = std::max(farthest_, std::abs(place));
      }
    }
    for (ptrdiff_t i = -points_; i <= points_; ++i) {
      // E[(e^s ρ - 1)_+] below 0, and E[(1 - e^s ρ)_+] above.
      const ptrdiff_t sign = i <= 0 ? 1 : -1;
      double sum =
          (i <= 0 ? only_p : only_q) * std::exp(-mesh_ * static_cast<double>(std::abs(i)) / 2);
      for (const Shift& tap : law.taps) {
        const ptrdiff_t past = sign * (i + tap.place);
        if (past > 0) sum += tap.mass * 2 * std::sinh(mesh_ * static_cast<double>(past) / 2);
      }
      law.rise.push_back(sum * (1 + 1e-13));
    }
    return law;
  }

  const double mesh_;
  const ptrdiff_t points_;
  ptrdiff_t farthest_ = 0;
  std::vector<Law> laws_;
  std::vector<double> half_, value_, around_;
};

// A right angle in parts, each by the same factor wider than the one before.
std::vector<double> AnglesIn(int parts) {
  const auto sum = [&](double ratio) {
    double all = 0, part = kFirstAngle / parts;
    for (int i = 0; i < parts; ++i, part *= ratio) all += part;
    return all;
  };
  double ratio = 1, above = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (ratio + above) / 2;
    (sum(middle) > 1 ? above : ratio) = middle;
  }
  std::vector<double> angles = {0};
  double part = kFirstAngle / parts;
  for (int i = 1; i < parts; ++i, part *= ratio)
    angles.push_back(angles.back() + part * kRightAngle);
  angles.push_back(kRightAngle);
  return angles;
}

double WorkOf(const FixedSizeRound& round, const BlockPlan& plan, double loss_reach) {
  const auto cells = static_cast<double>(CellsOf(round.distance, AnglesIn(plan.angles)).size());
  const double points = 2 * plan.reach / plan.mesh;
  const auto taps = 2 * static_cast<double>(PointsOfPair(plan.mesh, loss_reach).size());
  return cells * taps *
         (points * (static_cast<double>(plan.rounds) + 100) * kWorkOfProduct +
          kTerms * kWorkOfTerm);
}

Pair PairOf(const std::vector<double>& profile, double mesh) {
  std::vector<ProfilePoint> points;
  for (size_t i = 0; i < profile.size(); ++i) {
    const double epsilon = mesh * static_cast<double>(i) * (1 + 4 * kUnitRoundoff);
    if (epsilon > kGreatestProfileEpsilon) break;
    points.push_back({epsilon, profile[i]});
  }
  Pair pair = PairOfProfile(points, points);
  pair.symmetric = true;
  return pair;
}

}  // namespace

absl::StatusOr<BlockProfiles> ProfilesOf(const FixedSizeRound& round, const BlockPlan& plan,
                                         const Limits& limits) {
  Recursion recursion(plan);
  for (const Cell& cell : CellsOf(round.distance, AnglesIn(plan.angles))) {
    RETURN_IF_ERROR(limits.Check());
    recursion.Add(PairOfCell(round.share, round.distance, cell, plan.mesh, plan.tail));
  }
  for (uint64_t i = 0; i < plan.rounds; ++i) {
    RETURN_IF_ERROR(limits.Check());
    recursion.Step();
  }
  BlockProfiles profiles{plan.mesh, recursion.Profile(), {}};
  recursion.Step();
  profiles.of_one_more = recursion.Profile();
  return profiles;
}

absl::StatusOr<std::vector<Block>> BlocksOf(const FixedSizeRound& round, uint64_t count,
                                            double negligible, double most_work,
                                            const Limits& limits) {
  std::vector<Block> blocks;
  const bool within = count >= kFewestRounds && round.distance >= kLeastDistance &&
                      round.distance <= kGreatestDistance && round.share <= kGreatestShare &&
                      negligible >= kLeastNegligible;
  if (!within) return blocks;
  const Losses losses(round);
  const double spread = losses.Spread();
  for (const Cut& cut : kCuts) {
    // As few blocks as may be, of equal length but for one round.
    const uint64_t number = count / cut.rounds + (count % cut.rounds == 0 ? 0 : 1);
    BlockPlan plan{count / number, cut.angles, cut.mesh * spread, 0, 0};
    const double delta = negligible / static_cast<double>(number);
    plan.reach = losses.Reach(static_cast<double>(plan.rounds), delta);
    plan.tail = delta / static_cast<double>(plan.rounds);
    if (!(plan.reach > 0 && plan.reach <= kGreatestProfileEpsilon)) continue;
    plan.mesh = std::fmax(plan.mesh, plan.reach / kMostPoints);
    if (!(plan.mesh <= spread)) continue;
    if (WorkOf(round, plan, losses.Reach(1, plan.tail)) > most_work) continue;
    ASSIGN_OR_RETURN(const BlockProfiles profiles, ProfilesOf(round, plan, limits));
    const uint64_t longer = count % number;
    if (longer > 0) blocks.push_back({PairOf(profiles.of_one_more, profiles.mesh), longer});
    blocks.push_back({PairOf(profiles.of_rounds, profiles.mesh), number - longer});
    break;
  }
  return blocks;
}

}  // namespace dpledger::accountant
