#include "identity/first_token.h"

#include <openssl/crypto.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/secret_file.h"
#include "base/status.h"
#include "identity/token.h"

namespace dpledger::identity {
namespace {

// The token that the file holds, made if there is no file.
absl::StatusOr<std::string> TokenIn(const std::string& file) {
  std::string token = MakeToken() + "\n";
  const absl::Status made = MakeSecretFile(file, token);
  if (absl::IsAlreadyExists(made)) {
    ASSIGN_OR_RETURN(token, ReadSecretFile(file, kTokenBytes + 2));
  } else {
    RETURN_IF_ERROR(made);
  }
  if (!token.empty() && token.back() == '\n') token.pop_back();
  if (IsToken(token)) return token;
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          file,
          ": must hold the first token, which this server made: remove the file, and start "
          "again")),
      {"INVALID_TOKEN_FILE", {}});
}

}  // namespace

absl::StatusOr<bool> MakeFirstAdminToken(Tokens& tokens, const std::string& file, Clock& clock) {
  ASSIGN_OR_RETURN(const TokenTable before, tokens.List());
  if (!before.tokens.empty()) return false;
  bool made = false;
  // Under the store's lock, so that of several servers one makes the file too. The file first: a
  // token that is stored and that nobody holds would lock everybody out.
  const absl::Status stored = tokens.Change([&](TokenTable& table) -> absl::Status {
    made = false;
    if (!table.tokens.empty()) return absl::OkStatus();  // another server was faster
    ASSIGN_OR_RETURN(std::string token, TokenIn(file));
    TokenRecord record;
    record.name = kFirstTokenName;
    record.hash = HashOf(token);
    record.grants = {Grant{Role::kAdmin, Scope()}};
    OPENSSL_cleanse(token.data(), token.size());
    made = true;
    return table.Create(std::move(record), clock.Now());
  });
  if (!stored.ok()) return stored;
  return made;
}

}  // namespace dpledger::identity
