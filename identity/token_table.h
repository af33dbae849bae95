// The tokens of a server, what may be done to them, and the text they are kept as: a line that
// names the format, then one JSON object a line.
//
//   dpledger tokens v1
//   {"name":"alice","hash":"<SHA-256 of the token, hex>","created":"2026-11-22T10:00:00Z",
//    "expires":"…","revoked":"…","grants":["trainer projects/vision"]}      (one line each)
//
// "expires" and "revoked" may be missing. A token is 256 random bits, so its plain hash tells
// nothing about it; whoever can write the file, though, can make tokens.
//
// 1. A name belongs to one holder for ever: it is never given again, also when its tokens are
//    revoked, because ledgers keep it as the name of a writer. Rotation makes the next token of the
//    same name.
// 2. At most kMaxTokens tokens, 10 grants each.
// Values; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "identity/caller.h"
#include "identity/grant.h"

namespace dpledger::identity {

inline constexpr size_t kMaxTokens = 10'000, kMaxGrantsOfToken = 10;

struct TokenRecord {
  std::string name;  // the caller is token:NAME
  Sha256Hash hash = {};
  absl::Time created;  // whole seconds, as all times here
  absl::Time expires = absl::InfiniteFuture();
  std::optional<absl::Time> revoked;
  std::vector<Grant> grants;
  std::optional<absl::Time> last_use;  // whole minutes; not part of the text

  bool UsableAt(absl::Time now) const { return !revoked.has_value() && now < expires; }
};

struct TokenTable {
  std::vector<TokenRecord> tokens;  // in the order they were made

  // INVALID_ARGUMENT "line 3: grants[0]: …". No two tokens have the same hash.
  static absl::StatusOr<TokenTable> Parse(std::string_view text);
  std::string ToText() const;

  // The token that `name` uses now: the last that is not revoked. Null: none.
  const TokenRecord* Current(std::string_view name) const;

  // Adds the first token of a name. INVALID_ARGUMENT names the field; ALREADY_EXISTS: another token
  // has the hash, or (NAME_TAKEN) the name was given before; RESOURCE_EXHAUSTED: the table is full.
  absl::Status Create(TokenRecord token, absl::Time now);
  // Gives `name` a new token with the grants of the one before, which stays valid for `grace` at
  // the most. NOT_FOUND; ALREADY_EXISTS for its hash; FAILED_PRECONDITION (TOKEN_REVOKED) if all
  // its tokens are revoked. Forgets tokens of the name that ended more than 30 days ago.
  absl::Status Rotate(std::string_view name, const Sha256Hash& hash, absl::Time expires,
                      absl::Duration grace, absl::Time now);
  // Revokes all tokens of the name. NOT_FOUND. Again is no error.
  absl::Status Revoke(std::string_view name, absl::Time now);
};

}  // namespace dpledger::identity
