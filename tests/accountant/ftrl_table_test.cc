// Makes the table of docs/strategies/dp-ftrl.md that compares encoders and samplings, and demands
// that the page has it: a failure prints the lines to put there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "accountant/accountant.h"
#include "base/file.h"

namespace dpledger::accountant {
namespace {

// The page's run.
constexpr uint64_t kSteps = 1000, kSpacing = 100;
constexpr double kDelta = 1e-6;

struct Row {
  std::string name;
  std::vector<double> coefficients;
};

std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (const size_t band : {1, 16, 64, 100}) {
    std::vector<double> c = {1};
    for (size_t j = 1; j < band; ++j) c.push_back(c.back() * (1 - 0.5 / static_cast<double>(j)));
    rows.push_back({absl::StrCat("b = ", band), std::move(c)});
  }
  std::vector<double> buffers = {1};
  for (int j = 1; j < static_cast<int>(kSteps); ++j)
    buffers.push_back(.257 * std::pow(.5791, j - 1) + .25 * std::pow(.9816, j - 1));
  rows.push_back({"two buffers", std::move(buffers)});
  return rows;
}

// The root mean square over the steps of the error of prefix sums, for messages' noise of one: the
// rows of (prefix sums) C^-1, a Toeplitz matrix h with c(x) h(x) = 1/(1 - x).
double ErrorOf(const std::vector<double>& c) {
  std::vector<double> h;
  double row = 0, sum = 0;
  for (size_t t = 0; t < kSteps; ++t) {
    double value = 1;
    for (size_t j = 1; j < c.size() && j <= t; ++j) value -= c[j] * h[t - j];
    h.push_back(value);
    row += value * value;
    sum += row;
  }
  return std::sqrt(sum / static_cast<double>(kSteps));
}

std::string Epsilon(const ToeplitzEncoder& encoder, double noise) {
  History history;
  history.Add("w", Mechanism{1, MatrixMechanism{encoder, noise}});
  const auto composition = Resolve(history, Adjacency::kZeroOut);
  EXPECT_TRUE(composition.ok()) << composition.status();
  const auto epsilon = ComputeEpsilon(*composition, kDelta, {.relative_gap = 1e-3});
  EXPECT_TRUE(epsilon.ok()) << epsilon.status();
  return absl::StrFormat("%#.3g", epsilon->value.upper());
}

std::string LineOf(const Row& row, double error_of_widest) {
  std::vector<std::string> noises, fixed, cyclic, bins;
  const std::vector<double>& c = row.coefficients;
  for (const double widest : {21.255, 6.005, 3.285}) {  // of b = 100: ε 1, 4 and 8 unsampled
    const double noise = widest * error_of_widest / ErrorOf(c);
    noises.push_back(absl::StrFormat("%#.4g", noise));
    fixed.push_back(Epsilon({kSteps, c, Participation{kSteps / kSpacing, kSpacing}}, noise));
    bins.push_back(Epsilon({kSteps, c, BallsInBins{kSpacing}}, noise));
    if (c.size() <= kSpacing) {
      const double share = static_cast<double>(c.size()) / static_cast<double>(kSpacing);
      cyclic.push_back(Epsilon(
          {kSteps, c, CyclicPoisson{c.size(), share, CyclicPoisson::Groups::kDrawnOneByOne}},
          noise));
    }
  }
  const auto cell = [](const std::vector<std::string>& values) {
    return values.empty() ? std::string("–") : absl::StrJoin(values, " · ");
  };
  return absl::StrCat("| ", row.name, " | ", cell(noises), " | ", cell(fixed), " | ", cell(cyclic),
                      " | ", cell(bins), " |");
}

TEST(FtrlTable, IsWhatTheAccountantAnswers) {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  const auto page =
      ReadFile(absl::StrCat(source != nullptr ? source : ".", "/docs/strategies/dp-ftrl.md"));
  ASSERT_TRUE(page.ok()) << page.status();
  const std::vector<Row> rows = Rows();
  const double widest = ErrorOf(rows[3].coefficients);
  for (const Row& row : rows) {
    const std::string line = LineOf(row, widest);
    EXPECT_NE(page->find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dpledger::accountant
