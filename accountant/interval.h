// The type of every answer: two bounds that contain the true value, the method and its warnings.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace dpledger::accountant {

// lower <= true value <= upper; bounds are rounded outward. `upper` is the number to report.
struct Interval {
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();

  bool Contains(double value) const { return lower <= value && value <= upper; }
  // (upper - lower) / upper; 0 for [0, 0] and for [inf, inf], 1 if the upper bound alone is
  // infinite.
  double RelativeGap() const;
};

enum class Method { kBest, kRdp, kPld, kContour, kGaussian };
enum class Adjacency { kAddOrRemoveOne, kReplaceOne, kZeroOut };
// The direction of the hockey-stick divergence of a dominating pair: P against Q (remove), or Q
// against P (add); see mechanism/pair.h. A guarantee is the worse of both.
enum class Direction { kRemove, kAdd };

// "rdp", "pld", ...
std::string MethodName(Method method);
// "ADD_OR_REMOVE_ONE", ...
std::string AdjacencyName(Adjacency adjacency);

// An interval, the method that gave it, and what its reader has to know.
struct Answer {
  Interval value;
  Method method = Method::kBest;
  std::vector<std::string> warnings;
};

}  // namespace dpledger::accountant
