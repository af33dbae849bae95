// JWTs and JWKS: the vectors of RFC 7515, and what an attacker tries.
#include "identity/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "identity/base64url.h"
#include "tests/identity/samples.h"

namespace dpledger::identity {
namespace {

constexpr auto kRefused = absl::StatusCode::kUnauthenticated;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const absl::Time kNow = SetClock().now;

std::shared_ptr<const KeySet> Keys(const std::vector<std::string>& jwks) {
  auto keys = KeySet::Parse(Jwks(jwks));
  EXPECT_TRUE(keys.ok()) << keys.status();
  return keys.ok() ? *keys : nullptr;
}

// All checks, in their order.
absl::Status Checked(const std::string& token, const KeySet& keys, absl::Time now = kNow) {
  const auto parsed = ParseJwt(token);
  if (!parsed.ok()) return parsed.status();
  const auto key = VerifySignature(*parsed, keys);
  return key.ok() ? CheckClaims(*parsed, kIssuer, kAudience, now) : key.status();
}

// ---- RFC 7515, appendices A.2 and A.3 ----

constexpr char kRfcPayload[] =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q";
constexpr char kA2Key[] =
    R"({"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"})";
constexpr char kA2Signature[] =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5"
    "jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb"
    "1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QO"
    "YEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
constexpr char kA3Key[] =
    R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
constexpr char kA3Signature[] =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

TEST(Rfc7515, A2AndA3Verify) {
  const auto keys = Keys({kA2Key, kA3Key});
  const std::string rs256 = absl::StrCat("eyJhbGciOiJSUzI1NiJ9.", kRfcPayload, ".", kA2Signature);
  const std::string es256 = absl::StrCat("eyJhbGciOiJFUzI1NiJ9.", kRfcPayload, ".", kA3Signature);
  for (const std::string& token : {rs256, es256}) {
    const auto parsed = ParseJwt(token);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->issuer, "joe");
    EXPECT_EQ(parsed->expires, absl::FromUnixSeconds(1300819380));
    EXPECT_TRUE(VerifySignature(*parsed, *keys).ok());
    EXPECT_FALSE(VerifySignature(*parsed, *Keys({SigningKey::Ec().Jwk("")})).ok());
  }
  std::string wrong = rs256;
  wrong[30] = wrong[30] == 'A' ? 'B' : 'A';
  const auto parsed = ParseJwt(wrong);
  EXPECT_FALSE(parsed.ok() && VerifySignature(*parsed, *keys).ok());
}

// ---- the checks, one broken at a time ----

class JwtTest : public ::testing::Test {
 protected:
  static const SigningKey& Rsa() {
    static const auto& key = *new SigningKey(SigningKey::Rsa());
    return key;
  }
  static const SigningKey& Ec() {
    static const auto& key = *new SigningKey(SigningKey::Ec());
    return key;
  }
  static const KeySet& Both() {
    static const auto& keys =
        *new std::shared_ptr<const KeySet>(Keys({Rsa().Jwk("r"), Ec().Jwk("e")}));
    return *keys;
  }
  static std::string RsToken(const std::string& payload) {
    return Rsa().Token(R"({"alg":"RS256","kid":"r","typ":"JWT"})", payload);
  }
  static std::string EsToken(const std::string& payload) {
    return Ec().Token(R"({"alg":"ES256","kid":"e"})", payload);
  }
};

TEST_F(JwtTest, AGoodTokenIsTaken) {
  EXPECT_TRUE(Checked(RsToken(Payload()), Both()).ok());
  EXPECT_TRUE(Checked(EsToken(Payload()), Both()).ok());
  EXPECT_TRUE(Checked(RsToken(Payload({{"aud", R"(["other","dpledger"])"}})), Both()).ok());
  EXPECT_TRUE(Checked(Rsa().Token(R"({"alg":"RS256"})", Payload()), Both()).ok()) << "one RSA key";
}

TEST_F(JwtTest, TheShapeIsChecked) {
  const std::string good = RsToken(Payload());
  const auto refused = [](const std::string& token, const char* why) {
    return IsError(Checked(token, Both()), kRefused, why);
  };
  EXPECT_TRUE(refused("", "two dots"));
  EXPECT_TRUE(refused("a.b", "two dots"));
  EXPECT_TRUE(refused(good + ".", "two dots"));
  EXPECT_TRUE(refused(good.substr(0, good.rfind('.')), "two dots"));
  EXPECT_TRUE(refused(good + "=", "signature: is not base64url"));
  EXPECT_TRUE(refused(good + " ", "signature: is not base64url"));
  EXPECT_TRUE(refused(good + "\n", "signature: is not base64url"));
  EXPECT_TRUE(refused(" " + good, "header: is not base64url"));
  EXPECT_TRUE(refused(std::string(kMaxJwtBytes - 2, 'A') + "..", "header: "));
  EXPECT_TRUE(refused(std::string(kMaxJwtBytes - 1, 'A') + "..", "longer than 8 KiB"));
  EXPECT_TRUE(refused(RsToken(Payload() + " x"), "payload: at byte"));
  EXPECT_TRUE(refused(RsToken("[]"), "payload: is no JSON object"));
  EXPECT_TRUE(refused(RsToken("\xff"), "payload: at byte"));
  EXPECT_TRUE(refused(RsToken(R"({"sub":"a","sub":"b"})"), "a name twice"));
  EXPECT_TRUE(refused(Rsa().Token(R"({"alg":"none","alg":"RS256"})", Payload()), "a name twice"));
  EXPECT_TRUE(refused(RsToken(Payload({{"x", std::string(2000, '[')}})), "nested too deep"));
}

// The spare bits of the last character must be 0, or one token has several spellings.
TEST_F(JwtTest, TrailingBitsAreRefused) {
  const std::string good = EsToken(Payload());  // 64 bytes: 86 characters, 4 spare bits
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const size_t last = kAlphabet.find(good.back());
  ASSERT_EQ(last % 16, 0u);
  for (size_t spare = 1; spare < 16; ++spare) {
    std::string other = good;
    other.back() = kAlphabet[last + spare];
    EXPECT_TRUE(IsError(Checked(other, Both()), kRefused, "signature: is not base64url"));
  }
}

TEST_F(JwtTest, TheAlgorithmIsTheKeys) {
  const std::string none =
      absl::StrCat(Base64UrlEncode(R"({"alg":"none"})"), ".", Base64UrlEncode(Payload()), ".");
  EXPECT_TRUE(IsError(Checked(none, Both()), kRefused, "alg: must be RS256 or ES256"));
  for (const char* alg : {"\"None\"", "\"rs256\"", "\"HS256\"", "\"RS384\"", "\"PS256\"", "\"\"",
                          "null", "[\"RS256\"]", "256"}) {
    EXPECT_TRUE(IsError(
        Checked(Rsa().Token(absl::StrCat(R"({"kid":"r","alg":)", alg, "}"), Payload()), Both()),
        kRefused, "alg: must be"))
        << alg;
  }
  EXPECT_TRUE(IsError(Checked(Rsa().Token("{}", Payload()), Both()), kRefused, "alg: must be"));
  // The public key as the secret of a HMAC.
  for (const char* alg : {"HS256", "RS256"}) {
    const std::string text =
        absl::StrCat(Base64UrlEncode(absl::StrCat(R"({"kid":"r","alg":")", alg, "\"}")), ".",
                     Base64UrlEncode(Payload()));
    const std::string mac = HmacSha256(Rsa().PublicPem(), text);
    EXPECT_FALSE(Checked(absl::StrCat(text, ".", Base64UrlEncode(mac)), Both()).ok()) << alg;
  }
  // A key of the other kind.
  EXPECT_TRUE(IsError(Checked(Ec().Token(R"({"alg":"ES256","kid":"r"})", Payload()), Both()),
                      kRefused, "alg: is not the one of the key"));
  EXPECT_TRUE(IsError(Checked(Rsa().Token(R"({"alg":"RS256","kid":"e"})", Payload()), Both()),
                      kRefused, "alg: is not the one of the key"));
}

