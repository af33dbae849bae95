// The tokens that servers share (identity/token_table.h says what stands in them): in a file, on a
// volume that all servers mount, or in the database that they share.
//
// 1. A change is made on what the text holds then, alone among all servers and commands. It is
//    durable when Change returns, and found here at once; by the other servers when they refresh,
//    within a second.
// 2. A text that others replaced is read again: when Refresh is called, and, where that is a look
//    at a file, when a token is not known, but then every 100 ms at the most.
// 3. A text that is broken, gone or out of reach keeps the tokens before, and the log warns once
// for
//    each error ("tokens_kept"); changes are refused until it is whole. A token is revoked by a
//    line of the text, never by the lack of it.
// 4. The time of last use is a hint: whole minutes, noted in memory by each call, kept in a text of
//    its own, written at most once a minute by Refresh. A crash may lose the last minute of it. If
//    writing fails, as on a read-only volume, they are kept in memory alone.
// Thread safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/shared_text.h"
#include "identity/caller.h"
#include "identity/token_table.h"

namespace dpledger::identity {

class Tokens {
 public:
  // Reads the tokens; if there is no text, none is known. `use`: the times of last use. `clock` and
  // `log` must outlive the object; `log` may be null.
  static absl::StatusOr<std::unique_ptr<Tokens>> Open(std::unique_ptr<SharedText> text,
                                                      std::unique_ptr<SharedText> use, Clock* clock,
                                                      const Log* log);
  // In a file, and FILE.use beside it.
  static absl::StatusOr<std::unique_ptr<Tokens>> OpenFile(const std::string& path, Clock* clock,
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

  Tokens(std::unique_ptr<SharedText> text, std::unique_ptr<SharedText> use, Clock* clock,
         const Log* log)
      : clock_(*clock), log_(log), text_(std::move(text)), use_(std::move(use)) {}

  std::shared_ptr<const Snapshot> snapshot() const;
  void Install(TokenTable table);
  void ReadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);
  absl::StatusOr<TokenTable> TableFrom(const absl::StatusOr<std::string>& text) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);
  // Raises the times of last use to those that others wrote.
  void ReadLastUse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);
  void RaiseFrom(absl::string_view use) const;
  void WriteLastUse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);

  Clock& clock_;
  const Log* const log_;

  absl::Mutex changing_;  // before mutex_
  const std::unique_ptr<SharedText> text_ ABSL_PT_GUARDED_BY(changing_);
  const std::unique_ptr<SharedText> use_ ABSL_PT_GUARDED_BY(changing_);
  absl::Duration looked_ ABSL_GUARDED_BY(changing_) = -absl::InfiniteDuration();
  std::string use_read_ ABSL_GUARDED_BY(changing_);
  absl::Duration use_written_ ABSL_GUARDED_BY(changing_) = -absl::InfiniteDuration();
  bool use_failed_ ABSL_GUARDED_BY(changing_) = false;
  std::atomic<bool> used_ = false;  // since the times were written

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::identity
