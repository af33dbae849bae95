// Turns what a connection and a call show into a caller. Deny by default: no proof, no caller.
//
// 1. To the outside a refusal says only that the credentials are missing or not valid. Why a JWT or
//    a certificate is refused goes to `Refusal::detail`, for the log. A token that this server made
//    itself and that has expired or was revoked is told so: whoever shows it has known it.
// 2. A bearer token that is not valid is refused, also on a connection with a good certificate.
// 3. Nothing is written and nothing is synced by a call (identity/tokens.h says how the time
//    of last use is kept).
// Thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "identity/caller.h"
#include "identity/jwt_issuer.h"
#include "identity/tokens.h"

struct x509_st;  // OpenSSL's X509

namespace dpledger::identity {

struct Credentials {
  // The value of the header `authorization`, whole: "Bearer dpl_…"; empty: there was none. A call
  // with two such headers must be refused before.
  std::string_view authorization;
  // The peer's certificate, whose chain TLS has verified; null: none. Not owned.
  x509_st* certificate = nullptr;
};

// The token of "Bearer TOKEN" (RFC 6750, section 2.1); nullopt if it is something else.
std::optional<std::string_view> BearerToken(std::string_view header);

struct AuthenticatorOptions {
  // A call without credentials is the anonymous caller's, with the rights that the policy grants to
  // it.
  bool allow_anonymous = false;
};

// The details of a refusal, for the log and the access record. No byte of the credentials.
struct Refusal {
  std::string reason;  // MISSING_CREDENTIALS, INVALID_TOKEN, EXPIRED_TOKEN, REVOKED_TOKEN,
                       // INVALID_CERTIFICATE
  std::string detail;  // "jwt: aud: is for somebody else"
  std::string caller;  // of a token known here: its caller's name
};

class Authenticator {
 public:
  // `tokens` may be null (none are known); `issuers` may be empty. All must outlive the object.
  Authenticator(Tokens* tokens, std::vector<JwtIssuer*> issuers, Clock* clock,
                AuthenticatorOptions options = {});

  // The caller, or UNAUTHENTICATED with the reason MISSING_CREDENTIALS, INVALID_TOKEN,
  // INVALID_CERTIFICATE or, of tokens made here, EXPIRED_TOKEN or REVOKED_TOKEN.
  absl::StatusOr<Caller> Authenticate(const Credentials& credentials, Refusal* refusal = nullptr);

  // Whether what a caller showed is still good: not expired, not revoked, its key still in the
  // JWKS file, a token's grants as they were. For streams, once a second each; a look-up. The
  // status is what a new call would be refused with.
  absl::Status StillValid(const Caller& caller) const;

  // Reads changed files of tokens and keys again, and writes the tokens' times of last use, at most
  // once a minute. Called each second, before open streams are looked at. May block on the disk.
  void Refresh();

 private:
  absl::StatusOr<Caller> FromToken(std::string_view token, Refusal& refusal);
  absl::StatusOr<Caller> FromJwt(std::string_view token, Refusal& refusal);

  Tokens* const tokens_;
  const std::vector<JwtIssuer*> issuers_;
  Clock& clock_;
  const AuthenticatorOptions options_;
};

}  // namespace dpledger::identity
