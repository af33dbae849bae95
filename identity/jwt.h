// JSON web tokens signed with RS256 or ES256 (RFC 7515, 7518, 7519), checked in this order: length,
// two dots, base64url, JSON, `alg`, `crit`, key by `kid`, `alg` against the key, signature, `iss`,
// `aud`, `exp`, `nbf`, `iat`, `sub`.
//
// 1. Keys come from the key set alone: `jku`, `x5u`, `x5c` and `jwk` in a header are ignored.
// 2. JSON with a name twice, spare bits in base64url, padding, or anything after the end is
//    refused: one token has one spelling, whoever reads it.
// 3. A token is good until exactly `exp`. The issuer's clock may be 60 s ahead for `nbf` and `iat`.
// 4. Errors are UNAUTHENTICATED and name the part and the rule, without a byte of the token. They
//    are for the log: the outside gets one message.
// Pure; thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "identity/jwks.h"

namespace dpledger::identity {

inline constexpr size_t kMaxJwtBytes = 8192;
inline constexpr absl::Duration kJwtLeeway = absl::Seconds(60);

// A token that is well formed. Nothing of it is to be believed.
struct ParsedJwt {
  JwtAlgorithm algorithm = JwtAlgorithm::kRs256;
  std::optional<std::string> kid;
  std::string signed_text;  // header and payload as they were sent
  std::string signature;    // of ES256: r and s, 32 bytes each
  std::optional<std::string> issuer, subject;
  std::vector<std::string> audiences;
  std::optional<absl::Time> expires, not_before, issued;
};

// Everything up to the JSON and `crit`, without keys.
absl::StatusOr<ParsedJwt> ParseJwt(std::string_view token);

// The key that verifies the signature. The rest is not checked.
absl::StatusOr<const VerifyingKey*> VerifySignature(const ParsedJwt& token, const KeySet& keys);

// `iss`, `aud`, `exp`, `nbf`, `iat`, `sub`.
absl::Status CheckClaims(const ParsedJwt& token, std::string_view issuer, std::string_view audience,
                         absl::Time now);

}  // namespace dpledger::identity
