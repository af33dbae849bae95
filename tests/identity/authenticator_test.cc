// Callers from tokens, JWTs and certificates, and how long they stay callers.
#include "identity/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "identity/base64url.h"
#include "identity/certificate_name.h"
#include "identity/token.h"
#include "identity/tokens.h"
#include "tests/identity/samples.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::identity {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kRefused = absl::StatusCode::kUnauthenticated;

// ---- certificates ----

struct CertificateParts {
  std::vector<std::pair<int, std::string>> names;  // GEN_URI or GEN_DNS, …
  std::string common_name = "root";
  bool authority = false;
  int extensions_of_names = 1;
  int64_t not_after = 1'900'000'000;
};

using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

Certificate Make(const CertificateParts& parts) {
  Certificate certificate(X509_new(), X509_free);
  X509* const x509 = certificate.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_TIME_set(X509_getm_notBefore(x509), 1'700'000'000);
  ASN1_TIME_set(X509_getm_notAfter(x509), parts.not_after);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(parts.common_name.data()),
                             static_cast<int>(parts.common_name.size()), -1, 0);
  GENERAL_NAMES* const names = GENERAL_NAMES_new();
  for (const auto& [type, text] : parts.names) {
    ASN1_IA5STRING* const value = ASN1_IA5STRING_new();
    ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
    GENERAL_NAME* const name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, type, value);
    sk_GENERAL_NAME_push(names, name);
  }
  for (int i = 0; i < parts.extensions_of_names && !parts.names.empty(); ++i) {
    X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND);
  }
  GENERAL_NAMES_free(names);
  if (parts.authority) {
    BASIC_CONSTRAINTS* const constraints = BASIC_CONSTRAINTS_new();
    constraints->ca = 1;
    X509_add1_ext_i2d(x509, NID_basic_constraints, constraints, 1, X509V3_ADD_APPEND);
    BASIC_CONSTRAINTS_free(constraints);
  }
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509_set_pubkey(x509, key);
  X509_sign(x509, key, EVP_sha256());
  EVP_PKEY_free(key);
  return certificate;
}

absl::StatusOr<Caller> Named(const CertificateParts& parts) {
  return CallerFromCertificate(Make(parts).get());
}

