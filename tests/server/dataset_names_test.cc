#include "server/summaries/dataset_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "server/summaries/ledger_index.h"
#include "tests/server/row_of.h"

namespace dpledger::server {
namespace {

TEST(DatasetNames, SlipsAreNearlyTheSame) {
  const std::vector<std::pair<std::string, std::string>> near = {{"adult", "Adult"},
                                                                 {"adult", "adult "},
                                                                 {"visits-2026", "visits_2026"},
                                                                 {"adult", "adlut"},
                                                                 {"adult", "adul"},
                                                                 {"adult", "aduult"},
                                                                 {"adult", "adolt"},
                                                                 {"adult", "dault"},
                                                                 {"mnist", "mnists"},
                                                                 {"a.b", "AB"},
                                                                 {"müller", "muller"},
                                                                 {"Müller", "MÜLLER"},
                                                                 {"пациенты", "ПАЦИЕНТЫ"},
                                                                 {"пациенты", "пацеинты"},
                                                                 {"caf\u00e9s", "cafe\u0301s"},
                                                                 {"two words", "two\u00a0words"}};
  for (const auto& [a, b] : near) {
    EXPECT_TRUE(AreNearlySame(a, b)) << a << " " << b;
    EXPECT_TRUE(AreNearlySame(b, a)) << a << " " << b;
  }
}

TEST(DatasetNames, OthersAreNot) {
  const std::vector<std::pair<std::string, std::string>> apart = {{"visits-2025", "visits-2026"},
                                                                  {"visits-2025", "visits-205"},
                                                                  {"mnist", "mnist2"},
                                                                  {"adult", "adults2"},
                                                                  {"adult", "adtul"},
                                                                  {"abc", "abd"},
                                                                  {"", "a"},
                                                                  {"adult", "income"},
                                                                  {"adult", "aduzlts"},
                                                                  {"北京", "南京"},
                                                                  {"---", "!!!"},
                                                                  {"mnist-a", "mnist-b"},
                                                                  {"mnist", "mnist-a"}};
  for (const auto& [a, b] : apart) {
    EXPECT_FALSE(AreNearlySame(a, b)) << a << " " << b;
    EXPECT_FALSE(AreNearlySame(b, a)) << a << " " << b;
  }
}

TEST(DatasetNames, AreThoseOfLedgers) {
  LedgerIndex index;
  for (const auto& [name, dataset] :
       {std::pair("a", "adult"), std::pair("b", "adult-2"), std::pair("c", "Adult 2")}) {
    v1::Ledger ledger;
    ledger.set_name(name);
    ledger.set_size(1);
    ledger.mutable_declaration()->set_dataset(dataset);
    index.PutLedger(HeadOf(ledger));
  }
  EXPECT_EQ(index.NearlyCalled("adul"), (LedgerIndex::Datasets{{"adult", {"a"}}}));
  EXPECT_EQ(index.NearlyCalled("adult2"),
            (LedgerIndex::Datasets{{"Adult 2", {"c"}}, {"adult-2", {"b"}}}));
  EXPECT_TRUE(index.NearlyCalled("adult").empty());
  EXPECT_TRUE(index.NearlyCalled("Adult 2").empty()) << "it is there, whatever is like it";
}

// What a run under the budget "b", or the budget itself, has spent of 10.
v1::FilterSpending SpentOf(const std::string& ledger, double spent, bool crossed = false) {
  v1::FilterSpending spending;
  spending.set_ledger(ledger);
  spending.set_bound(10);
  spending.set_spent(spent);
  spending.set_crossed(crossed);
  return spending;
}

TEST(LedgerIndex, KnowsBudgetsThatAreNearlyFullOrOverspent) {
  LedgerIndex index;
  uint64_t size = 0;
  const auto tell = [&](const std::string& name, const v1::FilterSpending& spending,
                        v1::LedgerState state = v1::OPEN, bool is_copy = false) {
    v1::Ledger ledger;
    if (is_copy) ledger.mutable_import();
    ledger.set_name(name);
    ledger.set_size(++size);
    ledger.set_state(state);
    if (name == "b") ledger.mutable_declaration()->set_kind(v1::BUDGET);
    if (name != "b") ledger.mutable_declaration()->set_budget("b");
    index.PutLedger(HeadOf(ledger));
    auto summary = std::make_shared<v1::LedgerSummary>();
    summary->set_ledger(name);
    summary->set_size(size);
    *summary->mutable_spending() = spending;
    index.PutSummary(std::move(summary));
  };
  tell("b", SpentOf("b", 7.9));
  EXPECT_EQ(index.nearly_full(), 0u);
  tell("b", SpentOf("b", 8));
  EXPECT_EQ(index.nearly_full(), 1u);
  tell("b", SpentOf("b", 9), v1::SEALED);
  EXPECT_EQ(index.nearly_full(), 0u);
  tell("b", SpentOf("b", 0));
  tell("run", SpentOf("run", 9.9));
  EXPECT_EQ(index.nearly_full(), 0u) << "a run is no budget";
  EXPECT_EQ(index.overspent(), 0u);
  tell("run", SpentOf("run", 3, /*crossed=*/true));
  tell("other", SpentOf("other", 2, /*crossed=*/true));
  EXPECT_EQ(index.overspent(), 2u);
  ASSERT_EQ(index.Overspent("b").size(), 2u);
  EXPECT_EQ(index.Overspent("b")[0].ledger(), "other");
  EXPECT_TRUE(index.Overspent("c").empty());
  tell("run", SpentOf("run", 3));
  EXPECT_EQ(index.overspent(), 1u);
  tell("copy", SpentOf("copy", 30, /*crossed=*/true), v1::OPEN, /*is_copy=*/true);
  EXPECT_EQ(index.overspent(), 1u) << "whoever may import could end any budget";
}

TEST(ShapeOf, IsOneForNamesThatLookAlike) {
  for (const auto& [a, b] :
       std::vector<std::pair<std::string, std::string>>{{"MNIST", "mnist"},
                                                        {"\u0430dult", "adult"},
                                                        {"visits 2O25", "visits_2025"},
                                                        {"bill", "b1ll"},
                                                        {"p\u03BFol", "pool"}}) {
    EXPECT_EQ(ShapeOf(a), ShapeOf(b)) << a << " " << b;
  }
  EXPECT_NE(ShapeOf("adult"), ShapeOf("adults"));
  EXPECT_NE(ShapeOf("visits-2025"), ShapeOf("visits-2026"));
}

}  // namespace
}  // namespace dpledger::server
