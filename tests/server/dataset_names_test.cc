#include "server/summaries/dataset_names.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "server/summaries/ledger_index.h"

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
    index.PutLedger(std::move(ledger));
  }
  EXPECT_EQ(index.NearlyCalled("adul"), (LedgerIndex::Datasets{{"adult", {"a"}}}));
  EXPECT_EQ(index.NearlyCalled("adult2"),
            (LedgerIndex::Datasets{{"Adult 2", {"c"}}, {"adult-2", {"b"}}}));
  EXPECT_TRUE(index.NearlyCalled("adult").empty());
  EXPECT_TRUE(index.NearlyCalled("Adult 2").empty()) << "it is there, whatever is like it";
}

}  // namespace
}  // namespace dpledger::server
