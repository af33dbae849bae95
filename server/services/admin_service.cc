#include "server/services/admin_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/unknown_fields.h"
#include "identity/token.h"

namespace dpledger::server {
namespace {

using events::CheckNoUnknownFields;
using identity::Grant;
using identity::TokenRecord;
using identity::TokenTable;

constexpr size_t kIdBytes = 6;

// A grant has one grammar; the parts of the message are its words.
absl::StatusOr<Grant> FromProto(const v1::Grant& message) {
  for (const auto& [field, word] :
       {std::pair("role", &message.role()), std::pair("scope", &message.scope())}) {
    if (word->empty() || word->find(' ') != std::string::npos) {
      return FieldError(field, absl::StrCat("must be one word, got ", identity::Shown(*word)));
    }
  }
  return Grant::Parse(
      absl::StrCat(message.role(), " ", message.scope(),
                   message.data_set().empty() ? "" : " data-set=", message.data_set()));
}

v1::Grant ToProto(const Grant& grant) {
  v1::Grant message;
  Grant without = grant;
  without.scope.data_set.clear();
  const std::string text = without.ToText();
  const size_t blank = text.find(' ');
  message.set_role(text.substr(0, blank));
  message.set_scope(text.substr(blank + 1));
  message.set_data_set(grant.scope.data_set);
  return message;
}

void Set(absl::Time time, google::protobuf::Timestamp& message) {
  message.set_seconds(absl::ToUnixSeconds(time));
}

v1::Token ToProto(const TokenRecord& token) {
  v1::Token message;
  message.set_name(token.name);
  message.set_caller(absl::StrCat("token:", token.name));
  for (const Grant& grant : token.grants) *message.add_grants() = ToProto(grant);
  Set(token.created, *message.mutable_create_time());
  if (token.expires != absl::InfiniteFuture()) Set(token.expires, *message.mutable_expire_time());
  if (token.revoked.has_value()) Set(*token.revoked, *message.mutable_revoke_time());
  if (token.last_use.has_value()) Set(*token.last_use, *message.mutable_last_use_time());
  message.set_id(HexEncode({reinterpret_cast<const char*>(token.hash.data()), kIdBytes}));
  return message;
}

// The fields of a protobuf time are not checked by its parser.
absl::Status CheckNanos(std::string_view field, int32_t nanos) {
  return nanos >= 0 && nanos < 1'000'000'000 ? absl::OkStatus()
                                             : FieldError(field, "nanos: must be 0 to 999999999");
}

template <typename Request>
absl::StatusOr<absl::Time> ExpiresOf(const Request& request) {
  if (!request.has_expire_time()) return absl::InfiniteFuture();
  RETURN_IF_ERROR(CheckNanos("expire_time", request.expire_time().nanos()));
  return absl::FromUnixSeconds(request.expire_time().seconds());
}

// The table's checks speak of its own fields.
absl::Status ForRequest(const absl::Status& status) {
  const std::string field = [&] {
    const std::map<std::string, std::string> metadata = ReasonOf(status).metadata;
    const auto found = metadata.find("field");
    return found == metadata.end() ? "" : found->second;
  }();
  if (field != "expires") return status;
  return FieldError("expire_time", std::string(status.message().substr(field.size() + 2)));
}

}  // namespace

absl::StatusOr<v1::CreateTokenResponse> AdminService::CreateToken(
    const v1::CreateTokenRequest& request, const CallContext&) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  TokenRecord token;
  token.name = request.name();
  for (int i = 0; i < request.grants_size(); ++i) {
    const absl::StatusOr<Grant> grant = FromProto(request.grants(i));
    if (!grant.ok()) return PrefixField(absl::StrCat("grants[", i, "]"), grant.status());
    token.grants.push_back(*grant);
  }
  ASSIGN_OR_RETURN(token.expires, ExpiresOf(request));
  v1::CreateTokenResponse response;
  response.set_secret(identity::MakeToken());
  token.hash = identity::HashOf(response.secret());
  const absl::Status stored = tokens_.Change([&](TokenTable& table) {
    const absl::Status created = table.Create(token, clock_.Now());
    if (created.ok()) *response.mutable_token() = ToProto(table.tokens.back());
    return created;
  });
  if (!stored.ok()) return ForRequest(stored);
  return response;
}

absl::StatusOr<v1::ListTokensResponse> AdminService::ListTokens(
    const v1::ListTokensRequest& request, const CallContext&) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  ASSIGN_OR_RETURN(const TokenTable table, tokens_.List());
  v1::ListTokensResponse response;
  for (const TokenRecord& token : table.tokens) *response.add_tokens() = ToProto(token);
  return response;
}

absl::StatusOr<v1::RotateTokenResponse> AdminService::RotateToken(
    const v1::RotateTokenRequest& request, const CallContext&) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckNanos("grace", request.grace().nanos()));
  ASSIGN_OR_RETURN(const absl::Time expires, ExpiresOf(request));
  v1::RotateTokenResponse response;
  response.set_secret(identity::MakeToken());
  const identity::Sha256Hash hash = identity::HashOf(response.secret());
  const absl::Status stored = tokens_.Change([&](TokenTable& table) {
    const absl::Status rotated = table.Rotate(
        request.name(), hash, expires, absl::Seconds(request.grace().seconds()), clock_.Now());
    if (rotated.ok()) *response.mutable_token() = ToProto(table.tokens.back());
    return rotated;
  });
  if (!stored.ok()) return ForRequest(stored);
  return response;
}

absl::StatusOr<v1::RevokeTokenResponse> AdminService::RevokeToken(
    const v1::RevokeTokenRequest& request, const CallContext&) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(tokens_.Change(
      [&](TokenTable& table) { return table.Revoke(request.name(), clock_.Now()); }));
  ASSIGN_OR_RETURN(const TokenTable table, tokens_.List());  // which says when they were used last
  v1::RevokeTokenResponse response;
  for (const TokenRecord& token : table.tokens) {
    if (token.name == request.name()) *response.add_tokens() = ToProto(token);
  }
  return response;
}

absl::StatusOr<v1::ListAccessResponse> AdminService::ListAccess(
    const v1::ListAccessRequest& request, const CallContext& call) {
  return access_.List(request, call);
}

}  // namespace dpledger::server
