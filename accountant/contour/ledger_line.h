// ε of a composition that grows: what each distinct step adds to the contour is kept, so that
// appending steps is one vector addition and a question a sum over some twenty nodes, with its
// certificate evaluated anew. The line is laid again when the composition has outgrown it. Claim:
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

  // step.count more runs.
  void Append(const SampledGaussian& step);

  // As contour::Epsilon of all that was appended, and as tight to a relative gap of 1e-9 or ten
  // times that of a line just laid.
  absl::StatusOr<std::optional<Interval>> Epsilon(const Limits& limits);

 private:
  // One direction's line, with every step's terms on it.
  struct Live {
    std::optional<Line> line;
    std::vector<Line::Terms> terms;
    std::vector<double> counts;  // how many runs of each step are on the line
    double laid_count = 0;       // in all, when it was laid
    double gap = 0;              // an interval as wide is good enough
    double order = 0;            // of the line
    double epsilon = 0;          // the last answer
  };

  absl::StatusOr<std::optional<Interval>> In(bool add, const Limits& limits);
  absl::StatusOr<std::optional<Interval>> LayAnew(bool add, const Limits& limits);
  // Brings the line up to the present counts; false if a new step's terms are out of reach.
  bool CatchUp(Live& live, bool add, const Limits& limits);
  // Whether add's ε is at most `epsilon`, by Chernoff's bound.
  bool AddIsBelow(double epsilon, const Limits& limits);

  double delta_;
  double total_ = 0;
  bool narrow_ = true;  // every step's μ is: else questions are answered from scratch
  // Where no answer was found, none is looked for until the composition has grown past this.
  double hopeless_below_ = 0;
  std::map<std::tuple<double, double, double>, size_t> index_;  // by q and z
  std::vector<SampledGaussian> steps_;
  Live remove_, add_;
  // For AddIsBelow: an order, and upper bounds on K of one run of each step there.
  double chernoff_order_ = 0;
  std::vector<double> chernoff_log_mgf_;
};

}  // namespace dpledger::accountant::contour
