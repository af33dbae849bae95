#include "server/desk/turns.h"

#include <gtest/gtest.h>

namespace dpledger::server {
namespace {

struct Call : Turns::Waiter {
  void OnTurn() override { ++turns; }
  int turns = 0;
};

TEST(Turns, AreGivenInOrderAndToSoManyOfEachPartyAtOnce) {
  Turns turns(2);
  Call first, second, third, fourth, other;
  for (Call* const call : {&first, &second, &third, &fourth}) turns.Wait("a", call);
  EXPECT_EQ(first.turns + second.turns, 2);
  EXPECT_EQ(third.turns + fourth.turns, 0);
  turns.Wait("b", &other);
  EXPECT_EQ(other.turns, 1) << "the parties have places of their own";
  turns.Leave("a");
  EXPECT_EQ(third.turns, 1);
  EXPECT_EQ(fourth.turns, 0);
  turns.Leave("a");
  EXPECT_EQ(fourth.turns, 1);
  turns.Leave("a");
  Call late;
  turns.Wait("a", &late);
  EXPECT_EQ(late.turns, 1);
}

TEST(Turns, WhoGivesUpHasNoneAndTheNextOneHas) {
  Turns turns(1);
  Call first, second, third;
  for (Call* const call : {&first, &second, &third}) turns.Wait("a", call);
  EXPECT_FALSE(turns.GiveUp("a", &first)) << "it has a place";
  EXPECT_FALSE(turns.GiveUp("b", &second));
  EXPECT_TRUE(turns.GiveUp("a", &second));
  EXPECT_FALSE(turns.GiveUp("a", &second));
  turns.Leave("a");
  EXPECT_EQ(second.turns, 0);
  EXPECT_EQ(third.turns, 1);
  turns.Leave("a");
  EXPECT_FALSE(turns.GiveUp("a", &third));
  turns.Wait("a", &second);
  EXPECT_EQ(second.turns, 1);
}

}  // namespace
}  // namespace dpledger::server
