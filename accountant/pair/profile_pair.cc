#include "accountant/pair/profile_pair.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// A point of d(y) = E_Q[(P/Q - y)_+] at y = e^at. `remove` is d(y), `add` the same function of the
// other direction, y d'(1/y) = d(y) - 1 + y; each as it was given at its own side of 0, where it is
// small, and by that identity at the other.
struct Node {
  double at;
  double remove, add;

  static Node Remove(double at, double delta) {
    return {at, delta, -std::expm1(-at) + std::exp(-at) * delta};
  }
  static Node Add(double at, double delta) {
    return {-at, -std::expm1(-at) + std::exp(-at) * delta, delta};
  }
  Node Mirrored() const { return {-at, add, remove}; }
};

// The kink at `node`, in units of the first distribution's mass: by how much d's slope rises there,
// times y. Without a node before, d goes on to d(0) = 1; without one after, it stays.
struct Kink {
  double mass, error;
};
Kink KinkAt(const Node* before, const Node& node, const Node* after) {
  Kink kink{0, 0};
  // By how much d is less at `node` than at another place, for each unit of y's distance.
  const auto add = [&](const Node& other, double gap) {
    const double share = (other.remove - node.remove) / gap;
    kink.mass += share;
    kink.error += 8 * kUnitRoundoff * (1 + std::fabs(other.at - node.at)) * std::fabs(share);
    // Values that come by the identity are within 4u of their size; others are what they are.
    if (node.at < 0 || other.at < 0) {
      kink.error += 4 * kUnitRoundoff * (other.remove + node.remove) / std::fabs(gap);
    }
  };
  if (before != nullptr) {
    add(*before, -std::expm1(before->at - node.at));
  } else {
    kink = {1 - node.remove, 8 * kUnitRoundoff};
  }
  if (after != nullptr) add(*after, std::expm1(after->at - node.at));
  return kink;
}

// On the side of 0 on which the values are small.
Kink Inner(const Node* before, const Node& node, const Node* after) {
  if (node.at >= 0) return KinkAt(before, node, after);
  const Node mirrored = node.Mirrored(), left = after != nullptr ? after->Mirrored() : node,
             right = before != nullptr ? before->Mirrored() : node;
  return KinkAt(after != nullptr ? &left : nullptr, mirrored, before != nullptr ? &right : nullptr);
}

// The points as nodes, from the last of add to the last of remove; δ falls along each direction.
std::vector<Node> NodesOf(std::vector<ProfilePoint> remove, std::vector<ProfilePoint> add) {
  double at_zero = 1;
  for (std::vector<ProfilePoint>* points : {&remove, &add}) {
    double least = 1;
    for (ProfilePoint& point : *points) point.delta = least = std::fmin(least, point.delta);
    // δ(0) is the same for both.
    if (!points->empty() && points->front().epsilon == 0)
      at_zero = std::fmin(at_zero, points->front().delta);
    std::erase_if(*points, [](const ProfilePoint& point) { return point.epsilon == 0; });
  }
  std::vector<Node> nodes;
  std::reverse(add.begin(), add.end());
  for (const ProfilePoint& point : add) nodes.push_back(Node::Add(point.epsilon, point.delta));
  nodes.push_back(Node::Remove(0, at_zero));
  for (const ProfilePoint& point : remove)
    nodes.push_back(Node::Remove(point.epsilon, point.delta));
  return nodes;
}

// More than what rounding does to a few operations, relatively.
constexpr double kSlack = 64 * kUnitRoundoff;

// Above the least normal double, and by so much that a product keeps its digits.
constexpr double kLeastMass = 1e-290;

// A value that may come by the identity.
double RoundedUp(double value) { return std::fmin(1, value * (1 + 8 * kUnitRoundoff)); }

}  // namespace

