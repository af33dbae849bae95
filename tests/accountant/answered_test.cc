// What is answered under which adjacency, and that the answers hold: every row of
// docs/mechanisms.md against mechanisms of a few records.
#include "tests/accountant/answered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "accountant/accountant.h"
#include "base/file.h"
#include "base/status.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant::testing {
namespace {

std::vector<Answered> Everything() {
  std::vector<Answered> cases = AnsweredSchemes();
  for (Answered& other : AnsweredMechanisms()) cases.push_back(std::move(other));
  return cases;
}

// The cells of every table row of the page, by the first one; those of the adjacencies only.
std::map<std::string, std::vector<std::string>> RowsOf(const std::string& path) {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  const auto page = ReadFile(std::string(source != nullptr ? source : ".") + "/" + path);
  EXPECT_TRUE(page.ok()) << page.status();
  std::map<std::string, std::vector<std::string>> rows;
  for (const auto line : absl::StrSplit(page.value_or(""), '\n')) {
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() < 6) continue;
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    if (cells[1].empty() || cells[1][0] != '`') continue;
    rows[cells[1]] = {cells[2], cells[3], cells[4], cells[5]};
  }
  return rows;
}

bool IsAnswered(const History& history, const accountant::Neighbours& neighbours) {
  const auto composition = Resolve(history, neighbours);
  EXPECT_EQ(ReasonOf(composition.status()).reason, composition.ok() ? "" : "NO_ANALYSIS");
  return composition.ok();
}

TEST(Answered, IsWhatTheTableSays) {
  const auto rows = RowsOf("docs/mechanisms.md");
  std::map<std::string, std::vector<bool>> answered;  // by row: some case is
  for (const Answered& c : Everything()) {
    ASSERT_EQ(rows.count(c.row), 1u) << c.row;
    auto& any = answered.try_emplace(c.row, 3, false).first->second;
    for (size_t i = 0; i < kAdjacencies.size(); ++i) {
      const bool found = IsAnswered(c.history, kAdjacencies[i]);
      EXPECT_EQ(found, c.factors[i] > 0) << c.row << " " << AdjacencyName(kAdjacencies[i]);
      any[i] = any[i] || found;
      // What holds as declared says nothing under another adjacency.
      accountant::Neighbours asked = kAdjacencies[i];
      asked.declared = kAdjacencies[(i + 1) % 3];
      if (found && rows.at(c.row)[i] == "declared") {
        EXPECT_FALSE(IsAnswered(c.history, asked)) << c.row;
      }
    }
  }
  for (const auto& [row, cells] : rows) {
    ASSERT_EQ(answered.count(row), 1u) << row << " has no case";
    for (size_t i = 0; i < kAdjacencies.size(); ++i) {
      EXPECT_EQ(answered.at(row)[i], cells[i] != "–") << row << " " << cells[i];
    }
  }
}

TEST(Answered, GroupsAreWhatTheTableSays) {
  const auto rows = RowsOf("docs/mechanisms.md");
  for (const Answered& c : Everything()) {
    for (size_t i = 0; i < kAdjacencies.size(); ++i) {
      accountant::Neighbours two = kAdjacencies[i];
      two.group_size = 2;
      EXPECT_EQ(IsAnswered(c.history, two), c.groups[i])
          << c.row << " " << AdjacencyName(kAdjacencies[i]);
    }
  }
  for (const Answered& c : AnsweredSchemes()) {
    const bool any = c.groups[0] || c.groups[1] || c.groups[2];
    EXPECT_EQ(any, rows.at(c.row)[3] != "–") << c.row;
  }
}

// Cells of the line move δ by no more than this.
constexpr double kCell = 3e-5;

void ExpectHolds(const Answered& c, const accountant::Neighbours& neighbours, double factor) {
  const auto composition = Resolve(c.history, neighbours);
  ASSERT_TRUE(composition.ok()) << composition.status();
  for (const double epsilon : {0.05, 0.3, 0.8}) {
    const std::string where = c.row + " " + AdjacencyName(neighbours.adjacency) + " " +
                              std::to_string(neighbours.group_size) + " " + std::to_string(epsilon);
    const double truth = c.truth(neighbours.adjacency, epsilon, neighbours.group_size);
    const auto delta = ComputeDelta(*composition, epsilon, {.relative_gap = 1e-4});
    ASSERT_TRUE(delta.ok()) << where << " " << delta.status();
    // (Where the truth is 0, rounding leaves it a few 1e-16.)
    EXPECT_GE(delta->value.upper(), truth * (1 - 1e-9) - 1e-15) << where;
    if (std::isfinite(factor)) {
      EXPECT_LE(delta->value.upper(), factor * truth + kCell) << where;
    }
    EXPECT_LE(delta->value.lower(), truth + kCell) << where;
  }
}

TEST(Answered, HoldsAndIsNoLooserThanStated) {
  dpledger::testing::SampledCases sampled(2);
  for (const Answered& c : Everything()) {
    for (size_t i = 0; i < kAdjacencies.size(); ++i) {
      if (c.factors[i] == 0 || c.truth == nullptr || !sampled.Next()) continue;
      ExpectHolds(c, kAdjacencies[i], c.factors[i]);
    }
  }
}

TEST(Answered, HoldsForGroups) {
  for (const Answered& c : Everything()) {
    for (size_t i = 0; i < kAdjacencies.size(); ++i) {
      if (!c.groups[i] || c.truth == nullptr) continue;
      accountant::Neighbours two = kAdjacencies[i];
      two.group_size = 2;
      ExpectHolds(c, two, 2 * c.factors[i]);
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::testing
