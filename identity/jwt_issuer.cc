#include "identity/jwt_issuer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

constexpr absl::Duration kLookAgain = absl::Seconds(5);

}  // namespace

JwtIssuer::JwtIssuer(JwtIssuerOptions options, Clock* clock, const Log* log)
    : options_(std::move(options)), clock_(*clock), log_(log), file_(options_.jwks_file) {}

absl::StatusOr<std::unique_ptr<JwtIssuer>> JwtIssuer::Open(JwtIssuerOptions options, Clock* clock,
                                                           const Log* log) {
  RETURN_IF_ERROR(CheckIssuer("issuer", options.issuer));
  if (options.audience.empty()) {
    return FieldError("audience", "must be given: a token for somebody else must not serve here");
  }
  std::unique_ptr<JwtIssuer> issuer(new JwtIssuer(std::move(options), clock, log));
  absl::MutexLock refreshing(&issuer->refreshing_);
  ASSIGN_OR_RETURN(const std::string text, *issuer->file_.Changed());
  issuer->looked_ = clock->Steady();
  absl::StatusOr<std::shared_ptr<const KeySet>> keys = KeySet::Parse(text);
  if (!keys.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(issuer->options_.jwks_file, ": ", keys.status().message()));
  }
  absl::MutexLock lock(&issuer->mutex_);
  issuer->keys_ = *std::move(keys);
  return issuer;
}

std::shared_ptr<const KeySet> JwtIssuer::keys() const {
  absl::ReaderMutexLock lock(&mutex_);
  return keys_;
}

std::optional<Caller> JwtIssuer::Remembered(const Sha256Hash& token_hash) {
  const absl::Time now = clock_.Now();
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = remembered_.find(token_hash);
  if (found == remembered_.end() || now >= found->second.expires) return std::nullopt;
  return found->second;
}

absl::StatusOr<Caller> JwtIssuer::Check(const ParsedJwt& token, const Sha256Hash& token_hash) {
  const std::shared_ptr<const KeySet> keys = this->keys();
  ASSIGN_OR_RETURN(const VerifyingKey* const key, VerifySignature(token, *keys));
  RETURN_IF_ERROR(CheckClaims(token, options_.issuer, options_.audience, clock_.Now()));
  absl::StatusOr<std::string> name = OidcCallerName(options_.issuer, *token.subject);
  if (!name.ok()) {
    return absl::UnauthenticatedError(absl::StrCat("jwt: ", name.status().message()));
  }
  Caller caller;
  caller.name = *std::move(name);
  caller.kind = CallerKind::kJwt;
  caller.expires = *token.expires;
  caller.evidence = key->fingerprint;
  Remember(token_hash, caller, keys.get());
  return caller;
}

void JwtIssuer::Remember(const Sha256Hash& token_hash, const Caller& caller, const KeySet* keys) {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  if (keys_.get() != keys) return;  // checked by keys that were replaced meanwhile
  if (remembered_.size() >= kMaxRemembered) {
    absl::erase_if(remembered_, [&](const auto& one) { return now >= one.second.expires; });
    // Which one goes does not matter: it is checked once more.
    if (remembered_.size() >= kMaxRemembered) remembered_.erase(remembered_.begin());
  }
  remembered_.insert_or_assign(token_hash, caller);
}

bool JwtIssuer::HasKey(const Sha256Hash& fingerprint) const { return keys()->Has(fingerprint); }

void JwtIssuer::Refresh() {
  absl::MutexLock refreshing(&refreshing_);
  if (clock_.Steady() - looked_ < kLookAgain) return;
  looked_ = clock_.Steady();
  const std::optional<absl::StatusOr<std::string>> text = file_.Changed();
  if (!text.has_value()) return;
  absl::Status status = text->status();
  if (status.ok()) {
    absl::StatusOr<std::shared_ptr<const KeySet>> keys = KeySet::Parse(**text);
    status = keys.status();
    if (keys.ok()) {
      const auto count = static_cast<int64_t>((*keys)->keys().size());
      {
        absl::MutexLock lock(&mutex_);
        keys_ = *std::move(keys);
        remembered_.clear();
      }
      if (log_ != nullptr) {
        log_->Write(LogLevel::kInfo, "jwks_read", {{"issuer", options_.issuer}, {"keys", count}});
      }
      return;
    }
  }
  if (log_ != nullptr) {
    log_->Write(LogLevel::kWarning, "jwks_kept",
                {{"file", options_.jwks_file}, {"error", std::string(status.message())}});
  }
}

}  // namespace dpledger::identity
