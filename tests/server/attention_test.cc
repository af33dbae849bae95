// What somebody has to act on: each reason, by the least that makes it one, and by what does not.
#include "server/summaries/attention.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/row_of.h"

namespace dpledger::server {
namespace {

using Item = v1::AttentionItem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class AttentionOfLedger : public ::testing::Test {
 protected:
  AttentionOfLedger() {
    ledger_.set_name("projects/p/ledgers/run");
    ledger_.set_state(v1::OPEN);
    ledger_.mutable_declaration()->set_dataset("adult");
    summary_.set_delta(1e-6);
    summary_.set_population(48'842);
    summary_.mutable_epsilon()->set_upper(1.5);
    summary_.mutable_last_entry_time()->set_seconds(absl::ToUnixSeconds(kNow) - 60);
  }
  std::vector<Item> Items() const {
    std::vector<Item> items;
    AddAttention(RowOf(ledger_, summary_), kNow, items);
    return items;
  }
  // The one item that there is then, of this reason.
  void ExpectOne(Item::Reason reason, const std::string& title) const {
    const std::vector<Item> items = Items();
    ASSERT_EQ(items.size(), 1u) << title;
    EXPECT_EQ(items[0].reason(), reason);
    EXPECT_THAT(items[0].title(), HasSubstr(title));
    EXPECT_EQ(items[0].ledger(), "projects/p/ledgers/run");
    EXPECT_THAT(items[0].datasets(), ElementsAre("adult"));
    EXPECT_GT(items[0].message().size(), 20u);
  }

  v1::Ledger ledger_;
  v1::LedgerSummary summary_;
};

TEST_F(AttentionOfLedger, IsNothingWhereAllIsWell) { EXPECT_THAT(Items(), IsEmpty()); }

TEST_F(AttentionOfLedger, IsNothingOfTheLedgerWithoutASummary) {
  std::vector<Item> items;
  AddAttention(RowOf(ledger_, std::nullopt), kNow, items);
  EXPECT_THAT(items, IsEmpty());
}

TEST_F(AttentionOfLedger, SaysThatThereIsNoBound) {
  summary_.mutable_epsilon()->set_upper(std::numeric_limits<double>::infinity());
  ExpectOne(Item::NO_BOUND, "epsilon has no bound");
}

TEST_F(AttentionOfLedger, SaysWhyEpsilonIsRefused) {
  summary_.clear_epsilon();
  summary_.mutable_refusal()->set_message("no method has an answer for this");
  ExpectOne(Item::EPSILON_REFUSED, "epsilon is refused");
  EXPECT_EQ(Items()[0].message(), "no method has an answer for this.");
  ledger_.mutable_declaration()->set_parameters(v1::ADAPTIVE);
  EXPECT_THAT(Items()[0].message(), HasSubstr("no filter was declared"));
}

TEST_F(AttentionOfLedger, CountsCorrectionsAndConflicts) {
  summary_.set_corrections(1);
  ExpectOne(Item::CORRECTED, "1 correction");
  summary_.set_corrections(0);
  summary_.set_conflicts(2);
  ExpectOne(Item::CONFLICTS, "2 refused batches");
}

TEST_F(AttentionOfLedger, NamesWritersWhoseReleasesMayBeMissing) {
  v1::WriterStatus& writer = *ledger_.add_writers();
  writer.set_writer("night");
  writer.set_more_missing_spools(1);
  ExpectOne(Item::MISSING_SPOOL, "writer night");
  ledger_.clear_writers();
  ledger_.set_open_writer_count(2);
  EXPECT_THAT(Items(), IsEmpty()) << "an open ledger has open writers";
  ledger_.set_state(v1::SEALED);
  ExpectOne(Item::OPEN_WRITERS, "2 writers");
}

TEST_F(AttentionOfLedger, ComparesDeltaWithTheRecordsThatAreStated) {
  summary_.set_delta(1e-4);  // 4.9 of 1/48842
  ExpectOne(Item::DELTA_TOO_LARGE, "delta does not fit");
  EXPECT_THAT(Items()[0].message(), HasSubstr("at most 4.9 times 1/n"));
  summary_.set_population(0);  // nobody stated any
  EXPECT_THAT(Items(), IsEmpty());
}

TEST_F(AttentionOfLedger, TellsOfFiltersAndBudgetsNearTheirBound) {
  v1::FilterSpending& spending = *summary_.mutable_spending();
  spending.set_bound(2);
  spending.set_spent(1.59);
  EXPECT_THAT(Items(), IsEmpty());
  spending.set_spent(1.6);
  ExpectOne(Item::NEARLY_SPENT, "80 % and more of its filter is spent");
  ledger_.mutable_declaration()->set_kind(v1::BUDGET);
  ExpectOne(Item::NEARLY_SPENT, "80 % and more of this budget is granted");
  spending.set_crossed(true);
  ExpectOne(Item::OVERSPENT, "more than its filter allows");
  spending.set_budget("projects/p/datasets/d/budgets/b");
  ExpectOne(Item::OVERSPENT, "more than projects/p/datasets/d/budgets/b granted it");
  spending.set_crossed(false);
  ledger_.set_state(v1::SEALED);
  EXPECT_THAT(Items(), IsEmpty()) << "it ended within its bound";
  // The squares of μ add up: 80 % are spent at √.8 of the bound.
  ledger_.set_state(v1::OPEN);
  spending.clear_budget();
  spending.set_filter("mu (gdp)");
  spending.set_spent(1.78);
  EXPECT_THAT(Items(), IsEmpty());
  spending.set_spent(1.79);
  ExpectOne(Item::NEARLY_SPENT, "80 % and more of this budget is granted");
  // Of a copy, the budget is another server's.
  ledger_.mutable_import()->set_size(1);
  spending.set_budget("projects/p/datasets/d/budgets/b");
  spending.set_crossed(true);
  ExpectOne(Item::OVERSPENT, "its budget granted it, on the server that it was copied from");
}

TEST_F(AttentionOfLedger, HearsThatARunIsSilent) {
  summary_.mutable_last_entry_time()->set_seconds(
      absl::ToUnixSeconds(kNow - absl::Hours(14 * 24) + absl::Minutes(1)));
  EXPECT_THAT(Items(), IsEmpty());
  summary_.mutable_last_entry_time()->set_seconds(absl::ToUnixSeconds(kNow - absl::Hours(14 * 24)));
  ExpectOne(Item::SILENT, "open, and no entry since 20");
  ledger_.set_state(v1::SEALED);
  EXPECT_THAT(Items(), IsEmpty());
}

TEST(AttentionOfDatasets, NamesTotalsThatAreRefusedAndNamesThatLookAlike) {
  std::vector<v1::DatasetSummary> datasets(4);
  datasets[0].set_name("adult");
  datasets[1].set_name("\u0430dult");
  datasets[2].set_name("mnist");
  datasets[3].set_name("visits");
  for (v1::DatasetSummary& dataset : datasets) {
    dataset.set_ledger_count(2);
    dataset.mutable_epsilon()->set_upper(1);
  }
  datasets[2].mutable_refusal()->set_reason("UNDER_WAY");
  datasets[3].mutable_refusal()->set_reason("UNITS_DIFFER");
  datasets[3].mutable_refusal()->set_message("the units differ");
  std::vector<Item> items;
  AddAttention(datasets, items);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].reason(), Item::TOTAL_REFUSED);
  EXPECT_THAT(items[0].datasets(), ElementsAre("visits"));
  EXPECT_THAT(items[0].message(), HasSubstr("the units differ. The total is at least"));
  EXPECT_EQ(items[1].reason(), Item::ALIKE);
  EXPECT_THAT(items[1].datasets(), ElementsAre("adult", "\u0430dult"));
  datasets[3].set_ledger_count(1);  // its own line says it
  items.clear();
  AddAttention(datasets, items);
  EXPECT_EQ(items.size(), 1u);
}

TEST(AttentionOfServer, NamesWhatEndsWithinTwoWeeksAndWhatIsNotSigned) {
  const auto titles = [](const ServerState& state) {
    std::vector<Item> items;
    AddAttention(state, kNow, items);
    std::vector<std::string> all;
    for (const Item& item : items) {
      EXPECT_EQ(item.ledger(), "");
      EXPECT_THAT(item.datasets(), IsEmpty());
      all.push_back(absl::StrCat(Item::Reason_Name(item.reason()), " ", item.title()));
    }
    return all;
  };
  const absl::Duration two_weeks = absl::Hours(14 * 24);
  ServerState state;
  state.signed_late = absl::Minutes(1);
  state.signed_age = absl::Seconds(59);
  EXPECT_THAT(titles(state), IsEmpty()) << "plain text, no tokens";
  state.certificate_ends = kNow + two_weeks;
  state.tokens = {{"token:a", kNow + two_weeks}, {"token:b", absl::InfiniteFuture()}};
  EXPECT_THAT(titles(state), IsEmpty());
  state.signed_age = absl::Minutes(1);
  state.certificate_ends = kNow + two_weeks - absl::Seconds(1);
  state.tokens[0].ends = kNow - absl::Hours(1);
  EXPECT_THAT(titles(state),
              ElementsAre("SIGNED_LATE no ledger was signed since 2027-01-15 07:59 UTC",
                          "CERTIFICATE_ENDS the server's certificate ends on 2027-01-29",
                          "TOKEN_ENDS the token of token:a ends on 2027-01-15"));
}

TEST(AttentionPlace, IsByGravityAndThenByName) {
  Item grave, other, light;
  grave.set_reason(Item::NO_BOUND);
  grave.set_ledger("projects/z/ledgers/z");
  other.set_reason(Item::NO_BOUND);
  other.set_ledger("projects/z/ledgers/zz");
  light.set_reason(Item::SILENT);
  light.set_ledger("projects/a/ledgers/a");
  EXPECT_LT(PlaceOf(grave), PlaceOf(other));
  EXPECT_LT(PlaceOf(other), PlaceOf(light));
}

}  // namespace
}  // namespace dpledger::server
