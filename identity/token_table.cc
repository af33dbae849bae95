#include "identity/token_table.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "base/status.h"
#include "identity/json.h"

namespace dpledger::identity {
namespace {

constexpr absl::string_view kFirstLine = "dpledger tokens v1";
constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";
constexpr absl::Duration kForgetAfter = absl::Hours(30 * 24);

std::string TimeText(absl::Time time) {
  return absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone());
}

absl::StatusOr<absl::Time> ParseTime(std::string_view field, const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(kTimeFormat, text, &time, &error) && TimeText(time) == text) return time;
  return FieldError(field, "must be a time such as 2026-11-22T10:00:00Z");
}

absl::Time WholeSeconds(absl::Time time) {
  return time == absl::InfiniteFuture() ? time : absl::FromUnixSeconds(absl::ToUnixSeconds(time));
}

absl::StatusOr<Sha256Hash> ParseHash(const std::string& hex) {
  const absl::StatusOr<std::string> bytes = HexDecode(hex);
  Sha256Hash hash;
  if (!bytes.ok() || bytes->size() != hash.size() || HexEncode(*bytes) != hex) {
    return FieldError("hash", "must be 64 hexadecimal digits, in lower case");
  }
  std::copy(bytes->begin(), bytes->end(), hash.begin());
  return hash;
}

std::string HashText(const Sha256Hash& hash) {
  return HexEncode({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

absl::Status CheckGrants(size_t count) {
  if (count >= 1 && count <= kMaxGrantsOfToken) return absl::OkStatus();
  return FieldError("grants", absl::StrCat("must be 1 to ", kMaxGrantsOfToken, ", got ", count));
}

absl::Status ParseGrants(const Json::Array& array, std::vector<Grant>& grants) {
  RETURN_IF_ERROR(CheckGrants(array.size()));
  for (const Json& item : array) {
    const std::string field = absl::StrCat("grants[", grants.size(), "]");
    if (item.string() == nullptr) return FieldError(field, "must be a string");
    const absl::StatusOr<Grant> grant = Grant::Parse(*item.string());
    if (!grant.ok()) return PrefixField(field, grant.status());
    grants.push_back(*grant);
  }
  return absl::OkStatus();
}

absl::Status ParseMember(const std::string& name, const Json& value, TokenRecord& token) {
  if (name == "grants") {
    if (value.array() == nullptr) return FieldError(name, "must be a list");
    return ParseGrants(*value.array(), token.grants);
  }
  if (value.string() == nullptr) return FieldError(Shown(name), "must be a string");
  const std::string& text = *value.string();
  if (name == "name") {
    token.name = text;
  } else if (name == "hash") {
    ASSIGN_OR_RETURN(token.hash, ParseHash(text));
  } else if (name == "created") {
    ASSIGN_OR_RETURN(token.created, ParseTime(name, text));
  } else if (name == "expires") {
    ASSIGN_OR_RETURN(token.expires, ParseTime(name, text));
  } else if (name == "revoked") {
    ASSIGN_OR_RETURN(token.revoked, ParseTime(name, text));
  } else {
    return FieldError(Shown(name), "is not a member of a token");
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenRecord> ParseToken(std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, Json::Parse(line, 2));
  if (json.object() == nullptr) return absl::InvalidArgumentError("must be a JSON object");
  for (const char* member : {"name", "hash", "created", "grants"}) {
    if (json.Find(member) == nullptr) return FieldError(member, "is missing");
  }
  TokenRecord token;
  const Json::Members& members = *json.object();
  for (size_t i = 0; i < members.names.size(); ++i) {
    RETURN_IF_ERROR(ParseMember(members.names[i], members.values[i], token));
  }
  RETURN_IF_ERROR(TokenCallerName(token.name).status());
  return token;
}

std::string LineOf(const TokenRecord& token) {
  std::string line =
      absl::StrCat("{\"name\":", JsonString(token.name), ",\"hash\":\"", HashText(token.hash),
                   "\",\"created\":\"", TimeText(token.created), "\"");
  if (token.expires != absl::InfiniteFuture()) {
    absl::StrAppend(&line, ",\"expires\":\"", TimeText(token.expires), "\"");
  }
  if (token.revoked.has_value()) {
    absl::StrAppend(&line, ",\"revoked\":\"", TimeText(*token.revoked), "\"");
  }
  line += ",\"grants\":[";
  for (size_t i = 0; i < token.grants.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "" : ",", JsonString(token.grants[i].ToText()));
  }
  return line + "]}\n";
}

absl::Status NoSuchName(std::string_view name) {
  return WithReason(absl::NotFoundError(absl::StrCat("name: no token has the name ", Shown(name))),
                    {"NO_SUCH_TOKEN", {}});
}

absl::Status CheckRoom(size_t tokens) {
  if (tokens < kMaxTokens) return absl::OkStatus();
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat("there are ", tokens, " tokens, no more fit")),
      {"TOO_MANY_TOKENS", {}});
}

// The file would not be read again with two alike.
absl::Status CheckNewHash(const std::vector<TokenRecord>& tokens, const Sha256Hash& hash) {
  for (const TokenRecord& token : tokens) {
    if (token.hash == hash) return absl::AlreadyExistsError("hash: another token has it");
  }
  return absl::OkStatus();
}

absl::Status CheckExpires(absl::Time expires, absl::Time now) {
  // Far beyond any use, and within what the text of a time can say.
  if (expires == absl::InfiniteFuture() ||
      (expires > now && expires <= now + absl::Hours(24 * 36525))) {
    return absl::OkStatus();
  }
  return FieldError("expires", "must be in the future, by 100 years at the most");
}

}  // namespace

