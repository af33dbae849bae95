// Lists in an order, followed through thousands of changes: against a list that is sorted anew.
#include "server/summaries/ordered_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/row_of.h"

namespace dpledger::server {
namespace {

class OrderedListsTest : public ::testing::Test {
 protected:
  // One more entry; half of them with another ε, which few ledgers have alone.
  void Change(int ledger) {
    v1::Ledger& known = ledgers_[static_cast<size_t>(ledger)];
    if (known.name().empty())
      known.set_name(absl::StrCat("projects/", ledger % 3, "/ledgers/l", ledger));
    known.set_size(known.size() + 1);
    index_.PutLedger(HeadOf(known));
    if (random_() % 2 == 0) return;
    v1::LedgerSummary summary;
    summary.set_ledger(known.name());
    summary.set_size(known.size());
    summary.mutable_compute_time()->set_seconds(static_cast<int64_t>(random_() % 10));
    if (random_() % 8 > 0)
      summary.mutable_epsilon()->set_upper(static_cast<double>(random_() % 20));
    index_.PutSummary(std::make_shared<const v1::LedgerSummary>(summary));
  }
  // The definition.
  std::vector<std::string> Sorted(const std::string& parent, const ListOrder& order) const {
    LedgerRows rows = index_.Of(parent);
    std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
      return order.Before(order.PlaceOf(*a), order.PlaceOf(*b));
    });
    return NamesOf(rows);
  }
  static std::vector<std::string> NamesOf(const LedgerRows& rows) {
    std::vector<std::string> names;
    for (const auto& row : rows) names.push_back(absl::StrCat(row->name(), " ", row->size()));
    return names;
  }
  int Any(int count) { return std::uniform_int_distribution(0, count - 1)(random_); }

  std::mt19937 random_{36};
  std::vector<v1::Ledger> ledgers_{3000};
  LedgerIndex index_;
};

TEST_F(OrderedListsTest, FollowTheIndex) {
  for (int ledger = 0; ledger < 900; ++ledger) Change(ledger);
  OrderedLists lists(&index_);
  const std::vector<std::string> parents = {"projects/-", "projects/1", "projects/none"};
  const std::vector<ListOrder> orders = {
      *ListOrder::Parse("epsilon desc"), *ListOrder::Parse("epsilon"),
      *ListOrder::Parse("age desc"), *ListOrder::Parse("name desc"), *ListOrder::Parse("size")};
  int known = 900;
  for (int step = 0; step < 600; ++step) {
    // None, some, so many that the list is made anew, and new ones.
    const int changes = step % 50 == 0 ? 1500 : Any(4) * Any(10);
    for (int i = 0; i < changes; ++i) Change(Any(known));
    for (int i = Any(5); i > 0 && known < 3000; --i) Change(known++);
    const std::string& parent = parents[static_cast<size_t>(Any(3))];
    const ListOrder& order = orders[static_cast<size_t>(Any(5))];
    const OrderedRows rows = lists.Of(parent, order);
    ASSERT_EQ(NamesOf(*rows), Sorted(parent, order)) << step;
    // What stands behind any place of it, also one where no ledger is.
    if (rows->empty()) continue;
    ListOrder::Place place =
        order.PlaceOf(*(*rows)[static_cast<size_t>(Any(static_cast<int>(rows->size())))]);
    if (Any(2) == 0) place.name = "projects/1/ledgers/l3x";
    const auto behind = Behind(order, place, rows->begin(), rows->end());
    for (auto it = rows->begin(); it != rows->end(); ++it)
      ASSERT_EQ(order.Before(place, order.PlaceOf(**it)), it >= behind);
  }
}

// Who reads a page while the list goes on has the one that there was.
TEST_F(OrderedListsTest, WhoReadsIsNotDisturbed) {
  for (int ledger = 0; ledger < 100; ++ledger) Change(ledger);
  OrderedLists lists(&index_);
  const ListOrder order = *ListOrder::Parse("size desc");
  const OrderedRows before = lists.Of("projects/-", order);
  const std::vector<std::string> names = NamesOf(*before);
  EXPECT_EQ(lists.Of("projects/-", order), before) << "kept, as nothing has changed";
  Change(50);
  EXPECT_EQ((*lists.Of("projects/-", order))[0]->name(), ledgers_[50].name());
  EXPECT_EQ(NamesOf(*before), names);
}

}  // namespace
}  // namespace dpledger::server
