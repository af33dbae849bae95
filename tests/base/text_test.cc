// Text that programs and people read: numbers, bytes, addresses, names, JSON, paths of fields.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/address.h"
#include "base/decimal_text.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "base/plain_name.h"
#include "base/status.h"

namespace dpledger {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(JsonText, EscapesWhatIsNotPlainText) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(JsonString("ε"), "\"ε\"");
  EXPECT_EQ(JsonString("\xff\xc3"), "\"\\u00ff\\u00c3\"");
  EXPECT_EQ(JsonString("\xe0\x80\x80\xed\xa0\x80"),  // overlong, and a surrogate
            R"("\u00e0\u0080\u0080\u00ed\u00a0\u0080")");
  // What a terminal acts on: DEL, CSI as one character.
  EXPECT_EQ(JsonString("\x7f\xc2\x9b[31m\xc2\xa0"), "\"\\u007f\\u009b[31m\xc2\xa0\"");
}

TEST(DecimalText, IsOnTheSideOfItsBound) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double exponent = std::uniform_real_distribution(-300.0, 300.0)(random);
    const double value = (i % 2 == 0 ? 1 : -1) * std::pow(10, exponent);
    const int digits = 1 + i % 17;
    const double up = std::strtod(DecimalUp(value, digits).c_str(), nullptr);
    const double down = std::strtod(DecimalDown(value, digits).c_str(), nullptr);
    const double near = std::strtod(DecimalNear(value, digits).c_str(), nullptr);
    EXPECT_TRUE(down <= value && value <= up) << value << " in " << digits;
    EXPECT_TRUE(down <= near && near <= up) << value << " in " << digits;
    EXPECT_LE(up - down, std::abs(value) * (1.01 * std::pow(10, 1 - digits) + 4e-16)) << value;
  }
  EXPECT_EQ(DecimalUp(std::numeric_limits<double>::infinity(), 3), "inf");
  EXPECT_EQ(DecimalDown(-std::numeric_limits<double>::infinity(), 3), "-inf");
}

TEST(Hex, IsReadBackAndRefusedWhereItIsNone) {
  EXPECT_EQ(HexEncode(std::string("\0\x0f\xff", 3)), "000fff");
  EXPECT_EQ(*HexDecode("000fFF"), std::string("\0\x0f\xff", 3));
  for (const char* bad : {"0", "0g", " 00", "00 ", "0x00"})
    EXPECT_EQ(HexDecode(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
}

TEST(Address, CountsAsAHostOrAsANetworkOfSixtyFourBits) {
  EXPECT_EQ(NetworkOf("192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(NetworkOf("ipv4:192.0.2.1:4711"), "ipv4:192.0.2.1");
  EXPECT_EQ(NetworkOf("[2001:db8:1:2:3:4:5:6]:4711"), "2001:db8:1:2::/64");
  EXPECT_EQ(NetworkOf("ipv6:[2001:db8:1:2::9]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(NetworkOf("[2001:db8:1:3::9]"), "2001:db8:1:3::/64");
  EXPECT_EQ(NetworkOf("[::1]:1"), "::/64");
  EXPECT_EQ(NetworkOf("[::ffff:192.0.2.1]:1"), "192.0.2.1");
  EXPECT_EQ(NetworkOf("unix:"), "unix");
}

TEST(Address, IsAHostAndAPort) {
  const auto address = ParseAddress("[2001:db8::1]:7070");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->host, "2001:db8::1");
  EXPECT_EQ(address->port, 7070);
  for (const char* bad :
       {"", "host", "host:", ":1", "host:65536", "host:-1", "host:1x", "2001:db8::1:70"})
    EXPECT_FALSE(ParseAddress(bad).has_value()) << bad;
  for (const char* loopback : {"127.0.0.1", "127.255.0.9", "::1", "localhost"})
    EXPECT_TRUE(IsLoopback(loopback)) << loopback;
  for (const char* other : {"0.0.0.0", "::", "128.0.0.1", "localhost.example"})
    EXPECT_FALSE(IsLoopback(other)) << other;
}

TEST(PlainName, HoldsNothingThatALineOrAPatternTakes) {
  EXPECT_TRUE(IsPlainName("token:alice@example.org/x-1"));
  EXPECT_TRUE(IsPlainName(std::string(kMaxPlainNameBytes, 'a')));
  for (const auto& bad : std::vector<std::string>{
           std::string(), std::string("a b"), std::string("a\nb"), std::string("a*"),
           std::string("\""), std::string("a\\"), std::string("\xc3\xa9"), std::string("a\0", 2),
           std::string("\x7f"), std::string(kMaxPlainNameBytes + 1, 'a')})
    EXPECT_FALSE(IsPlainName(bad)) << bad;
}

TEST(FieldError, CarriesThePathInItsMessageAndItsMetadata) {
  const absl::Status inner = FieldError("sigma", "must be > 0, got -1");
  const absl::Status outer = PrefixField("events", PrefixField("[3]", inner));
  EXPECT_EQ(outer.message(), "events[3].sigma: must be > 0, got -1");
  EXPECT_EQ(ReasonOf(outer).reason, "INVALID_FIELD");
  EXPECT_THAT(ReasonOf(outer).metadata, ElementsAre(Pair("field", "events[3].sigma")));
  const absl::Status other = absl::NotFoundError("no ledger");
  EXPECT_EQ(PrefixField("events", other), other);
}

}  // namespace
}  // namespace dpledger
