#include "accountant/interval.h"

#include <cmath>

namespace dpledger::accountant {

double Interval::RelativeGap() const {
  if (lower == upper) return 0;
  return std::isinf(upper) ? 1 : (upper - lower) / upper;
}

std::string MethodName(Method method) {
  switch (method) {
    case Method::kBest:
      return "best";
    case Method::kRdp:
      return "rdp";
    case Method::kPld:
      return "pld";
    case Method::kContour:
      return "contour";
    case Method::kGaussian:
      return "gaussian";
  }
  return "unknown";
}

std::string AdjacencyName(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::kAddOrRemoveOne:
      return "ADD_OR_REMOVE_ONE";
    case Adjacency::kReplaceOne:
      return "REPLACE_ONE";
    case Adjacency::kZeroOut:
      return "ZERO_OUT";
  }
  return "UNKNOWN";
}

}  // namespace dpledger::accountant
