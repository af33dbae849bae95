#include "merkle/authenticator.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "merkle/compact_tree.h"

namespace dpledger::merkle {
namespace {

Ed25519PrivateKey Key(char seed) {
  return Ed25519PrivateKey::FromSeed(std::string(32, seed)).value();
}

// Computed with Python's hmac from RFC 5869 and RFC 2104.
TEST(Authenticator, IsTheHmacUnderTheDerivedKey) {
  EXPECT_EQ(HexEncode(ToBytes(Key('k').Derive("dpledger history 1"))),
            "032581ea3134b5dd677ebc452b32392f19dc842faf8e5c32df5561ea1e86d7f1");
  EXPECT_EQ(HexEncode(Authenticator(Key('k'), "dpledger history 1").Of({"a", "", "bc"})),
            "35bf42c03c2fca25a1544d14983b0a604a8d4b6987ed7fbd2fdf40423600222b");
}

TEST(Authenticator, HoldsForTheseFieldsThisKeyAndThisPurposeOnly) {
  const Authenticator right(Key('k'), "rows");
  const std::string code = right.Of({"ledger", "12", "bytes"});
  EXPECT_TRUE(right.Holds(code, {"ledger", "12", "bytes"}));
  EXPECT_FALSE(right.Holds(code, {"ledger", "1", "2bytes"}));  // lengths belong to it
  EXPECT_FALSE(right.Holds(code, {"ledger", "12", "bytes", ""}));
  EXPECT_FALSE(right.Holds(code, {"ledger", "12", "Bytes"}));
  EXPECT_FALSE(Authenticator(Key('l'), "rows").Holds(code, {"ledger", "12", "bytes"}));
  EXPECT_FALSE(Authenticator(Key('k'), "rows2").Holds(code, {"ledger", "12", "bytes"}));
  EXPECT_FALSE(right.Holds("", {"ledger", "12", "bytes"}));
  EXPECT_FALSE(right.Holds(code.substr(1), {"ledger", "12", "bytes"}));
  for (size_t i = 0; i < code.size(); ++i) {
    std::string wrong = code;
    wrong[i] ^= 0x10;
    EXPECT_FALSE(right.Holds(wrong, {"ledger", "12", "bytes"})) << i;
  }
}

}  // namespace
}  // namespace dpledger::merkle