TEST_F(JwtTest, TheKeyComesFromTheFileAlone) {
  const SigningKey attacker = SigningKey::Rsa();
  const std::string jwk = attacker.Jwk("r");
  const auto forged = [&](const std::string& header) {
    return Checked(attacker.Token(header, Payload()), Both());
  };
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","kid":"r"})"), kRefused, "signature: is wrong"));
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","kid":"r","jwk":)" + jwk + "}"), kRefused,
                      "signature: is wrong"));
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","jku":"http://evil/","x5u":"http://evil/"})"),
                      kRefused, "signature: is wrong"));
  for (const char* kid :
       {"../../etc/passwd", "/dev/null", "r\\u0020", "", "R", "r' OR '1'='1", "x"}) {
    EXPECT_TRUE(IsError(forged(absl::StrCat(R"({"alg":"RS256","kid":")", kid, "\"}")), kRefused,
                        "kid: no key has it"))
        << kid;
  }
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","kid":1})"), kRefused, "kid: must be a string"));
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","kid":"r","crit":["exp"]})"), kRefused, "crit: "));
  EXPECT_TRUE(IsError(forged(R"({"alg":"RS256","kid":"r","crit":[]})"), kRefused, "crit: "));
  const auto two = Keys({Rsa().Jwk("a"), attacker.Jwk("b")});
  EXPECT_TRUE(IsError(Checked(Rsa().Token(R"({"alg":"RS256"})", Payload()), *two), kRefused,
                      "kid: is missing, and not exactly one key fits"));
}

