#include "accountant/selection/run_profile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "accountant/contour/contour.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/sampled_once.h"
#include "accountant/numeric/rounding.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::selection {
namespace {

constexpr double kPldGap = 1e-3;
// Past the even part of the lattice only the tails of the profile are left, which matter to
// selections of very many runs: far out, and coarsely.
constexpr double kGrowth = 1.02;
constexpr size_t kTailNodes = 600;
// Below this share of the δ that matters the Rényi bound says enough. (The grid's cut tails do not
// show less than a part in 10^7.)
constexpr double kNegligible = 1e-9, kNegligibleOnGrid = 1e-6;

Direction Opposite(Direction direction) {
  return direction == Direction::kRemove ? Direction::kAdd : Direction::kRemove;
}

}  // namespace

RunProfile::RunProfile(const Composition& run, double epsilon, double delta, const Limits& limits,
                       std::optional<double> nodes)
    : run_(run), limits_(limits), delta_(delta) {
  if (run.OnlyGaussians() && (gaussian::Applies(run) || gaussian::AppliesOnce(run))) {
    engine_ = Method::kGaussian;
    symmetric_ = gaussian::Applies(run);
  } else if (contour::Applies(run)) {
    engine_ = Method::kContour;
    const auto probe = contour::DeltasIn(Direction::kRemove, run_, {epsilon}, limits_);
    if (!probe.ok()) {
      stopped_ = probe.status();
    } else if (!probe->front().has_value()) {
      engine_ = Method::kPld;
    }
  }
  // A chord's excess in ε is spacing²(r + 1)/8 for a profile that falls as e^{-rε}: with r near
  // 10/ε for usual δ, about 2e-5 of ε with 256 nodes. On the grid a node takes a millisecond.
  spacing_ = nodes.has_value() && engine_ != Method::kPld
                 ? epsilon / *nodes
                 : std::fmin(epsilon / 256, std::fmax(0.02, epsilon / 1024));
  even_ = static_cast<size_t>(std::ceil(2 * epsilon / spacing_));
  last_ = even_ + kTailNodes;
  for (size_t i = 0; i <= even_; ++i) lattice_.push_back(spacing_ * static_cast<double>(i));
  for (size_t i = 1; i <= kTailNodes; ++i)
    lattice_.push_back(lattice_[even_] * std::pow(kGrowth, static_cast<double>(i)));
}

// The last node at or below epsilon >= 0.
size_t RunProfile::Below(double epsilon) const {
  const double end = At(even_);
  double guess = epsilon / spacing_;
  if (epsilon > end)
    guess = static_cast<double>(even_) + std::log(epsilon / end) / std::log(kGrowth);
  size_t index = static_cast<size_t>(std::fmin(guess, static_cast<double>(last_)));
  while (index > 0 && At(index) > epsilon) --index;
  while (index < last_ && At(index + 1) <= epsilon) ++index;
  return index;
}

// The least over a grid of orders of Canonne, Kamath and Steinke 2020, prop. 12, whose pointwise
// bound holds for the part that did not fail too; the failed part counts whole.
double RunProfile::RenyiDelta(double epsilon) {
  if (renyi_.empty()) {
    const rdp::ApproximateCurve run = rdp::CurveOf(run_, limits_);
    failure_ = run.failure;
    for (double log_excess = -2; log_excess < 9; log_excess += 0.2) {
      const double order = 1 + std::exp(log_excess);
      renyi_.push_back({order, MulUp(order - 1, run.curve(order))});
    }
  }
  double least = 0;
  for (const OrderBound& at : renyi_) {
    const double fixed = at.order * std::log1p(-1 / at.order) - std::log(at.order - 1);
    const double spent = (at.order - 1) * epsilon;
    const double log_delta = at.log_moment - spent + fixed;
    const double size = std::fabs(at.log_moment) + spent + std::fabs(fixed);
    least = std::fmin(least, log_delta + 16 * kUnitRoundoff * (size + 1));
  }
  return std::fmin(1, AddUp(failure_, ExpUp(least)));
}

bool RunProfile::Applies(const Composition& run) {
  return !run.non_private && run.curves.empty() && run.allocations.empty();
}