TEST(CertificateName, IsTheSpiffeIdOrTheDnsName) {
  const auto spiffe = Named({{{GEN_URI, "spiffe://example.org/trainer"}}});
  ASSERT_TRUE(spiffe.ok()) << spiffe.status();
  EXPECT_EQ(spiffe->name, "spiffe://example.org/trainer");
  EXPECT_EQ(spiffe->kind, CallerKind::kMtls);
  EXPECT_EQ(spiffe->expires, absl::FromUnixSeconds(1'900'000'000));
  EXPECT_EQ(Named({{{GEN_DNS, "x"}, {GEN_URI, "spiffe://example.org/t"}, {GEN_DNS, "y"}}})->name,
            "spiffe://example.org/t");
  EXPECT_EQ(Named({{{GEN_DNS, "Trainer.Example"}}})->name, "dns:trainer.example");
  EXPECT_EQ(Named({{{GEN_DNS, "a.example"}, {GEN_EMAIL, "x@y"}, {GEN_URI, "https://b"}}})->name,
            "dns:a.example");
}

TEST(CertificateName, IsNeverTheCommonName) {
  EXPECT_TRUE(IsError(Named({{}}).status(), kRefused, "has no subject alternative name"));
  EXPECT_TRUE(IsError(Named({{{GEN_EMAIL, "x@y"}}}).status(), kRefused, "must have one SPIFFE id"));
}

TEST(CertificateName, IsRefusedIfItIsNotOne) {
  const auto refused = [](const CertificateParts& parts, const char* why) {
    return IsError(Named(parts).status(), kRefused, why);
  };
  EXPECT_TRUE(refused({{{GEN_URI, "spiffe://a/x"}, {GEN_URI, "spiffe://a/y"}}}, "another URI"));
  EXPECT_TRUE(refused({{{GEN_URI, "https://a"}, {GEN_URI, "spiffe://a/y"}}}, "another URI"));
  EXPECT_TRUE(refused({{{GEN_URI, "spiffe://a/../b"}, {GEN_DNS, "x"}}}, "each part of the path"));
  EXPECT_TRUE(refused({{{GEN_URI, "SPIFFE://a/b"}, {GEN_DNS, "x"}}}, "must begin with spiffe://"));
  EXPECT_TRUE(refused({{{GEN_DNS, "a"}, {GEN_DNS, "b"}}}, "or one DNS name"));
  EXPECT_TRUE(refused({{{GEN_DNS, "*.a"}}}, "wildcards name nobody"));
  EXPECT_TRUE(refused({{{GEN_DNS, std::string("a.example\0.evil", 15)}}}, "each label"));
  EXPECT_TRUE(refused({{{GEN_URI, std::string("spiffe://a/b\0c", 14)}}}, "each part of the path"));
  CertificateParts twice{{{GEN_DNS, "a"}}};
  twice.extensions_of_names = 2;
  EXPECT_TRUE(refused(twice, "its extensions cannot be read"));
  CertificateParts authority{{{GEN_DNS, "a"}}};
  authority.authority = true;
  EXPECT_TRUE(refused(authority, "is that of an authority"));
}

// ---- all kinds ----

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthenticatorTest() {
    tokens_ = *Tokens::OpenFile(folder_.path() + "/tokens", &clock_, nullptr);
    WriteOwnersFile(jwks_, Jwks({key_.Jwk("k")}));
    issuer_ = *JwtIssuer::Open({kIssuer, kAudience, jwks_}, &clock_, nullptr);
    authenticator_ = std::make_unique<Authenticator>(
        tokens_.get(), std::vector<JwtIssuer*>{issuer_.get()}, &clock_);
  }
  std::string Token(const std::string& name, absl::Time expires = absl::InfiniteFuture()) {
    std::string token = MakeToken();
    TokenRecord record;
    record.name = name;
    record.hash = HashOf(token);
    record.expires = expires;
    record.grants = {*Grant::Parse("trainer projects/p")};
    EXPECT_TRUE(
        tokens_->Change([&](TokenTable& table) { return table.Create(record, clock_.now); }).ok());
    return token;
  }
  absl::StatusOr<Caller> Show(const std::string& header, Refusal* refusal = nullptr) {
    return authenticator_->Authenticate({header}, refusal);
  }
  // The reason outside and the detail in the log.
  ::testing::AssertionResult Refuses(const std::string& header, const std::string& reason,
                                     const std::string& detail) {
    Refusal refusal;
    const auto caller = Show(header, &refusal);
    if (caller.status().code() == kRefused && ReasonOf(caller.status()).reason == reason &&
        refusal.reason == reason && absl::StrContains(refusal.detail, detail)) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << caller.status() << " " << refusal.reason << " " << refusal.detail;
  }
  std::string Jwt(const std::map<std::string, std::string>& changes = {}) {
    return key_.Token(R"({"alg":"ES256","kid":"k"})", Payload(changes));
  }

  TempFolder folder_;
  SetClock clock_;
  const std::string jwks_ = folder_.path() + "/jwks";
  const SigningKey key_ = SigningKey::Ec();
  std::unique_ptr<Tokens> tokens_;
  std::unique_ptr<JwtIssuer> issuer_;
  std::unique_ptr<Authenticator> authenticator_;
};

TEST_F(AuthenticatorTest, WithoutCredentialsNobodyIsLetIn) {
  EXPECT_TRUE(Refuses("", "MISSING_CREDENTIALS", ""));
  EXPECT_TRUE(IsError(authenticator_->StillValid(Caller()), kRefused, "show a token"));
  Authenticator open(nullptr, {}, &clock_, {.allow_anonymous = true});
  EXPECT_EQ(open.Authenticate({})->name, "anonymous");
  EXPECT_TRUE(open.StillValid(Caller()).ok());
  EXPECT_FALSE(open.Authenticate({"Bearer " + MakeToken()}).ok());
}

TEST_F(AuthenticatorTest, ATokenNamesItsHolder) {
  const std::string token = Token("alice", clock_.now + absl::Hours(1));
  const auto caller = Show("Bearer " + token);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "token:alice");
  EXPECT_EQ(caller->kind, CallerKind::kToken);
  EXPECT_EQ(caller->grants->at(0).ToText(), "trainer projects/p");
  EXPECT_TRUE(Show("bearer  " + token).ok()) << "RFC 9110: the scheme has no case";
  EXPECT_EQ(tokens_->List()->tokens[0].last_use, CutToMinute(clock_.now));
}

