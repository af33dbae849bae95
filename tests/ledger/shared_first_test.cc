#include "ledger/shared_first.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace dpledger {
namespace {

v1::LedgerEntry Declaring(const std::string& description) {
  v1::LedgerEntry first;
  first.mutable_declaration()->set_description(description);
  return first;
}

TEST(SharedFirst, HoldsEqualEntriesOnce) {
  const auto one = SharedFirst(Declaring("a"));
  EXPECT_EQ(SharedFirst(Declaring("a")), one);
  v1::LedgerEntry of_alice = Declaring("a");
  of_alice.set_caller("alice");
  EXPECT_EQ(SharedFirst(of_alice)->caller(), "alice");
  EXPECT_EQ(one->caller(), "");
}

// More than there are places, so that many fall on one that is taken, and some that are too long.
TEST(SharedFirst, GivesEachLedgerItsOwnWords) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      const std::string words = absl::StrCat(i, std::string(i % 100 == 0 ? 3000 : 0, 'x'));
      ASSERT_EQ(SharedFirst(Declaring(words))->declaration().description(), words);
    }
  }
}

}  // namespace
}  // namespace dpledger
