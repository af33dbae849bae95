// The tokens in a file (identity/token_table.h says what stands in it), of mode 0600. Several
// servers share their tokens by a file on a volume that all mount.
//
// 1. A change is made under a lock (FILE.lock), on what the file holds then, and replaces the file
//    whole: written beside, synced, renamed. Servers and commands may change it at the same time.
//    It is durable when Change returns, and found here at once; by the other servers when they
//    refresh, within a second.
// 2. A file that others replaced is read again: when Refresh is called, and when a token is not
//    known, but then every 100 ms at the most.
// 3. A file that is broken or gone keeps the tokens before, and the log warns once for each content
//    ("tokens_kept"); changes are refused until it is whole. A token is revoked by a line of the
//    file, never by the lack of the file.
// 4. The time of last use is a hint: whole minutes, noted in memory by each call, kept beside
//    (FILE.use), written at most once a minute by Refresh and not synced. A crash may lose the last
//    minute of it. If writing fails, as on a read-only volume, they are kept in memory alone.
// Thread safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "identity/caller.h"
#include "identity/token_table.h"
#include "identity/watched_file.h"

namespace dpledger::identity {

class TokenFile {
 public:
  // Reads the file; if there is none, no token is known. `clock` and `log` must outlive the object;
  // `log` may be null.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(const std::string& path, Clock* clock,
                                                         const Log* log);

  // The token with this hash, also if it is revoked or expired; null: none.
  std::shared_ptr<const TokenRecord> Find(const Sha256Hash& hash);
  // That a call at `now` showed the token: a store into memory.
  void NoteUse(const TokenRecord& token, absl::Time now);

  // All tokens, with the times of last use that this server knows.
  absl::StatusOr<TokenTable> List();
  // Reads, changes and writes the table, alone among all servers. If `change` fails nothing is
  // written and its error is returned.
  absl::Status Change(const std::function<absl::Status(TokenTable&)>& change);

  // See Authenticator::Refresh.
  void Refresh();

 private:
  // Unix minutes; 0: never. Shared by all snapshots with the token.
  using LastUse = std::atomic<int64_t>;
  struct Entry {
    std::shared_ptr<const TokenRecord> token;
    std::shared_ptr<LastUse> last_use;
  };
  struct Snapshot {
    TokenTable table;
    absl::flat_hash_map<Sha256Hash, Entry> by_hash;
  };

  TokenFile(const std::string& path, Clock* clock, const Log* log)
      : path_(path), clock_(*clock), log_(log), file_(path) {}

  std::shared_ptr<const Snapshot> snapshot() const;
  void Install(TokenTable table);
  void ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);
  // Raises the times of last use to those of FILE.use.
  void ReadLastUse(const Snapshot& snapshot) const;
  void WriteLastUse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);

  const std::string path_;
  Clock& clock_;
  const Log* const log_;

  absl::Mutex changing_;  // before mutex_
  WatchedFile file_ ABSL_GUARDED_BY(changing_);
  absl::Duration looked_ ABSL_GUARDED_BY(changing_) = -absl::InfiniteDuration();
  absl::Duration use_written_ ABSL_GUARDED_BY(changing_) = -absl::InfiniteDuration();
  bool use_failed_ ABSL_GUARDED_BY(changing_) = false;
  std::atomic<bool> used_ = false;  // since the times were written

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::identity