absl::Status RunProfile::Compute(Direction direction, std::vector<Interval>& nodes) {
  std::vector<double> epsilons;
  for (size_t i = 0; i < kBlock; ++i) epsilons.push_back(At(nodes.size() + i));
  if (engine_ == Method::kGaussian) {
    for (const double epsilon : epsilons) {
      nodes.push_back(symmetric_ ? gaussian::Delta(run_, epsilon)
                                 : gaussian::DeltaOnce(run_, direction, epsilon));
    }
    return absl::OkStatus();
  }
  double most = nodes.empty() ? 1 : nodes.back().upper();  // δ does not grow with ε
  std::vector<std::optional<Interval>> found(kBlock);
  if (engine_ == Method::kContour && most > kNegligible * delta_) {
    ASSIGN_OR_RETURN(found, contour::DeltasIn(direction, run_, epsilons, limits_));
  }
  std::vector<Interval> block;
  for (size_t i = 0; i < kBlock; ++i) {
    if (!found[i].has_value() && most > kNegligibleOnGrid * delta_) {
      ASSIGN_OR_RETURN(found[i], ByPld(direction, epsilons[i]));
    }
    block.push_back(found[i].has_value() ? *found[i] : Interval{0, RenyiDelta(epsilons[i])});
    most = std::fmin(most, block.back().upper());
    block.back() = {block.back().lower(), most};
  }
  nodes.insert(nodes.end(), block.begin(), block.end());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Interval>> RunProfile::ByPld(Direction direction, double epsilon) {
  const int which = static_cast<int>(direction);
  if (!on_grid_[which].has_value() && !on_no_grid_[which]) {
    absl::StatusOr<pld::GridProfile> made =
        pld::GridProfile::Of(run_, direction, delta_, kPldGap, limits_);
    on_no_grid_[which] = absl::IsResourceExhausted(made.status());
    if (!on_no_grid_[which]) {
      RETURN_IF_ERROR(made.status());
      on_grid_[which] = *std::move(made);
    }
  }
  if (on_no_grid_[which]) return std::nullopt;
  return on_grid_[which]->DeltaAt(epsilon);
}

Interval RunProfile::Node(Direction direction, size_t index) {
  index = std::min(index, last_);
  const Direction kept = symmetric() ? Direction::kRemove : direction;
  std::vector<Interval>& nodes = nodes_[static_cast<int>(kept)];
  while (nodes.size() <= index) {
    if (!stopped_.ok()) return {0, 1};
    stopped_ = Compute(kept, nodes);
  }
  const Interval node = nodes[index];
  if (index == last_) return {0, node.upper()};  // stands for all that follow
  return node;
}

double RunProfile::Up(Direction direction, double epsilon) {
  if (std::isnan(epsilon)) return 1;
  // δ(-ε) = 1 - e^{-ε} + e^{-ε} δ'(ε), δ' of the opposite direction.
  if (epsilon < 0) {
    const double opposite = Up(Opposite(direction), -epsilon);
    return std::fmin(1, NextUp(-std::expm1(epsilon) * (1 + 8 * kUnitRoundoff)) +
                            MulUp(ExpUp(epsilon), opposite) * (1 + 4 * kUnitRoundoff));
  }
  const size_t index = Below(epsilon);
  if (index >= last_) return Node(direction, last_).upper();
  const double left = Node(direction, index).upper(), right = Node(direction, index + 1).upper();
  const double share = std::expm1(epsilon - At(index + 1)) / std::expm1(At(index) - At(index + 1));
  return std::fmin(1, (left * share + right * (1 - share)) * (1 + 32 * kUnitRoundoff));
}

double RunProfile::Down(Direction direction, double epsilon) {
  if (std::isnan(epsilon)) return 0;
  if (epsilon < 0) {
    const double opposite = Down(Opposite(direction), -epsilon);
    return std::fmax(0, -std::expm1(epsilon) + MulDown(ExpDown(epsilon), opposite)) *
           (1 - 8 * kUnitRoundoff);
  }
  const size_t index = Below(epsilon);
  if (index + 2 >= last_) return 0;
  const Interval near = Node(direction, index + 1), far = Node(direction, index + 2);
  // The chord through the next two nodes, continued to the left.
  const double reach =
      std::expm1(epsilon - At(index + 1)) / -std::expm1(At(index + 2) - At(index + 1));
  const double bound = near.lower() + (near.lower() - far.upper()) * reach * (1 - 1e-12);
  return std::fmax(near.lower(), bound) * (1 - 32 * kUnitRoundoff);
}

}  // namespace dpledger::accountant::selection
