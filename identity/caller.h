// The caller of a call: an authenticated name that may be printed, stored and compared.
//
// 1. A name is 1 to 512 bytes of printable ASCII without the blank and without `"`, `\` and `*`:
//    it may stand in logs, in entries and in a policy, and no name ends like a pattern.
// 2. Two callers never share a name. The part before the first ":" is the kind of proof; the rest
//    is checked (tokens, certificates) or escaped without loss (subjects of JWTs).
//      anonymous
//      token:NAME               NAME is 1 to 64 bytes of [A-Za-z0-9._-]
//      spiffe://DOMAIN/PATH     from a certificate
//      dns:HOST                 from a certificate, in lower case
//      oidc:ISSUER#SUBJECT      from a JWT; the subject is escaped by percent signs
// 3. No byte of an outsider gets into a name or an error unchecked.
// Values; thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/plain_name.h"
#include "identity/grant.h"

namespace dpledger::identity {

using Sha256Hash = std::array<uint8_t, 32>;

inline constexpr char kAnonymousName[] = "anonymous";
inline constexpr size_t kMaxCallerNameBytes = kMaxPlainNameBytes;

enum class CallerKind { kAnonymous, kToken, kMtls, kJwt };

struct Caller {
  std::string name = kAnonymousName;
  CallerKind kind = CallerKind::kAnonymous;
  absl::Time expires = absl::InfiniteFuture();
  // The key by which Authenticator::StillValid looks the caller up: a token's hash, the fingerprint
  // of the key that signed a JWT, a certificate's own fingerprint. Never a secret.
  Sha256Hash evidence = {};
  // Those given to a token when it was made; null: none. The policy's are not here.
  std::shared_ptr<const std::vector<Grant>> grants;
};

// Whether `name` keeps rule 1: of entries and policies, which may hold any kind of caller.
inline bool IsCallerName(std::string_view name) { return IsPlainName(name); }

// The names of the kinds. INVALID_ARGUMENT says which rule is broken, without the bytes that break
// it.
absl::StatusOr<std::string> TokenCallerName(std::string_view token_name);
absl::StatusOr<std::string> SpiffeCallerName(std::string_view id);
absl::StatusOr<std::string> DnsCallerName(std::string_view host);
// `issuer` is the one of the configuration, see CheckIssuer.
absl::StatusOr<std::string> OidcCallerName(std::string_view issuer, std::string_view subject);

// INVALID_ARGUMENT naming `field` unless `issuer` can stand in a name: 1 to 200 printable bytes,
// without `#` and `%`.
absl::Status CheckIssuer(std::string_view field, std::string_view issuer);

// Strangers' text for an error message: at most 60 bytes of it, in quotes; every byte that is not
// printable ASCII becomes "?".
std::string Shown(std::string_view text);

}  // namespace dpledger::identity
