// ε of a composition that grows. Each distinct step's terms on the line are kept: appending a step
// is one vector addition, and a question is one sum over some twenty nodes, whose error bound is
// evaluated anew. The line is laid again when the composition has outgrown it. Claim:
// contour/CLAIM.md, "Growing compositions".
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/line.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::contour {

// Not thread safe; instances are independent.
class LedgerLine {
 public:
  // delta in (0, 1).
  explicit LedgerLine(double delta) : delta_(delta) {}

  // Adds step.count runs.
  void Append(const SampledGaussian& step);

  // contour::Epsilon of everything appended. The relative gap on each direction's line is at most
  // 1e-9, or ten times the gap that the line had when it was laid.
  absl::StatusOr<std::optional<Interval>> Epsilon(const Limits& limits);

 private:
  // One direction's line, with every step's terms on it.
  struct Live {
    std::optional<Line> line;
    std::vector<Line::Terms> terms;
    std::vector<double> counts;  // how many runs of each step are on the line
    double laid_count = 0;       // runs of all steps, when it was laid
    double gap = 0;              // the relative gap above which the line is laid again
    double order = 0;            // the line's c
    double epsilon = 0;          // the last answer
  };

  absl::StatusOr<std::optional<Interval>> In(bool add, const Limits& limits);
  absl::StatusOr<std::optional<Interval>> LayAnew(bool add, const Limits& limits);
  // Brings the line up to the present counts; false if a new step's terms take too much work.
  bool CatchUp(Live& live, bool add, const Limits& limits);
  // Whether Chernoff's bound shows that ε in the add direction is at most `epsilon`.
  bool AddIsBelow(double epsilon, const Limits& limits);

  double delta_;
  double total_ = 0;
  bool narrow_ = true;  // every step's μ is known narrowly enough; else every question is answered
                        // from scratch
  // After a question without an answer, none is sought until the composition has more runs than
  // this.
  double hopeless_below_ = 0;
  std::map<std::tuple<double, double, double>, size_t> index_;  // by q and z
  std::vector<SampledGaussian> steps_;
  Live remove_, add_;
  // For AddIsBelow: an order, and upper bounds on K of one run of each step there.
  double chernoff_order_ = 0;
  std::vector<double> chernoff_log_mgf_;
};

}  // namespace dpledger::accountant::contour
