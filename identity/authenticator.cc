#include "identity/authenticator.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "identity/certificate_name.h"
#include "identity/token.h"

namespace dpledger::identity {
namespace {

constexpr char kInvalidCertificate[] = "INVALID_CERTIFICATE";

absl::Status Refused(const char* reason, absl::string_view message,
                     std::map<std::string, std::string> metadata = {}) {
  return WithReason(absl::UnauthenticatedError(message), {reason, std::move(metadata)});
}

absl::Status Missing() {
  return Refused("MISSING_CREDENTIALS",
                 "this server knows its callers: show a token (--token-file, or the header "
                 "\"authorization: Bearer ...\") or a client certificate (--cert, --cert-key)");
}
absl::Status InvalidToken() {
  return Refused("INVALID_TOKEN",
                 "the token is not valid here: check the token file, or ask an "
                 "administrator for a new token");
}
absl::Status UsableAt(const TokenRecord& token, absl::Time now) {
  if (token.UsableAt(now)) return absl::OkStatus();
  if (token.revoked.has_value()) {
    return Refused("REVOKED_TOKEN", absl::StrCat("the token of ", token.name, " was revoked"),
                   {{"caller", absl::StrCat("token:", token.name)}});
  }
  return Refused(
      "EXPIRED_TOKEN",
      absl::StrCat("the token of ", token.name, " has expired: ask an administrator to rotate it"),
      {{"caller", absl::StrCat("token:", token.name)}});
}

}  // namespace

std::optional<std::string_view> BearerToken(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(ToAbsl(header), ToAbsl(kScheme))) return std::nullopt;
  header.remove_prefix(kScheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

Authenticator::Authenticator(Tokens* tokens, std::vector<JwtIssuer*> issuers, Clock* clock,
                             AuthenticatorOptions options)
    : tokens_(tokens), issuers_(std::move(issuers)), clock_(*clock), options_(options) {}

absl::StatusOr<Caller> Authenticator::Authenticate(const Credentials& credentials,
                                                   Refusal* refusal) {
  Refusal detail;
  const absl::StatusOr<Caller> caller = [&]() -> absl::StatusOr<Caller> {
    if (!credentials.authorization.empty()) {
      const std::optional<std::string_view> token = BearerToken(credentials.authorization);
      if (token.has_value()) {
        // No JWT has an underscore in its first four bytes: its header begins with "{".
        const bool ours = absl::StartsWith(ToAbsl(*token), ToAbsl(kTokenPrefix));
        return ours ? FromToken(*token, detail) : FromJwt(*token, detail);
      }
      detail.detail = "authorization: is not of the scheme Bearer";
      return InvalidToken();
    }
    if (credentials.certificate != nullptr) {
      absl::StatusOr<Caller> named = CallerFromCertificate(credentials.certificate);
      if (named.ok() && clock_.Now() < named->expires) return named;
      detail.detail =
          named.ok() ? "certificate: has expired" : std::string(named.status().message());
      return Refused(kInvalidCertificate,
                     "the client certificate names no caller: it must have one SPIFFE id or one "
                     "DNS name as its subject alternative name, and not have expired");
    }
    if (options_.allow_anonymous) return Caller();
    return Missing();
  }();
  if (!caller.ok() && refusal != nullptr) {
    detail.reason = ReasonOf(caller.status()).reason;
    *refusal = std::move(detail);
  }
  return caller;
}

absl::StatusOr<Caller> Authenticator::FromToken(std::string_view token, Refusal& refusal) {
  if (!IsToken(token)) {
    refusal.detail = "token: is cut or mistyped";
    return InvalidToken();
  }
  const Sha256Hash hash = HashOf(token);
  const std::shared_ptr<const TokenRecord> record =
      tokens_ == nullptr ? nullptr : tokens_->Find(hash);
  if (record == nullptr) {
    refusal.detail = "token: is not known";
    return InvalidToken();
  }
  Caller caller;
  ASSIGN_OR_RETURN(caller.name, TokenCallerName(record->name));
  const absl::Time now = clock_.Now();
  if (const absl::Status usable = UsableAt(*record, now); !usable.ok()) {
    refusal.detail = "token: is known, and no longer good";
    refusal.caller = caller.name;
    return usable;
  }
  tokens_->NoteUse(*record, now);
  caller.kind = CallerKind::kToken;
  caller.expires = record->expires;
  caller.evidence = hash;
  caller.grants = std::shared_ptr<const std::vector<Grant>>(record, &record->grants);
  return caller;
}

absl::StatusOr<Caller> Authenticator::FromJwt(std::string_view token, Refusal& refusal) {
  if (token.size() > kMaxJwtBytes) {  // before it is hashed
    refusal.detail = "jwt: is longer than 8 KiB";
    return InvalidToken();
  }
  if (issuers_.empty()) {
    refusal.detail = "token: is none of this server, which trusts no issuer";
    return InvalidToken();
  }
  const Sha256Hash hash = HashOf(token);
  for (JwtIssuer* const issuer : issuers_) {
    if (std::optional<Caller> caller = issuer->Remembered(hash)) return *std::move(caller);
  }
  const absl::StatusOr<ParsedJwt> parsed = ParseJwt(token);
  if (!parsed.ok()) {
    refusal.detail = std::string(parsed.status().message());
    return InvalidToken();
  }
  // The issuer that the token names chooses the keys, and nothing else. A single issuer's keys are
  // checked before the claims.
  for (JwtIssuer* const issuer : issuers_) {
    if (issuers_.size() > 1 && parsed->issuer != issuer->issuer()) continue;
    absl::StatusOr<Caller> caller = issuer->Check(*parsed, hash);
    if (caller.ok()) return caller;
    refusal.detail = std::string(caller.status().message());
    return InvalidToken();
  }
  refusal.detail = "jwt: iss: is none that is trusted";
  return InvalidToken();
}

absl::Status Authenticator::StillValid(const Caller& caller) const {
  const absl::Time now = clock_.Now();
  switch (caller.kind) {
    case CallerKind::kAnonymous:
      return options_.allow_anonymous ? absl::OkStatus() : Missing();
    case CallerKind::kMtls:
      return now < caller.expires
                 ? absl::OkStatus()
                 : Refused(kInvalidCertificate, "the client certificate has expired");
    case CallerKind::kToken: {
      const std::shared_ptr<const TokenRecord> record =
          tokens_ == nullptr ? nullptr : tokens_->Find(caller.evidence);
      if (record == nullptr) return InvalidToken();
      RETURN_IF_ERROR(UsableAt(*record, now));
      const bool same = caller.grants != nullptr && *caller.grants == record->grants;
      return same ? absl::OkStatus() : InvalidToken();
    }
    case CallerKind::kJwt:
      if (now >= caller.expires) return InvalidToken();
      for (const JwtIssuer* const issuer : issuers_) {
        if (absl::StartsWith(caller.name, absl::StrCat("oidc:", issuer->issuer(), "#"))) {
          return issuer->HasKey(caller.evidence) ? absl::OkStatus() : InvalidToken();
        }
      }
      return InvalidToken();
  }
  return InvalidToken();
}

void Authenticator::Refresh() {
  if (tokens_ != nullptr) tokens_->Refresh();
  for (JwtIssuer* const issuer : issuers_) issuer->Refresh();
}

}  // namespace dpledger::identity
