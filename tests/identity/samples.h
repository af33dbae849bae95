// A clock that tests set, keys that tests make, and tokens signed with them.
#pragma once

#include <gmock/gmock.h>
#include <openssl/evp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/status.h"

namespace dpledger::identity {

class SetClock : public Clock {
 public:
  absl::Time Now() override { return now; }
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
};

// Writes the file anew, as an administrator's editor does, and makes its times old enough to be
// trusted unless `fresh`.
void WriteOwnersFile(const std::string& path, const std::string& content, bool fresh = true);

// A pair of keys made now; never one that is kept anywhere.
class SigningKey {
 public:
  static SigningKey Rsa(int bits = 2048, unsigned exponent = 65537);
  static SigningKey Ec(const char* curve = "P-256");

  // A JWK of the public half, with `more` members: ",\"use\":\"sig\"".
  std::string Jwk(const std::string& kid, const std::string& more = "") const;
  // RS256 or ES256, as JOSE spells it: r and s for ES256.
  std::string Sign(const std::string& text) const;
  // The same with DER instead of r and s.
  std::string SignDer(const std::string& text) const;
  // The public key as PEM, as an attacker of HS256 would use it.
  std::string PublicPem() const;

  // header.payload.signature
  std::string Token(const std::string& header, const std::string& payload) const;

 private:
  explicit SigningKey(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}
  std::shared_ptr<EVP_PKEY> key_;
};

std::string Jwks(const std::vector<std::string>& keys);

// {"iss":"https://issuer.example","aud":"dpledger","sub":"robot","exp":…}, valid at SetClock's
// start for an hour; `changes` replaces or, with an empty value, removes members.
std::string Payload(const std::map<std::string, std::string>& changes = {});
inline constexpr char kIssuer[] = "https://issuer.example";
inline constexpr char kAudience[] = "dpledger";

std::string HmacSha256(const std::string& key, const std::string& text);

inline ::testing::AssertionResult IsError(const absl::Status& status, absl::StatusCode code,
                                          const std::string& message) {
  if (status.code() == code && absl::StrContains(status.message(), message)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "got " << status;
}

}  // namespace dpledger::identity