TEST_F(JwtTest, TheSignatureIsOfEveryByte) {
  for (const std::string& good : {RsToken(Payload()), EsToken(Payload())}) {
    const std::string signature = *Base64UrlDecode(good.substr(good.rfind('.') + 1));
    const std::string text = good.substr(0, good.rfind('.') + 1);
    for (size_t i = 0; i < signature.size(); i += 7) {
      std::string wrong = signature;
      wrong[i] = static_cast<char>(wrong[i] ^ 1);
      EXPECT_TRUE(
          IsError(Checked(text + Base64UrlEncode(wrong), Both()), kRefused, "signature: is wrong"));
    }
    for (const std::string& wrong :
         {std::string(), std::string(1, '\0'), signature + '\0', '\0' + signature,
          signature.substr(1), std::string(signature.size(), '\0'),
          std::string(signature.size(), '\xff')}) {
      EXPECT_TRUE(IsError(Checked(text + Base64UrlEncode(wrong), Both()), kRefused, "signature: "));
    }
  }
  // DER, as OpenSSL writes it, is not JOSE's form.
  const std::string good = EsToken(Payload());
  const std::string text = good.substr(0, good.rfind('.'));
  EXPECT_TRUE(IsError(Checked(absl::StrCat(text, ".", Base64UrlEncode(Ec().SignDer(text))), Both()),
                      kRefused, "signature: must be 64 bytes"));
  // Another payload under the same signature.
  const std::string other = EsToken(Payload({{"sub", "\"root\""}}));
  EXPECT_TRUE(
      IsError(Checked(other.substr(0, other.rfind('.')) + good.substr(good.rfind('.')), Both()),
              kRefused, "signature: is wrong"));
}

