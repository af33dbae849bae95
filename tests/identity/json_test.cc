// The strict JSON and base64url that tokens are read with.
#include "identity/json.h"

#include <gtest/gtest.h>

#include "base/json_text.h"
#include "identity/base64url.h"
#include "tests/identity/samples.h"

namespace dpledger::identity {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Refused(std::string_view text) { return Json::Parse(text).status(); }

TEST(Json, ReadsEveryKindOfValue) {
  const auto json = Json::Parse(
      " {\"a\":[1, -2.5e3,true,false,null],\"b\":{\"c\":\"x\\n\\u00e9\\ud83d\\ude00\"}}\n");
  ASSERT_TRUE(json.ok()) << json.status();
  const Json::Array& list = *json->Find("a")->array();
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(*list[0].number(), 1);
  EXPECT_EQ(*list[1].number(), -2500);
  EXPECT_EQ(list[2].number(), nullptr);
  EXPECT_EQ(*json->Find("b")->Find("c")->string(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(json->Find("c"), nullptr);
}

TEST(Json, RefusesTextsWithTwoMeanings) {
  EXPECT_TRUE(IsError(Refused(R"({"a":1,"b":2,"a":3})"), kInvalid, "a name twice"));
  EXPECT_TRUE(IsError(Refused(R"({"a":1,"\u0061":3})"), kInvalid, "a name twice"));
  EXPECT_TRUE(IsError(Refused(R"({"x":{"a":1,"a":1}})"), kInvalid, "a name twice"));
  EXPECT_TRUE(IsError(Refused("{} {}"), kInvalid, "at byte 3: must end after the value"));
  EXPECT_TRUE(IsError(Refused(R"("a\u0000b")"), kInvalid, "must not hold NUL"));
  EXPECT_TRUE(IsError(Refused("\"\xff\""), kInvalid, "must be UTF-8"));
  EXPECT_TRUE(IsError(Refused("\"\xc0\xaf\""), kInvalid, "must be UTF-8"));
  EXPECT_TRUE(IsError(Refused(R"("\ud800")"), kInvalid, "half a surrogate"));
  EXPECT_TRUE(IsError(Refused(R"("\udc00")"), kInvalid, "half a surrogate"));
  EXPECT_TRUE(IsError(Refused(R"("\ud800\u0041")"), kInvalid, "half a surrogate"));
}

TEST(Json, RefusesWhatIsNoJson) {
  for (const char* text : {"",           " ",           "{",
                           "[",          "[1",          "[1,]",
                           "{\"a\":1,}", "{a:1}",       "{\"a\" 1}",
                           "'a'",        "01",          "+1",
                           ".5",         "1.",          "1e",
                           "1e+",        "-",           "NaN",
                           "Infinity",   "nul",         "\"",
                           "\"\\x\"",    "\"\\u12g4\"", "\"\\u12\"",
                           "\"a\nb\"",   "// x\n1",     "\xef\xbb\xbf{}"}) {
    EXPECT_FALSE(Json::Parse(text).ok()) << text;
  }
  EXPECT_TRUE(IsError(Refused("1e999"), kInvalid, "too large"));
}

TEST(Json, BoundsTheNesting) {
  const auto nested = [](int depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  EXPECT_TRUE(Json::Parse(nested(8)).ok());
  EXPECT_TRUE(IsError(Refused(nested(9)), kInvalid, "at byte 8: is nested too deep"));
  EXPECT_TRUE(IsError(Refused(std::string(1'000'000, '[')), kInvalid, "nested too deep"));
  EXPECT_FALSE(Json::Parse(R"({"a":{"a":{"a":1}}})", 2).ok());
}

TEST(Json, QuotesAreReadBack) {
  const std::string text = "a\"b\\c\n\x01 \xc3\xa9";
  EXPECT_EQ(*Json::Parse(JsonString(text))->string(), text);
}

TEST(Base64Url, HasOneSpellingForEachValue) {
  // RFC 4648, section 10.
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg"},
                                                        {"fo", "Zm8"},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg"},
                                                        {"\xfb\xff", "-_8"}}) {
    EXPECT_EQ(Base64UrlEncode(bytes), text);
    EXPECT_EQ(Base64UrlDecode(text), bytes);
  }
  for (const char* text : {"Z", "Zg==", "Zh", "Zm9", "Zm9v ", "Zm+v", "Zm/v", "Zm9vY", "Zm\n8"}) {
    EXPECT_EQ(Base64UrlDecode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dpledger::identity
