// The type of every answer: two bounds that contain the true value, the method and its warnings.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dpledger::accountant {

// lower <= true value <= upper; bounds are rounded outward. `upper` is the number to report.
class Interval {
 public:
  // [0, inf]: nothing is known.
  Interval() = default;
  // Bounds in the wrong order contradict each other, so one of them is wrong: the interval then
  // reaches from the lesser to the greater, and an error is logged. A NaN bounds nothing: -∞ or ∞
  // takes its place.
  Interval(double lower, double upper) : lower_(lower), upper_(upper) {
    if (!(lower_ <= upper_)) Repair();
  }

  double lower() const { return lower_; }
  double upper() const { return upper_; }
  bool Contains(double value) const { return lower_ <= value && value <= upper_; }
  // (upper - lower) / upper; 0 for [0, 0] and for [inf, inf], 1 if the upper bound alone is
  // infinite.
  double RelativeGap() const;

 private:
  void Repair();

  double lower_ = 0;
  double upper_ = std::numeric_limits<double>::infinity();
};

// The intersection of two intervals for one value. If they have no point in common, one of the two
// computations is wrong, and nobody can say which: then the least interval around both, and an
// error that names both is logged.
Interval Meet(const Interval& a, std::string_view name_of_a, const Interval& b,
              std::string_view name_of_b);

enum class Method { kBest, kRdp, kPld, kContour, kGaussian };
enum class Adjacency { kAddOrRemoveOne, kReplaceOne, kZeroOut };
// The direction of the hockey-stick divergence of a dominating pair: P against Q (remove), or Q
// against P (add); see pair/pair.h. A guarantee is the worse of both.
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