TEST_F(AuthenticatorTest, AWrongTokenIsToldNothing) {
  const std::string token = Token("alice");
  EXPECT_TRUE(Refuses("Bearer " + MakeToken(), "INVALID_TOKEN", "token: is not known"));
  EXPECT_TRUE(Refuses("Bearer " + token.substr(1), "INVALID_TOKEN", "jwt: must have two dots"));
  EXPECT_TRUE(Refuses("Bearer " + token.substr(0, 52), "INVALID_TOKEN", "token: is cut"));
  EXPECT_TRUE(Refuses("Bearer " + token + " ", "INVALID_TOKEN", "token: is cut"));
  EXPECT_TRUE(Refuses("Bearer " + token + ", Bearer x", "INVALID_TOKEN", "token: is cut"));
  EXPECT_TRUE(Refuses("Bearer", "INVALID_TOKEN", "not of the scheme Bearer"));
  EXPECT_TRUE(Refuses("Bearer ", "INVALID_TOKEN", ""));
  EXPECT_TRUE(Refuses("Basic YTpi", "INVALID_TOKEN", "not of the scheme Bearer"));
  EXPECT_TRUE(Refuses(token, "INVALID_TOKEN", "not of the scheme Bearer"));
  EXPECT_TRUE(
      Refuses("Bearer " + std::string(1'000'000, 'a'), "INVALID_TOKEN", "longer than 8 KiB"));
  EXPECT_EQ(Show("Bearer " + MakeToken()).status(), Show("Bearer x.y.z").status());
}

TEST_F(AuthenticatorTest, AnEndedTokenIsToldSo) {
  const std::string token = Token("alice", clock_.now + absl::Seconds(10));
  const Caller caller = *Show("Bearer " + token);
  clock_.now += absl::Seconds(9);
  EXPECT_TRUE(authenticator_->StillValid(caller).ok());
  clock_.now += absl::Seconds(1);
  EXPECT_TRUE(Refuses("Bearer " + token, "EXPIRED_TOKEN", "no longer good"));
  EXPECT_EQ(ReasonOf(authenticator_->StillValid(caller)).reason, "EXPIRED_TOKEN");

  const std::string second = Token("bob");
  const Caller bob = *Show("Bearer " + second);
  const auto other = *Tokens::OpenFile(folder_.path() + "/tokens", &clock_, nullptr);
  ASSERT_TRUE(
      other->Change([&](TokenTable& table) { return table.Revoke("bob", clock_.now); }).ok());
  authenticator_->Refresh();
  const ErrorReason revoked = ReasonOf(authenticator_->StillValid(bob));
  EXPECT_EQ(revoked.reason, "REVOKED_TOKEN");
  EXPECT_EQ(revoked.metadata.at("caller"), bob.name);
  EXPECT_TRUE(Refuses("Bearer " + second, "REVOKED_TOKEN", "no longer good"));
  Refusal refusal;
  EXPECT_FALSE(Show("Bearer " + second, &refusal).ok());
  EXPECT_EQ(refusal.caller, "token:bob");
}