TEST_F(JwtTest, TheClaimsAreChecked) {
  const auto with = [](const char* name, const std::string& value) {
    return Checked(EsToken(Payload({{name, value}})), Both());
  };
  const auto at = [](int64_t seconds) { return absl::StrCat(1'800'000'000 + seconds); };
  EXPECT_TRUE(IsError(with("iss", ""), kRefused, "iss: is not the one"));
  EXPECT_TRUE(IsError(with("iss", "\"https://issuer.example/\""), kRefused, "iss: is not the one"));
  EXPECT_TRUE(IsError(with("iss", "1"), kRefused, "iss: must be a string"));
  EXPECT_TRUE(IsError(with("aud", ""), kRefused, "aud: is not for this server"));
  EXPECT_TRUE(IsError(with("aud", "\"dpledger2\""), kRefused, "aud: is not for"));
  EXPECT_TRUE(IsError(with("aud", "[]"), kRefused, "aud: is not for"));
  EXPECT_TRUE(
      IsError(with("aud", "[\"dpledger\",1]"), kRefused, "aud: must be a string or a list"));
  EXPECT_TRUE(
      IsError(with("aud", "{\"dpledger\":1}"), kRefused, "aud: must be a string or a list"));
  EXPECT_TRUE(IsError(with("exp", ""), kRefused, "exp: is missing"));
  EXPECT_TRUE(IsError(with("exp", at(0)), kRefused, "exp: has passed"));
  EXPECT_TRUE(with("exp", at(1)).ok());
  EXPECT_TRUE(IsError(with("exp", "\"1800003600\""), kRefused, "exp: must be seconds"));
  EXPECT_TRUE(IsError(with("exp", "-1"), kRefused, "exp: must be seconds"));
  EXPECT_TRUE(IsError(with("exp", "1e300"), kRefused, "exp: must be seconds"));
  EXPECT_TRUE(with("nbf", at(60)).ok());
  EXPECT_TRUE(IsError(with("nbf", at(61)), kRefused, "nbf: is in the future"));
  EXPECT_TRUE(with("iat", at(60)).ok());
  EXPECT_TRUE(IsError(with("iat", at(61)), kRefused, "iat: is in the future"));
  EXPECT_TRUE(IsError(with("iat", "\"now\""), kRefused, "iat: must be seconds"));
  EXPECT_TRUE(IsError(with("sub", ""), kRefused, "sub: is missing"));
  EXPECT_TRUE(IsError(with("sub", "\"\""), kRefused, "sub: is missing"));
  EXPECT_TRUE(IsError(with("sub", "[\"a\"]"), kRefused, "sub: must be a string"));
}

TEST_F(JwtTest, ErrorsHoldNoByteOfTheToken) {
  for (const std::string& token :
       {Rsa().Token(R"({"alg":"SECRET"})", Payload()), RsToken(R"({"iss":"SECRET"})"),
        RsToken("{\"SECRET\":"), Rsa().Token(R"({"alg":"RS256","kid":"SECRET"})", "{}")}) {
    const absl::Status status = Checked(token, Both());
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::StrContains(status.message(), "SECRET")) << status;
  }
}

// ---- key files ----

absl::Status JwksError(const std::string& text) { return KeySet::Parse(text).status(); }

TEST_F(JwtTest, WeakAndBrokenKeysAreRefused) {
  const auto one = [](const std::string& key) { return JwksError(Jwks({key})); };
  EXPECT_TRUE(IsError(one(SigningKey::Rsa(1024).Jwk("a")), kInvalid,
                      "keys[0].n: must be odd and have 2048 to 8192 bits, got 1024"));
  EXPECT_TRUE(IsError(one(SigningKey::Rsa(2048, 3).Jwk("a")), kInvalid, "keys[0].e: must be odd"));
  const std::string n = absl::StrCat("\"n\":\"", Base64UrlEncode(std::string(256, '\xff')), "\"");
  EXPECT_TRUE(one(R"({"kty":"RSA","e":"AQAB",)" + n + "}").ok());
  EXPECT_TRUE(IsError(one(R"({"kty":"RSA","e":"AQAA",)" + n + "}"), kInvalid, "keys[0].e: "));
  EXPECT_TRUE(IsError(one(R"({"kty":"RSA","e":"AQAAAAAB",)" + n + "}"), kInvalid, "keys[0].e: "));
  EXPECT_TRUE(IsError(one(R"({"kty":"RSA","e":"AQAB=",)" + n + "}"), kInvalid, "keys[0].e: "));
  EXPECT_TRUE(IsError(one(R"({"kty":"RSA","e":"AQAB"})"), kInvalid, "keys[0].n: is missing"));
  EXPECT_TRUE(IsError(one(absl::StrCat(R"({"kty":"RSA","e":"AQAB","n":")",
                                       Base64UrlEncode(std::string(1025, '\xff')), "\"}")),
                      kInvalid, "got 8200"));
  const auto point = [&](const std::string& x, const std::string& y) {
    return one(absl::StrCat(R"({"kty":"EC","crv":"P-256","x":")", Base64UrlEncode(x), R"(","y":")",
                            Base64UrlEncode(y), "\"}"));
  };
  EXPECT_TRUE(IsError(point(std::string(32, '\1'), std::string(32, '\1')), kInvalid,
                      "keys[0].x: must be a point of P-256"));
  EXPECT_TRUE(
      IsError(point(std::string(32, '\0'), std::string(32, '\0')), kInvalid, "keys[0].x: "));
  EXPECT_TRUE(IsError(point(std::string(31, '\1'), std::string(32, '\1')), kInvalid,
                      "keys[0].x: must be 32 bytes"));
  EXPECT_TRUE(IsError(point(std::string(32, '\1'), std::string(33, '\1')), kInvalid,
                      "keys[0].y: must be 32 bytes"));
}

