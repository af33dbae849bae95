#include "cli/calibration_grid.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dpledger/v1/command.pb.h"
#include "questions/answers.h"

namespace dpledger::cli {
namespace {

constexpr char kSteps[] = "steps", kRate[] = "sampling-probability", kBatch[] = "batch-size";
constexpr size_t kGreatestGrid = 1000;

bool IsWhole(double value) { return value >= 1 && value <= 0x1p53 && value == std::floor(value); }

}  // namespace

std::string Grid::Varied() const {
  if (values.empty()) return "";
  return parameter == kSteps ? "--steps" : "--sampling-probability";
}

void Grid::Check(v1::Unknown solve, uint64_t population) const {
  if (values.empty()) return;
  RefuseIf((parameter == kSteps) == (solve == v1::STEPS) && solve != v1::NOISE_MULTIPLIER, "--grid",
           "must not vary what --solve asks for");
  RefuseIf(parameter == kBatch && population == 0, "--population",
           "must be given with --grid batch-size=...");
  for (const double value : values) {
    RefuseIf(parameter == kBatch && value > static_cast<double>(population), "--grid",
             absl::StrCat("a batch must be at most the population, got ", value));
  }
}

void AddGrid(flags::App& app, Grid& grid) {
  AddTaken(app, "--grid", "PARAMETER=LIST",
           "solve for each of these values: steps=, sampling-probability= or batch-size=, and "
           "numbers between commas",
           [&grid](const std::string& text) -> std::string {
             const std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
             grid.parameter = sides.front();
             const bool whole = grid.parameter == kSteps || grid.parameter == kBatch;
             if (sides.size() != 2 || !(whole || grid.parameter == kRate)) {
               return Wrong(
                   "must be steps=, sampling-probability= or batch-size= and numbers "
                   "between commas",
                   text);
             }
             for (const absl::string_view number : absl::StrSplit(sides[1], ',')) {
               double value;
               if (!absl::SimpleAtod(number, &value) ||
                   !(whole ? IsWhole(value) : value > 0 && value <= 1)) {
                 return Wrong(absl::StrCat(grid.parameter, " must be ",
                                           whole ? "a whole number in [1, 2^53]" : "in (0, 1]"),
                              number);
               }
               grid.values.push_back(value);
             }
             if (grid.values.size() <= kGreatestGrid) return "";
             return absl::StrCat("must have at most ", kGreatestGrid, " values");
           });
}

absl::Status CalibrateGrid(const Grid& grid, uint64_t population, v1::CalibrateRequest request,
                           Output& out) {
  v1::CalibrationGrid answered;
  for (const double value : grid.values) {
    v1::CalibrationGrid::Row& row = *answered.add_rows();
    if (grid.parameter == kSteps) {
      request.set_steps(static_cast<uint64_t>(value));
      row.set_steps(request.steps());
    } else if (grid.parameter == kBatch) {
      request.set_sampling_probability(value / static_cast<double>(population));
      row.set_batch_size(value);
    } else {
      request.set_sampling_probability(value);
      row.set_sampling_probability(value);
    }
    const auto response = questions::Answer({}, request, accountant::Limits());
    if (!response.ok() && !absl::IsFailedPrecondition(response.status())) return response.status();
    if (!response.ok()) {
      row.set_error(std::string(response.status().message()));
      continue;
    }
    *row.mutable_answer() = *response;
    // The standard deviation of the noise in the mean gradient, in units of the clipping norm.
    if (grid.parameter == kBatch && response->has_noise_multiplier())
      row.set_noise_per_example(response->noise_multiplier() / value);
  }
  return out.Answer(answered);
}

}  // namespace dpledger::cli