absl::StatusOr<TokenTable> TokenTable::Parse(std::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(ToAbsl(text), '\n');
  const auto bad = [](size_t line, absl::string_view why) {
    return WithReason(absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", why)),
                      {"INVALID_TOKEN_FILE", {{"line", absl::StrCat(line)}}});
  };
  if (lines[0] != kFirstLine) return bad(1, absl::StrCat("must be \"", kFirstLine, "\""));
  if (!lines.back().empty()) return bad(lines.size(), "is cut: a line end is missing");
  lines.pop_back();
  if (lines.size() > kMaxTokens + 1) return bad(kMaxTokens + 2, "is one token too many");
  TokenTable table;
  std::unordered_set<std::string> hashes;
  for (size_t i = 1; i < lines.size(); ++i) {
    absl::StatusOr<TokenRecord> token = ParseToken(FromAbsl(lines[i]));
    if (!token.ok()) return bad(i + 1, token.status().message());
    if (!hashes.insert(HashText(token->hash)).second) return bad(i + 1, "hash: is there twice");
    table.tokens.push_back(*std::move(token));
  }
  return table;
}

std::string TokenTable::ToText() const {
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const TokenRecord& token : tokens) text += LineOf(token);
  return text;
}

const TokenRecord* TokenTable::Current(std::string_view name) const {
  const auto found = std::find_if(tokens.rbegin(), tokens.rend(), [&](const TokenRecord& token) {
    return token.name == name && !token.revoked.has_value();
  });
  return found == tokens.rend() ? nullptr : &*found;
}

absl::Status TokenTable::Create(TokenRecord token, absl::Time now) {
  RETURN_IF_ERROR(TokenCallerName(token.name).status());
  RETURN_IF_ERROR(CheckGrants(token.grants.size()));
  RETURN_IF_ERROR(CheckExpires(token.expires, now));
  for (const TokenRecord& other : tokens) {
    if (other.name != token.name) continue;
    return WithReason(
        absl::AlreadyExistsError(absl::StrCat(
            "name: ", token.name,
            " was given before, and ledgers may name it as a writer: rotate its token, or take "
            "another name")),
        {"NAME_TAKEN", {}});
  }
  RETURN_IF_ERROR(CheckNewHash(tokens, token.hash));
  RETURN_IF_ERROR(CheckRoom(tokens.size()));
  token.created = WholeSeconds(now);
  token.expires = WholeSeconds(token.expires);
  tokens.push_back(std::move(token));
  return absl::OkStatus();
}

absl::Status TokenTable::Rotate(std::string_view name, const Sha256Hash& hash, absl::Time expires,
                                absl::Duration grace, absl::Time now) {
  RETURN_IF_ERROR(CheckExpires(expires, now));
  RETURN_IF_ERROR(CheckNewHash(tokens, hash));
  if (grace < absl::ZeroDuration() || grace > kForgetAfter) {
    return FieldError("grace", "must be 0 to 30 days");
  }
  const TokenRecord* const current = Current(name);
  if (current == nullptr) {
    const bool known = std::any_of(tokens.begin(), tokens.end(),
                                   [&](const TokenRecord& token) { return token.name == name; });
    if (!known) return NoSuchName(name);
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "name: the tokens of ", ToAbsl(name),
                          " are revoked, and revoking is for good: make one of another name")),
                      {"TOKEN_REVOKED", {}});
  }
  TokenRecord next{std::string(name),     hash,         WholeSeconds(now),
                   WholeSeconds(expires), std::nullopt, current->grants,
                   std::nullopt};
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(),
                              [&](const TokenRecord& token) {
                                return token.name == name &&
                                       std::min(token.expires,
                                                token.revoked.value_or(absl::InfiniteFuture())) <
                                           now - kForgetAfter;
                              }),
               tokens.end());
  RETURN_IF_ERROR(CheckRoom(tokens.size()));
  for (TokenRecord& token : tokens) {
    if (token.name == name) token.expires = std::min(token.expires, WholeSeconds(now + grace));
  }
  tokens.push_back(std::move(next));
  return absl::OkStatus();
}

absl::Status TokenTable::Revoke(std::string_view name, absl::Time now) {
  bool known = false;
  for (TokenRecord& token : tokens) {
    if (token.name != name) continue;
    known = true;
    if (!token.revoked.has_value()) token.revoked = WholeSeconds(now);
  }
  return known ? absl::OkStatus() : NoSuchName(name);
}

}  // namespace dpledger::identity
