// Names of callers: what they may hold, and that two callers never share one.
#include "identity/caller.h"

#include <gtest/gtest.h>

#include "identity/token.h"
#include "tests/identity/samples.h"

namespace dpledger::identity {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(CallerName, SaysHowTheCallerIsKnown) {
  EXPECT_EQ(*TokenCallerName("alice-trainer"), "token:alice-trainer");
  EXPECT_EQ(*SpiffeCallerName("spiffe://example.org/ns/ml/sa/T_1.x"),
            "spiffe://example.org/ns/ml/sa/T_1.x");
  EXPECT_EQ(*DnsCallerName("Trainer-1.Example.ORG"), "dns:trainer-1.example.org");
  EXPECT_EQ(*OidcCallerName("https://kubernetes.default.svc", "system:serviceaccount:ml:trainer"),
            "oidc:https://kubernetes.default.svc#system:serviceaccount:ml:trainer");
  for (const std::string& name : {*TokenCallerName("a"), *DnsCallerName("b"),
                                  *OidcCallerName("https://c", "\x01 *%#\"\\\xff")}) {
    EXPECT_TRUE(IsCallerName(name)) << name;
  }
}

TEST(CallerName, EscapesSubjectsWithoutLoss) {
  EXPECT_EQ(*OidcCallerName("i", "a b"), "oidc:i#a%20b");
  EXPECT_EQ(*OidcCallerName("i", "a%20b"), "oidc:i#a%2520b");
  EXPECT_EQ(*OidcCallerName("i", "\n\"*#"), "oidc:i#%0A%22%2A%23");
  EXPECT_EQ(*OidcCallerName("i", "\xc3\xa9"), "oidc:i#%C3%A9");
}

TEST(CallerName, RefusesWhatCannotBeOne) {
  for (const char* name : {"", "a b", "a/b", "a:b", "\xc3\xa9", "a\n", "*"}) {
    EXPECT_TRUE(IsError(TokenCallerName(name).status(), kInvalid, "name: must be 1 to 64 bytes"))
        << name;
  }
  EXPECT_TRUE(TokenCallerName(std::string(64, 'a')).ok());
  EXPECT_FALSE(TokenCallerName(std::string(65, 'a')).ok());
  for (const char* id : {"",
                         "spiffe:/x/y",
                         "SPIFFE://x/y",
                         "http://x/y",
                         "spiffe://",
                         "spiffe:///y",
                         "spiffe://x",
                         "spiffe://x/",
                         "spiffe://X/y",
                         "spiffe://u@x/y",
                         "spiffe://x:1/y",
                         "spiffe://x/y/",
                         "spiffe://x//y",
                         "spiffe://x/./y",
                         "spiffe://x/../y",
                         "spiffe://x/y?q",
                         "spiffe://x/y#f",
                         "spiffe://x/%41",
                         "spiffe://x/a b",
                         "spiffe://x/*"}) {
    EXPECT_TRUE(IsError(SpiffeCallerName(id).status(), kInvalid, "spiffe id: ")) << id;
  }
  for (const char* host :
       {"", ".", "a.", ".a", "a..b", "*.example.org", "-a", "a-", "a b", "a/b"}) {
    EXPECT_TRUE(IsError(DnsCallerName(host).status(), kInvalid, "dns name: ")) << host;
  }
  EXPECT_FALSE(DnsCallerName(std::string("a\0.b", 4)).ok());
  EXPECT_FALSE(OidcCallerName("i", "").ok());
  EXPECT_FALSE(OidcCallerName("i#j", "x").ok()) << "another issuer's subject could begin with j";
  EXPECT_FALSE(OidcCallerName("i j", "x").ok());
}

TEST(CallerName, HasABound) {
  EXPECT_TRUE(OidcCallerName("i", std::string(512 - 7, 'a')).ok());
  EXPECT_TRUE(IsError(OidcCallerName("i", std::string(513 - 7, 'a')).status(), kInvalid,
                      "sub: makes a name of 513 bytes, at most 512"));
  EXPECT_FALSE(OidcCallerName("i", std::string(1'000'000, ' ')).ok());
  EXPECT_FALSE(SpiffeCallerName("spiffe://x/" + std::string(512, 'a')).ok());
  EXPECT_FALSE(IsCallerName(std::string(513, 'a')));
}

TEST(Shown, KeepsRawBytesOutOfMessages) {
  EXPECT_EQ(Shown("a\n\x1b[31m\xff"), "\"a??[31m?\"");
  EXPECT_EQ(Shown(std::string(61, 'a')), "\"" + std::string(60, 'a') + "...\"");
}

TEST(Token, IsNeverTheSameAndKnowsItsTypos) {
  const std::string token = MakeToken();
  EXPECT_EQ(token.size(), kTokenBytes);
  EXPECT_NE(token, MakeToken());
  EXPECT_TRUE(IsToken(token));
  for (size_t i = 0; i < token.size(); ++i) {
    std::string wrong = token;
    wrong[i] = wrong[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(IsToken(wrong)) << i;
  }
  EXPECT_FALSE(IsToken(token.substr(0, 52)));
  EXPECT_FALSE(IsToken(token + "A"));
  EXPECT_FALSE(IsToken(""));
}

TEST(Token, IsHashedBySha256) {
  // FIPS 180-2, "abc"
  const Sha256Hash hash = HashOf("abc");
  EXPECT_EQ(hash[0], 0xba);
  EXPECT_EQ(hash[31], 0xad);
}

}  // namespace
}  // namespace dpledger::identity
