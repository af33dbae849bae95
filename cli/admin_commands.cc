// Commands of administrators: a server's tokens, and its access record.
#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/secret_file.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/duration_flag.h"
#include "cli/flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"

namespace dpledger::cli {
namespace {

constexpr size_t kMaxNameBytes = 64;

// ---- the secret ----

// Before the server makes a token: one that cannot be kept would only be in the way.
absl::Status CheckNewFile(const std::string& file) {
  struct stat status;
  if (file.empty() || ::lstat(file.c_str(), &status) != 0) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("--out: ", file, " is there already, and is not written over"));
}

absl::Status PrintSecret(const v1::Token& token, const std::string& secret, const std::string& file,
                         bool replace, Output& out) {
  v1::TokenMade made;
  *made.mutable_token() = token;
  if (file.empty()) {
    made.set_secret(secret);
  } else {
    const std::string content = secret + "\n";
    const absl::Status kept =
        replace ? ReplaceSecretFile(file, content) : MakeSecretFile(file, content);
    if (!kept.ok()) {
      return absl::Status(kept.code(), absl::StrCat("the server made the token of ", token.name(),
                                                    ", but it could not be kept: ", kept.message(),
                                                    "\n  What to do: `dpledger admin token rotate ",
                                                    token.name(), "`, with another --out."));
    }
    made.set_file(file);
  }
  RETURN_IF_ERROR(out.Answer(made));
  if (file.empty()) out.Note("this token is not shown again; whoever has it is the caller");
  return absl::OkStatus();
}

// ---- the commands ----

v1::Grant GrantFrom(const std::string& text) {
  // The server checks the words.
  const std::vector<std::string> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  v1::Grant grant;
  grant.set_role(words[0]);
  if (words.size() > 1) grant.set_scope(words[1]);
  if (words.size() > 2) {
    constexpr std::string_view kDataSet = "data-set=";
    RefuseIf(words[2].rfind(kDataSet, 0) != 0 || words[2].size() == kDataSet.size(), "--grant",
             absl::StrCat("must be ROLE SCOPE, or ROLE SCOPE data-set=NAME, got ", text));
    grant.set_data_set(words[2].substr(kDataSet.size()));
  }
  return grant;
}

struct TokenFlags {
  connection::ServerAccess server;
  std::string name;
  std::vector<std::string> grants;
  std::optional<absl::Duration> expires_in = absl::Hours(90 * 24);
  absl::Duration grace = absl::Hours(1);
  std::string out;

  void AddTo(flags::App& app) { AddRequiredServer(app, server); }
  void Check() const {
    for (const std::string& grant : grants) (void)GrantFrom(grant);
  }
  template <typename Request>
  void SetExpireTime(Request& request) const {
    if (!expires_in.has_value()) return;
    request.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(absl::Now() + *expires_in));
  }
};

absl::Status Create(const TokenFlags& flags, Output& out) {
  RETURN_IF_ERROR(CheckNewFile(flags.out));
  v1::CreateTokenRequest request;
  request.set_name(flags.name);
  for (const std::string& grant : flags.grants) *request.add_grants() = GrantFrom(grant);
  flags.SetExpireTime(request);
  ASSIGN_OR_RETURN(const v1::CreateTokenResponse made, ServerCalls(flags.server).Ask(request));
  return PrintSecret(made.token(), made.secret(), flags.out, /*replace=*/false, out);
}

absl::Status Rotate(const TokenFlags& flags, Output& out) {
  v1::RotateTokenRequest request;
  request.set_name(flags.name);
  request.mutable_grace()->set_seconds(absl::ToInt64Seconds(flags.grace));
  flags.SetExpireTime(request);
  ASSIGN_OR_RETURN(const v1::RotateTokenResponse made, ServerCalls(flags.server).Ask(request));
  return PrintSecret(made.token(), made.secret(), flags.out, /*replace=*/true, out);
}

absl::Status Revoke(const TokenFlags& flags, Output& out) {
  v1::RevokeTokenRequest request;
  request.set_name(flags.name);
  return out.Answer(ServerCalls(flags.server).Ask(request));
}

absl::Status List(const TokenFlags& flags, Output& out) {
  return out.Answer(ServerCalls(flags.server).Ask(v1::ListTokensRequest()));
}

void AddHolder(flags::App& command, TokenFlags& flags) {
  AddToken(command, "NAME", flags.name, kMaxNameBytes, "whose token; the caller is token:NAME")
      ->required();
}

void AddExpiryAndOut(flags::App& command, TokenFlags& flags, const char* out_help) {
  AddLengthOrNever(command, "--expires-in", flags.expires_in,
                   "how long the token is valid: 12h, 90d, never; 90d if not given");
  AddPlain(command, "--out", flags.out, "FILE", out_help);
}

void AddCreate(flags::App& token, Command& chosen) {
  auto [command, flags] = AddCommand(
      token, "create", "Makes a token, and shows it once. A name is given once, for ever.",
      "  dpledger admin token create alice --server 127.0.0.1:7070 --grant \"trainer "
      "projects/vision\" --out alice.token\n"
      "  dpledger admin token create reader --server 127.0.0.1:7070 --grant \"analyst "
      "projects/vision/ledgers/mnist-* data-set=MNIST\" --expires-in 12h",
      Create, chosen);
  AddHolder(command, flags);
  command
      .add_option("--grant", flags.grants,
                  "what the token may do, and where; may repeat\n"
                  "  ROLE   trainer, analyst, auditor or admin\n"
                  "  SCOPE  *, projects/P, projects/P/ledgers/L or projects/P/ledgers/PREFIX*\n"
                  "  then data-set=NAME to allow ledgers over this data set alone")
      ->type_name("\"ROLE SCOPE\"")
      ->required();
  AddExpiryAndOut(command, flags, "a new file for the token (mode 600), instead of stdout");
}

void AddRotate(flags::App& token, Command& chosen) {
  auto [command, flags] = AddCommand(
      token, "rotate", "Makes the next token of a name. The one before stays valid for a while.",
      "  dpledger admin token rotate alice --server 127.0.0.1:7070 --grace 1h --out alice.token",
      Rotate, chosen);
  AddHolder(command, flags);
  AddLength(command, "--grace", flags.grace,
            "how long the token before stays valid, at most 30d; 1h if not given");
  AddExpiryAndOut(command, flags,
                  "the file for the token (mode 600), replaced if it is there, instead of stdout");
}

void AddRevoke(flags::App& token, Command& chosen) {
  auto [command, flags] = AddCommand(
      token, "revoke", "Ends all tokens of a name, for good, and the streams that they opened.",
      "  dpledger admin token revoke alice --server 127.0.0.1:7070", Revoke, chosen);
  AddHolder(command, flags);
}

}  // namespace

void AddAdminCommands(flags::App& app, Command& chosen) {
  constexpr char kExample[] = "  dpledger admin token list --server 127.0.0.1:7070";
  flags::App& admin = AddGroup(app, "admin", "What administrators of a server do.", kExample);
  flags::App& token = AddGroup(admin, "token", "Tokens: who may call the server.", kExample);
  AddCreate(token, chosen);
  AddRotate(token, chosen);
  AddRevoke(token, chosen);
  AddCommand(token, "list", "Shows all tokens of the server: who, what, until when, last use.",
             "  dpledger admin token list --server 127.0.0.1:7070 --json", List, chosen);
  AddAccessCommand(admin, chosen);
}

}  // namespace dpledger::cli
