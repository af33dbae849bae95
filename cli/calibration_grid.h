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
  uint64_t population =
      0;  // batch-size only: the sampling probability is the batch size divided by this

  // The flag that the grid replaces; "" without a grid.
  std::string Varied() const;
  // Throws CLI::ValidationError for a grid over the unknown, or a batch size without a population.
  void Check(v1::Unknown solve) const;
};

// --grid PARAMETER=VALUE,VALUE,... and --population N.
void AddGrid(CLI::App& app, Grid& grid);

// Prints a row for each value. If a value has no solution, its row says why.
absl::Status CalibrateGrid(const Grid& grid, v1::CalibrateRequest request, Output& out);

}  // namespace dpledger::cli
