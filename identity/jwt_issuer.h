// An issuer of JWTs that the server trusts: its name, whom its tokens must be for, and its keys in
// a JWKS file that others replace. Checks tokens, and remembers good ones by their hash until they
// expire.
//
// 1. The file is looked at every 5 seconds at most. One that is broken or gone keeps the keys
//    before, and the log warns once for each content ("jwks_kept").
// 2. When the keys change, everything remembered is forgotten: a removed key verifies nothing from
//    then on.
// 3. At most kMaxRemembered tokens are remembered. Refused ones never are.
// Thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "identity/caller.h"
#include "identity/jwks.h"
#include "identity/jwt.h"
#include "identity/watched_file.h"

namespace dpledger::identity {

struct JwtIssuerOptions {
  std::string issuer;     // "https://kubernetes.default.svc.cluster.local", as `iss` spells it
  std::string audience;   // the name of this server among the audiences: "dpledger"
  std::string jwks_file;  // RFC 7517
};

class JwtIssuer {
 public:
  // Reads the keys. `clock` and `log` must outlive the object; `log` may be null.
  static absl::StatusOr<std::unique_ptr<JwtIssuer>> Open(JwtIssuerOptions options, Clock* clock,
                                                         const Log* log);

  const std::string& issuer() const { return options_.issuer; }

  // The caller of a token remembered; nullopt if it has to be checked.
  std::optional<Caller> Remembered(const Sha256Hash& token_hash);
  // Checks a parsed token whose `iss` is this issuer. UNAUTHENTICATED with the rule that is broken,
  // for the log.
  absl::StatusOr<Caller> Check(const ParsedJwt& token, const Sha256Hash& token_hash);

  // Whether the file still has the key with this fingerprint.
  bool HasKey(const Sha256Hash& fingerprint) const;

  // Reads the file again if it has changed and was not looked at for 5 seconds.
  void Refresh();

 private:
  static constexpr size_t kMaxRemembered = 4096;

  JwtIssuer(JwtIssuerOptions options, Clock* clock, const Log* log);
  std::shared_ptr<const KeySet> keys() const;
  void Remember(const Sha256Hash& token_hash, const Caller& caller, const KeySet* keys);

  const JwtIssuerOptions options_;
  Clock& clock_;
  const Log* const log_;
  absl::Mutex refreshing_;
  WatchedFile file_ ABSL_GUARDED_BY(refreshing_);
  absl::Duration looked_ ABSL_GUARDED_BY(refreshing_) = absl::ZeroDuration();
  mutable absl::Mutex mutex_;
  std::shared_ptr<const KeySet> keys_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Sha256Hash, Caller> remembered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::identity