TEST_F(AuthenticatorTest, AChangedGrantEndsWhatTheOldOneOpened) {
  const Caller caller = *Show("Bearer " + Token("alice"));
  ASSERT_TRUE(authenticator_->StillValid(caller).ok());
  ASSERT_TRUE(tokens_
                  ->Change([](TokenTable& table) {
                    table.tokens[0].grants = {*Grant::Parse("analyst projects/p")};
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_FALSE(authenticator_->StillValid(caller).ok());
}

TEST_F(AuthenticatorTest, AJwtNamesItsSubject) {
  const auto caller = Show("Bearer " + Jwt({{"sub", "\"system:serviceaccount:ml:t\""}}));
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "oidc:https://issuer.example#system:serviceaccount:ml:t");
  EXPECT_EQ(caller->kind, CallerKind::kJwt);
  EXPECT_EQ(caller->expires, absl::FromUnixSeconds(1'800'003'600));
  EXPECT_EQ(caller->grants, nullptr);
  EXPECT_TRUE(Refuses("Bearer " + Jwt({{"aud", "\"other\""}}), "INVALID_TOKEN", "jwt: aud: "));
  EXPECT_TRUE(Refuses("Bearer " + Jwt({{"sub", "\"" + std::string(600, 'a') + "\""}}),
                      "INVALID_TOKEN", "jwt: sub: makes a name"));
}

TEST_F(AuthenticatorTest, ARememberedJwtStillEnds) {
  const std::string header = "Bearer " + Jwt();
  const Caller caller = *Show(header);
  EXPECT_EQ(Show(header)->name, caller.name);
  EXPECT_TRUE(issuer_->Remembered(HashOf(header.substr(7))).has_value())
      << "or it is checked again";
  clock_.now += absl::Hours(1) - absl::Seconds(1);
  EXPECT_TRUE(Show(header).ok());
  EXPECT_TRUE(authenticator_->StillValid(caller).ok());
  clock_.now += absl::Seconds(1);
  EXPECT_TRUE(Refuses(header, "INVALID_TOKEN", "exp: has passed"));
  EXPECT_FALSE(authenticator_->StillValid(caller).ok());
}

TEST_F(AuthenticatorTest, ARemovedKeyEndsItsCallers) {
  const std::string header = "Bearer " + Jwt();
  const Caller caller = *Show(header);
  const SigningKey next = SigningKey::Ec();
  WriteOwnersFile(jwks_, Jwks({next.Jwk("k")}));
  clock_.now += absl::Seconds(4);
  authenticator_->Refresh();
  EXPECT_TRUE(Show(header).ok()) << "looked at every 5 seconds";
  clock_.now += absl::Seconds(1);
  authenticator_->Refresh();
  EXPECT_TRUE(Refuses(header, "INVALID_TOKEN", "signature: is wrong"));
  EXPECT_FALSE(authenticator_->StillValid(caller).ok());
  EXPECT_TRUE(Show("Bearer " + next.Token(R"({"alg":"ES256","kid":"k"})", Payload())).ok());
}

TEST_F(AuthenticatorTest, ABrokenKeyFileKeepsTheKeysBefore) {
  for (const char* broken : {"", "{\"keys\":[]}", "{"}) {
    WriteOwnersFile(jwks_, broken);
    clock_.now += absl::Seconds(5);
    authenticator_->Refresh();
    EXPECT_TRUE(Show("Bearer " + Jwt()).ok()) << broken;
  }
  ASSERT_EQ(::unlink(jwks_.c_str()), 0);
  clock_.now += absl::Seconds(5);
  authenticator_->Refresh();
  EXPECT_TRUE(Show("Bearer " + Jwt()).ok());
  EXPECT_FALSE(JwtIssuer::Open({kIssuer, kAudience, jwks_}, &clock_, nullptr).ok());
  WriteOwnersFile(jwks_, "{");
  EXPECT_TRUE(IsError(JwtIssuer::Open({kIssuer, kAudience, jwks_}, &clock_, nullptr).status(),
                      absl::StatusCode::kInvalidArgument, "/jwks: at byte 1"));
  EXPECT_FALSE(JwtIssuer::Open({kIssuer, "", jwks_}, &clock_, nullptr).ok());
}

TEST_F(AuthenticatorTest, EachIssuerHasItsOwnKeys) {
  const SigningKey other_key = SigningKey::Ec();
  const std::string file = folder_.path() + "/other";
  WriteOwnersFile(file, Jwks({other_key.Jwk("k")}));
  const auto other = *JwtIssuer::Open({"https://other", kAudience, file}, &clock_, nullptr);
  Authenticator both(nullptr, {issuer_.get(), other.get()}, &clock_);
  const std::string header = R"({"alg":"ES256","kid":"k"})";
  const std::string theirs = Payload({{"iss", "\"https://other\""}});
  const auto name = [&](const std::string& token) {
    const auto caller = both.Authenticate({"Bearer " + token});
    return caller.ok() ? caller->name : "refused";
  };
  EXPECT_EQ(name(other_key.Token(header, theirs)), "oidc:https://other#robot");
  EXPECT_EQ(name(key_.Token(header, Payload())), "oidc:https://issuer.example#robot");
  EXPECT_EQ(name(other_key.Token(header, Payload())), "refused")
      << "one issuer must not name another's";
  EXPECT_EQ(name(key_.Token(header, theirs)), "refused");
  EXPECT_EQ(name(key_.Token(header, Payload({{"iss", "\"x\""}}))), "refused");
}

TEST_F(AuthenticatorTest, ItRemembersABoundedNumberOfJwts) {
  int remembered = 0;
  std::vector<Sha256Hash> hashes;
  for (int i = 0; i < 4200; ++i) {
    const std::string token = Jwt({{"jti", absl::StrCat(i)}});
    ASSERT_TRUE(Show("Bearer " + token).ok());
    hashes.push_back(HashOf(token));
  }
  for (const Sha256Hash& hash : hashes) remembered += issuer_->Remembered(hash).has_value();
  EXPECT_EQ(remembered, 4096);
}

TEST_F(AuthenticatorTest, ACertificateNamesItsHolderUntilItEnds) {
  CertificateParts parts{{{GEN_URI, "spiffe://a/b"}}};
  parts.not_after = absl::ToUnixSeconds(clock_.now) + 10;
  const Certificate certificate = Make(parts);
  const auto caller = authenticator_->Authenticate({"", certificate.get()});
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "spiffe://a/b");
  EXPECT_TRUE(authenticator_->StillValid(*caller).ok());
  clock_.now += absl::Seconds(10);
  EXPECT_FALSE(authenticator_->StillValid(*caller).ok());
  EXPECT_FALSE(authenticator_->Authenticate({"", certificate.get()}).ok());
  Refusal refusal;
  const Certificate nobody = Make({{}});
  const auto refused = authenticator_->Authenticate({"", nobody.get()}, &refusal);
  EXPECT_EQ(ReasonOf(refused.status()).reason, "INVALID_CERTIFICATE");
  EXPECT_THAT(refusal.detail, HasSubstr("has no subject alternative name"));
}

TEST_F(AuthenticatorTest, ABadTokenIsNotRescuedByACertificate) {
  const Certificate certificate = Make({{{GEN_DNS, "a.example"}}});
  EXPECT_TRUE(authenticator_->Authenticate({"", certificate.get()}).ok());
  EXPECT_FALSE(authenticator_->Authenticate({"Bearer " + MakeToken(), certificate.get()}).ok());
  const std::string token = Token("alice");
  EXPECT_EQ(authenticator_->Authenticate({"Bearer " + token, certificate.get()})->name,
            "token:alice");
}

TEST_F(AuthenticatorTest, NoByteOfACredentialIsTold) {
  for (const std::string& header :
       {std::string("SECRET"), std::string("Bearer dpl_SECRET"),
        std::string("Bearer SECRET.SECRET.SECRET"), "Bearer " + Jwt({{"aud", "\"SECRET\""}})}) {
    Refusal refusal;
    const auto refused = Show(header, &refusal);
    EXPECT_THAT(std::string(refused.status().message()), Not(HasSubstr("SECRET")));
    EXPECT_THAT(refusal.detail, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace dpledger::identity
