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

// Above the least normal double, and by so much that a product keeps its digits.
constexpr double kLeastMass = 1e-290;

// A value that may come by the identity.
double RoundedUp(double value) { return std::fmin(1, value * (1 + 8 * kUnitRoundoff)); }

}  // namespace

Pair PairOfProfile(std::vector<ProfilePoint> remove, std::vector<ProfilePoint> add) {
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
    const double mass = NextUp(std::fmax(0, kink.mass) + kink.error);
    const double other = MulUp(mass, ExpUp(-std::fabs(kept[i].at)));
    const bool above = kept[i].at >= 0;
    if (other < kLeastMass) {
      // Its loss would have no digits: as two outcomes, each of which shows all.
      pair.atoms.push_back(above ? Atom{mass, 0} : Atom{0, mass});
      pair.atoms.push_back(above ? Atom{0, other} : Atom{other, 0});
    } else {
      pair.atoms.push_back(above ? Atom{mass, other} : Atom{other, mass});
    }
  }
  if (kept.back().remove > 0) pair.atoms.push_back({RoundedUp(kept.back().remove), 0});
  if (kept.front().add > 0) pair.atoms.push_back({0, RoundedUp(kept.front().add)});
  // An atom's loss is log p/q, where the kink's is a double: they differ by the roundings of q.
  pair.relative_error = 8 * kUnitRoundoff;
  return pair;
}

}  // namespace dpledger::accountant