std::vector<ProfilePoint> PointsBelow(const std::vector<ProfileBounds>& bounds,
                                      const std::vector<ProfileBounds>& opposite) {
  // δ as a function of y = e^ε, in units of y at node i: a slope that is at least as steep as any
  // before the node, first from the other direction's chord up to y = 1.
  const double y = std::exp(-opposite[1].epsilon), rest = -std::expm1(-opposite[1].epsilon);
  const double begin = rest + y * opposite[1].upper;
  double before = (bounds[0].lower - begin - kSlack * (1 + begin)) / rest;
  std::vector<ProfilePoint> points;
  size_t i = 0;
  for (; i + 1 < bounds.size(); ++i) {
    const double left = bounds[i].lower, right = bounds[i + 1].lower;
    const double step = bounds[i + 1].epsilon - bounds[i].epsilon, width = std::expm1(step);
    // At most as steep as any after the next node.
    double after = 0;
    if (i + 2 < bounds.size()) {
      const double next = std::expm1(bounds[i + 2].epsilon - bounds[i + 1].epsilon);
      after = std::fmin(0, bounds[i + 2].upper - right) / next * std::exp(-step) * (1 - kSlack);
    }
    const double meet = (right - left - after * width) / (before - after);
    const double at = before < after ? std::clamp(meet, 0.0, width) : width / 2;
    const double slopes = std::fabs(before) + std::fabs(after);
    const double error = left + right + slopes * (1 + width) * (1 + bounds[i + 1].epsilon);
    const double delta =
        std::fmin(left + before * at, right - after * (width - at)) - kSlack * error;
    if (delta <= 0) break;
    points.push_back({bounds[i].epsilon + std::log1p(at), delta});
    before = (right - bounds[i].upper) / width * std::exp(step) * (1 + kSlack);
  }
  // Where the last tangent comes to 0.
  const double at = before < 0 ? bounds[i].lower / -before : 0;
  const double shorter = 1 - kSlack * (2 + bounds[i].epsilon);
  points.push_back({bounds[i].epsilon + std::log1p(at * shorter), 0});
  return points;
}

Pair PairOfProfile(std::vector<ProfilePoint> remove, std::vector<ProfilePoint> add, Bound bound) {
  const std::vector<Node> nodes = NodesOf(std::move(remove), std::move(add));
  // The greatest convex function: what lies above the chord between its neighbours is left out.
  std::vector<Node> kept;
  for (const Node& node : nodes) {
    while (
        !kept.empty() &&
        !(Inner(kept.size() > 1 ? &kept[kept.size() - 2] : nullptr, kept.back(), &node).mass > 0)) {
      kept.pop_back();
    }
    kept.push_back(node);
  }
  Pair pair;
  for (size_t i = 0; i < kept.size(); ++i) {
    const Kink kink = Inner(i > 0 ? &kept[i - 1] : nullptr, kept[i],
                            i + 1 < kept.size() ? &kept[i + 1] : nullptr);
    const double mass = bound == Bound::kUpper ? NextUp(std::fmax(0, kink.mass) + kink.error)
                                               : std::fmax(0, NextDown(kink.mass - kink.error));
    if (mass == 0) continue;
    const double other = MulUp(mass, ExpUp(-std::fabs(kept[i].at)));
    const bool above = kept[i].at >= 0;
    if (other < kLeastMass) {
      if (bound == Bound::kLower) continue;
      // Its loss would have no digits: as two outcomes, each of which shows all.
      pair.atoms.push_back(above ? Atom{mass, 0} : Atom{0, mass});
      pair.atoms.push_back(above ? Atom{0, other} : Atom{other, 0});
    } else {
      pair.atoms.push_back(above ? Atom{mass, other} : Atom{other, mass});
    }
  }
  if (bound == Bound::kLower) {
    pair.relative_error = 8 * kUnitRoundoff;
    return pair;
  }
  if (kept.back().remove > 0) pair.atoms.push_back({RoundedUp(kept.back().remove), 0});
  if (kept.front().add > 0) pair.atoms.push_back({0, RoundedUp(kept.front().add)});
  // An atom's loss is log p/q, where the kink's is a double: they differ by the roundings of q.
  pair.relative_error = 8 * kUnitRoundoff;
  return pair;
}

}  // namespace dpledger::accountant
