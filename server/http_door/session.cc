#include "server/http_door/session.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "identity/authenticator.h"
#include "server/http_door/connect_error.h"
#include "server/http_door/rpc.h"

namespace dpledger::server {
namespace {

constexpr char kCookie[] = "__Host-dpledger";
constexpr char kAttributes[] = "; Path=/; Secure; HttpOnly; SameSite=Strict";
// Browsers keep 4096 bytes of a cookie's name, value and attributes.
constexpr size_t kMaxTokenBytes = 3900;

http::Response SetCookie(std::string_view value, std::string_view more = "") {
  return {.status = 204,
          .headers = {
              {"set-cookie", absl::StrCat(kCookie, "=", ToAbsl(value), kAttributes, ToAbsl(more))},
              {"cache-control", "no-store"}}};
}

http::Response Refused(const absl::Status& status) {
  return {.status = HttpStatusOf(status.code()),
          .headers = {{"content-type", "application/json"}, {"cache-control", "no-store"}},
          .body = ConnectErrorJson(status)};
}

// The values of the cookie; a browser that has two of one name sends both.
std::vector<std::string> CookiesOf(const http::Request& request) {
  std::vector<std::string> values;
  for (const auto& [name, header] : request.headers) {
    if (name != "cookie") continue;
    for (const absl::string_view pair : absl::StrSplit(header, ';')) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(absl::StripAsciiWhitespace(pair), absl::MaxSplits('=', 1));
      if (parts.first == kCookie) values.emplace_back(parts.second);
    }
  }
  return values;
}

}  // namespace

http::Response ServeSession(Desk& desk, const http::Request& request) {
  if (request.method == "DELETE") return SetCookie("", "; Max-Age=0");
  const Credentials credentials = CredentialsOf(request);
  const std::optional<std::string_view> token = identity::BearerToken(credentials.authorization);
  CallContext caller;
  desk.Identify(credentials, caller);
  if (!caller.identified.ok()) return Refused(caller.identified);
  if (!caller.asked) {
    return Refused(absl::FailedPreconditionError(
        "this server does not ask who calls (--identity): there is nothing to sign in to"));
  }
  if (!token.has_value()) {
    return Refused(absl::InvalidArgumentError(
        "authorization: must be \"Bearer TOKEN\": a certificate signs in by itself"));
  }
  if (token->size() > kMaxTokenBytes) {
    return Refused(absl::InvalidArgumentError(absl::StrCat("authorization: a token of more than ",
                                                           kMaxTokenBytes,
                                                           " bytes does not fit in a cookie")));
  }
  return SetCookie(*token);  // a token that is valid has no byte that ends a cookie's value
}

bool TakeSession(http::Request& request) {
  if (request.Find("authorization").has_value()) return false;
  if (http::Count(request.headers, "sec-fetch-site") != 1) return false;
  const std::string_view site = *request.Find("sec-fetch-site");
  const bool by_hand = site == "none" && (request.method == "GET" || request.method == "HEAD");
  if (site != "same-origin" && !by_hand) return false;
  const std::vector<std::string> cookies = CookiesOf(request);
  if (cookies.size() != 1) return false;  // of two, one may be from another port of this host
  request.headers.emplace_back("authorization", absl::StrCat("Bearer ", cookies.front()));
  return true;
}

}  // namespace dpledger::server
