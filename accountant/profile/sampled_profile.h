// δ(ε) at the ε that a curve turns out to need. Each is computed once.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/profile/many_deltas.h"
#include "accountant/profile/profile.h"
#include "accountant/profile/trade_off.h"

namespace dpledger::accountant::profile {

// e^ε must stay a finite double.
inline constexpr double kGreatestEpsilon = 700;

// OK, or INVALID_ARGUMENT naming the first of `values` that is not `inside`; or for too many.
absl::Status CheckPoints(const std::string& field, const std::vector<double>& values,
                         bool (*inside)(double), const char* rule);

class SampledProfile {
 public:
  // `composition` and `options` must outlive the profile. Once δ in a direction is below `nothing`
  // at some ε, it is not computed at larger ε: it lies between 0 and that value. Where many ε are
  // asked for, an interval not wider than `enough` is narrow enough.
  SampledProfile(const Composition& composition, const Options& options, double nothing,
                 double enough)
      : options_(options), nothing_(nothing), deltas_at_(composition, options, enough) {}

  // Makes sure that δ(epsilon) is known in both directions; epsilon in [0, kGreatestEpsilon].
  absl::Status Sample(double epsilon);

  size_t size() const { return deltas_.size(); }
  double greatest_epsilon() const { return deltas_.rbegin()->first; }
  const Origin& origin() const { return origin_; }

  // The risk function of one direction, or of the worse of both at every ε. At least two ε, of
  // which one is 0.
  RiskFunction Remove() const;
  RiskFunction Add() const;
  RiskFunction Symmetric() const;
  // The worse of both directions, by increasing ε.
  std::vector<ProfilePoint> Worse() const;

 private:
  struct Deltas {
    Interval remove, add;
  };
  absl::StatusOr<Interval> DeltaIn(Direction direction, double epsilon);
  static Interval WorseOf(const Deltas& deltas);
  using Side = Interval (*)(const Deltas&);
  RiskFunction Risk(Side above, Side below) const;

  const Options& options_;
  const double nothing_;
  ManyDeltas deltas_at_;
  std::map<double, Deltas> deltas_;
  // Per direction, the least ε so far at which δ is below nothing_, and that δ.
  std::map<Direction, std::pair<double, Interval>> nothing_from_;
  Origin origin_;
};

}  // namespace dpledger::accountant::profile
