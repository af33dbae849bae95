// Decides which caller may do what. A policy file grants roles to callers; a token also brings the
// grants that it was made with. Anything that is not granted is denied.
//
//   # who                                      role     where
//   token:alice-trainer                        trainer  projects/vision
//   spiffe://example.org/ns/ml/*               trainer  projects/nlp/ledgers/bert-*
//   oidc:https://login.example.org#bob         auditor  *
//   *                                          analyst  projects/public data-set=MNIST, 2011
//
//   line = caller blanks grant / "#" comment / empty       blanks between its words: one or more
//   caller = a caller's name (identity/caller.h) / the beginning of names and "*"
//
// A "*" alone is every authenticated caller; only the word `anonymous` grants to those who show
// nothing. Lines, and not JSON: a policy is read in reviews, a line each, with comments, as
// pg_hba.conf and authorized_keys are.
//
// 1. A file with one bad line is refused whole; the error names the line, the word and the rule.
// 2. A file that goes bad or away while the server runs changes nothing: the rights before stay,
//    and the log warns once for each content ("policy_kept").
// 3. An answer depends on the caller, the permission and the resource as they are given, so a
//    denial says nothing about what exists, as long as the desk asks before it looks.
// Thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/log.h"
#include "identity/caller.h"
#include "identity/grant.h"
#include "identity/watched_file.h"

namespace dpledger::identity {

struct PolicyLine {
  std::string caller;   // without the "*"
  bool prefix = false;  // it ended in "*"
  Grant grant;

  bool Names(const Caller& caller) const;
};

// INVALID_ARGUMENT "line 3: role: …".
absl::StatusOr<std::vector<PolicyLine>> ParsePolicy(std::string_view text);

class Rights {
 public:
  // `log` must outlive the object; it may be null. An empty path: no policy, only tokens' own
  // grants.
  static absl::StatusOr<std::unique_ptr<Rights>> Open(const std::string& policy_file,
                                                      const Log* log);

  // OK, or PERMISSION_DENIED with the reason NOT_GRANTED (SEAL_NEEDS_CREATOR for kSealWithMissing)
  // and the metadata {caller, permission, roles}, whose message says what an administrator would
  // have to grant.
  //
  // An empty resource is the server as a whole, which only a grant of everything covers; but for
  // kAsk it is a question about events in the request, which a grant of any scope allows.
  // kSealWithMissing is granted to admins, and to a ledger's creator that may seal.
  absl::Status Decide(const Caller& caller, Permission permission, const Resource& resource) const;
  bool Allows(const Caller& caller, Permission permission, const Resource& resource) const;

  // OK if the caller has the permission for something, whatever it is.
  absl::Status DecideSomewhere(const Caller& caller, Permission permission) const;

  // For lists: OK if the caller may see something within `resource`. The list must then hold only
  // what Allows() says of each item.
  absl::Status DecideList(const Caller& caller, const Resource& resource) const;

  // Reads the file again if it has changed. Called each second.
  void Refresh();

 private:
  Rights(const std::string& policy_file, const Log* log) : file_(policy_file), log_(log) {}

  template <typename Rule>
  bool AnyGrant(const Caller& caller, const Rule& rule) const;
  std::shared_ptr<const std::vector<PolicyLine>> policy() const;

  absl::Mutex refreshing_;
  WatchedFile file_ ABSL_GUARDED_BY(refreshing_);
  const Log* const log_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const std::vector<PolicyLine>> policy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::identity