TEST_F(JwtTest, KeysOfOthersArePassedOver) {
  const std::string p384 = SigningKey::Ec("P-384").Jwk("p");
  const auto keys = Keys(
      {p384, Rsa().Jwk("enc", ",\"use\":\"enc\""), Rsa().Jwk("ps", ",\"alg\":\"PS256\""),
       Rsa().Jwk("ops", ",\"key_ops\":[\"encrypt\"]"), R"({"kty":"OKP","crv":"Ed25519","x":"AA"})",
       Rsa().Jwk("r", ",\"use\":\"sig\",\"alg\":\"RS256\",\"key_ops\":[\"verify\"]")});
  ASSERT_EQ(keys->keys().size(), 1u);
  EXPECT_EQ(keys->keys()[0].kid, "r");
  EXPECT_TRUE(IsError(JwksError(Jwks({p384})), kInvalid, "keys: must have a key"));
}

TEST_F(JwtTest, AFileThatCannotBeRightIsRefusedWhole) {
  EXPECT_TRUE(IsError(JwksError(Jwks({Rsa().Jwk("a"), Ec().Jwk("a")})), kInvalid,
                      "keys[1].kid: is the one of an earlier key"));
  EXPECT_TRUE(IsError(JwksError(Jwks({Rsa().Jwk("a", ",\"d\":\"AA\"")})), kInvalid,
                      "keys[0].d: is part of a secret key"));
  EXPECT_TRUE(IsError(JwksError(Jwks({R"({"kty":"oct","k":"AA"})"})), kInvalid,
                      "keys[0].k: is part of a secret key"));
  EXPECT_TRUE(IsError(JwksError("{}"), kInvalid, "keys: must be a list"));
  EXPECT_TRUE(IsError(JwksError("{\"keys\":[]}"), kInvalid, "keys: must have a key"));
  EXPECT_TRUE(IsError(JwksError("{\"keys\":[1]}"), kInvalid, "keys[0]: must be a JSON object"));
  EXPECT_TRUE(IsError(JwksError(Rsa().Jwk("a")), kInvalid, "keys: must be a list"));
  EXPECT_TRUE(IsError(JwksError(std::string(300'000, ' ')), kInvalid, "at most 256 KiB"));
}

}  // namespace
}  // namespace dpledger::identity
