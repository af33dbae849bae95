// What answers promise, word for word: guarantees.txt beside this file has each case's text, which
// was read with the definitions of differential privacy beside it.
#include "questions/guarantee.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace dpledger::questions {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
const std::vector<v1::Regime> kRegimes = {v1::FIXED_PLAN, v1::FILTER, v1::ODOMETER};
const std::vector<v1::Adjacency> kAdjacencies = {v1::ADD_OR_REMOVE_ONE, v1::REPLACE_ONE,
                                                 v1::ZERO_OUT};

v1::AnswerDetails Of(v1::Regime regime, v1::Adjacency adjacency,
                     const std::vector<std::string>& units = {"user"}) {
  v1::AnswerDetails details;
  details.set_regime(regime);
  details.set_adjacency(adjacency);
  details.set_declaration_source(v1::DECLARED);
  details.set_group_size(1);
  for (const std::string& unit : units) details.add_ledgers()->set_unit_of_privacy(unit);
  return details;
}

// Every case, named, with its text.
class Cases {
 public:
  void Add(const std::string& about, const v1::AnswerDetails& details, double bound = 1,
           Asked asked = Asked::kEpsilon) {
    absl::StrAppend(&text_, "# ", about, ", ", v1::Regime_Name(details.regime()), ", ",
                    v1::Adjacency_Name(details.adjacency()), "\n",
                    GuaranteeOf(details, bound, asked), "\n");
  }
  void AddDelta(double delta, uint64_t records) {
    absl::StrAppend(&text_, "# delta ", delta, " over ", records, "\n",
                    DeltaWarning(delta, records), "\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Forks whose parent is in the question and is not, and copies.
void AddLineages(Cases& cases) {
  v1::AnswerDetails fork = Of(v1::FIXED_PLAN, v1::ADD_OR_REMOVE_ONE, {"user", "user"});
  fork.mutable_ledgers(0)->set_name("projects/p/ledgers/child");
  fork.mutable_ledgers(0)->mutable_fork()->set_parent("projects/p/ledgers/parent");
  fork.mutable_ledgers(1)->set_name("projects/p/ledgers/other");
  cases.Add("fork", fork);
  fork.mutable_ledgers(1)->set_name("projects/p/ledgers/parent");
  cases.Add("fork beside its parent", fork);
  v1::AnswerDetails copy = Of(v1::FIXED_PLAN, v1::ADD_OR_REMOVE_ONE);
  copy.mutable_ledgers(0)->mutable_import();
  cases.Add("copy", copy);
}

std::string AllCases() {
  Cases cases;
  for (const v1::Regime regime : kRegimes) {
    for (const v1::Adjacency adjacency : kAdjacencies) cases.Add("declared", Of(regime, adjacency));
  }
  for (const v1::Regime regime : kRegimes)
    cases.Add("no bound", Of(regime, v1::REPLACE_ONE), kNone);
  for (const v1::Adjacency adjacency : kAdjacencies) {
    cases.Add("above 10", Of(v1::ODOMETER, adjacency), 10.5);
    for (const v1::Regime regime : {v1::FIXED_PLAN, v1::ODOMETER}) {
      v1::AnswerDetails group = Of(regime, adjacency);
      group.set_group_size(4);
      cases.Add("groups of 4", group);
    }
    v1::AnswerDetails events = Of(v1::FIXED_PLAN, adjacency, {});
    events.set_declaration_source(v1::ASSUMED);
    cases.Add("events, assumed", events);
    events.set_declaration_source(v1::STATED);
    cases.Add("events, stated", events);
  }
  for (const v1::Regime regime : kRegimes) {
    v1::AnswerDetails details = Of(regime, v1::ADD_OR_REMOVE_ONE, {"patient", "patient"});
    details.mutable_ledgers(1)->set_missing_count(2);
    cases.Add("short", details);
    details.mutable_ledgers(0)->add_corrections();
    cases.Add("short and corrected", details);
    details.mutable_ledgers(1)->clear_missing_count();
    cases.Add("corrected", details);
  }
  v1::AnswerDetails corrected = Of(v1::FIXED_PLAN, v1::ZERO_OUT);
  corrected.mutable_ledgers(0)->add_corrections();
  cases.Add("corrected, no bound", corrected, kNone);
  cases.Add("above 10", Of(v1::FIXED_PLAN, v1::ZERO_OUT), 10.5);
  cases.Add("10", Of(v1::FIXED_PLAN, v1::ZERO_OUT), 10);
  v1::AnswerDetails several = Of(v1::FIXED_PLAN, v1::ADD_OR_REMOVE_ONE, {"user", "hospital"});
  cases.Add("two units", several);
  several.set_group_size(4);
  cases.Add("two units, groups of 4", several);
  cases.Add("one of two states its unit", Of(v1::FIXED_PLAN, v1::REPLACE_ONE, {"user", ""}));
  cases.Add("neither states its unit", Of(v1::FIXED_PLAN, v1::ADD_OR_REMOVE_ONE, {"", ""}));
  cases.Add("records", Of(v1::FIXED_PLAN, v1::ADD_OR_REMOVE_ONE, {"record", "record"}));
  cases.Add("no unit", Of(v1::FILTER, v1::ADD_OR_REMOVE_ONE, {""}));
  AddLineages(cases);
  for (const v1::Adjacency adjacency : kAdjacencies)
    cases.Add("delta asked", Of(v1::ODOMETER, adjacency), 1, Asked::kDelta);
  cases.Add("a search", Of(v1::FIXED_PLAN, v1::REPLACE_ONE), 1, Asked::kSearch);
  cases.Add("the best of a search", Of(v1::FIXED_PLAN, v1::REPLACE_ONE), 1, Asked::kBestOfSearch);
  cases.Add("unknown", Of(v1::FIXED_PLAN, v1::ADJACENCY_UNSPECIFIED));
  cases.Add("unknown", Of(v1::REGIME_UNSPECIFIED, v1::REPLACE_ONE));
  for (const uint64_t records : {9'000'000, 240'001, 100'000, 99'999, 60'000, 10'000, 9'999, 0})
    cases.AddDelta(1e-5, records);
  return cases.text();
}

TEST(Guarantee, IsThisWordForWord) {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  const auto read =
      ReadFile(absl::StrCat(source != nullptr ? source : ".", "/tests/questions/guarantees.txt"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(AllCases(), *read);
}

}  // namespace
}  // namespace dpledger::questions
