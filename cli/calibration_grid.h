// Several calibrations at once: one parameter takes each of several values, another is solved for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::cli {

struct Grid {
  std::string parameter;  // "steps", "sampling-probability" or "batch-size"
  std::vector<double> values;

  // The flag that the grid replaces; "" without a grid.
  std::string Varied() const;
  // Throws flags::ValidationError for a grid over the unknown, or a batch size without a
  // population.
  void Check(v1::Unknown solve, uint64_t population) const;
};

// --grid PARAMETER=VALUE,VALUE,...
void AddGrid(flags::App& app, Grid& grid);

// Prints a row for each value. If a value has no solution, its row says why. The sampling
// probability of a batch size is its quotient by `population`.
absl::Status CalibrateGrid(const Grid& grid, uint64_t population, v1::CalibrateRequest request,
                           Output& out);

}  // namespace dpledger::cli
