// A store of tokens. Several servers of one PostgreSQL database share the tokens by sharing
// the store; today that is a file on a volume that all mount (identity/token_file.h). An engine may
// keep them elsewhere behind this interface.
//
// 1. A change is durable when Change returns, and this store finds it at once; the other servers'
//    stores find it when they refresh, within a second.
// 2. The time of last use is a hint: whole minutes, noted in memory by each call and written at
//    most once a minute by Refresh, without a sync. A crash may lose the last minute of it.
// Thread safe.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "identity/caller.h"
#include "identity/token_table.h"

namespace dpledger::identity {

class TokenStore {
 public:
  virtual ~TokenStore() = default;

  // The token with this hash, also if it is revoked or expired; null: none.
  virtual std::shared_ptr<const TokenRecord> Find(const Sha256Hash& hash) = 0;
  // That a call at `now` showed the token: a store into memory.
  virtual void NoteUse(const TokenRecord& token, absl::Time now) = 0;

  // All tokens, with the times of last use that this server knows.
  virtual absl::StatusOr<TokenTable> List() = 0;
  // Reads, changes and writes the table, alone among all servers. If `change` fails nothing is
  // written and its error is returned.
  virtual absl::Status Change(const std::function<absl::Status(TokenTable&)>& change) = 0;

  // See Authenticator::Refresh.
  virtual void Refresh() = 0;
};

}  // namespace dpledger::identity
