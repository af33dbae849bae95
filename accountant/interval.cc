#include "accountant/interval.h"

#include <cmath>
#include <utility>

#include "base/log.h"

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A fault of the accountant's own, which nobody should have to look for: to standard error.
void LogFault(std::string_view event, LogFields fields) {
  constexpr int kStandardError = 2;
  Log(LogLevel::kError, kStandardError).Write(LogLevel::kError, event, fields);
}

}  // namespace

void Interval::Repair() {
  if (std::isnan(lower_)) lower_ = -kInfinity;
  if (std::isnan(upper_)) upper_ = kInfinity;
  if (lower_ <= upper_) return;
  LogFault("inverted_interval", {{"lower", lower_}, {"upper", upper_}});
  std::swap(lower_, upper_);
}

Interval Meet(const Interval& a, std::string_view name_of_a, const Interval& b,
              std::string_view name_of_b) {
  const double lower = std::fmax(a.lower(), b.lower()), upper = std::fmin(a.upper(), b.upper());
  if (lower <= upper) return {lower, upper};
  LogFault("methods_contradict", {{"first", std::string(name_of_a)},
                                  {"first_lower", a.lower()},
                                  {"first_upper", a.upper()},
                                  {"second", std::string(name_of_b)},
                                  {"second_lower", b.lower()},
                                  {"second_upper", b.upper()}});
  return {std::fmin(a.lower(), b.lower()), std::fmax(a.upper(), b.upper())};
}

double Interval::RelativeGap() const {
  if (lower_ == upper_) return 0;
  return std::isinf(upper_) ? 1 : (upper_ - lower_) / upper_;
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
