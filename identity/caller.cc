#include "identity/caller.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/plain_name.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

constexpr size_t kMaxTokenNameBytes = 64, kMaxIssuerBytes = 200, kMaxHostBytes = 253;

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }
bool IsLowerOrDigit(char c) { return IsAlnum(c) && !absl::ascii_isupper(c); }

template <typename Rule>
bool All(std::string_view text, Rule rule) {
  return std::all_of(text.begin(), text.end(), rule);
}

absl::StatusOr<std::string> Bounded(std::string_view field, std::string name) {
  if (name.size() <= kMaxCallerNameBytes) return name;
  return FieldError(field, absl::StrCat("makes a name of ", name.size(), " bytes, at most ",
                                        kMaxCallerNameBytes, " are allowed"));
}

}  // namespace

absl::StatusOr<std::string> TokenCallerName(std::string_view token_name) {
  const bool good =
      !token_name.empty() && token_name.size() <= kMaxTokenNameBytes &&
      All(token_name, [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; });
  if (!good) {
    return FieldError("name", absl::StrCat("must be 1 to ", kMaxTokenNameBytes,
                                           " bytes of [A-Za-z0-9._-], got ", Shown(token_name)));
  }
  return absl::StrCat("token:", ToAbsl(token_name));
}

// SPIFFE-ID, sections 2.1 and 2.2.
absl::StatusOr<std::string> SpiffeCallerName(std::string_view id) {
  constexpr std::string_view kScheme = "spiffe://";
  const auto bad = [](const char* rule) { return FieldError("spiffe id", rule); };
  if (id.substr(0, kScheme.size()) != kScheme) return bad("must begin with spiffe://");
  const std::string_view rest = id.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view domain = rest.substr(0, slash);
  if (domain.empty() || domain.size() > 255 ||
      !All(domain, [](char c) { return IsLowerOrDigit(c) || c == '.' || c == '-' || c == '_'; })) {
    return bad("the trust domain must be 1 to 255 bytes of [a-z0-9._-]");
  }
  if (slash == rest.size()) return bad("a workload's id must have a path");
  for (const absl::string_view part : absl::StrSplit(ToAbsl(rest.substr(slash + 1)), '/')) {
    if (part.empty() || part == "." || part == ".." || !All(FromAbsl(part), [](char c) {
          return IsAlnum(c) || c == '.' || c == '-' || c == '_';
        })) {
      return bad("each part of the path must be bytes of [A-Za-z0-9._-], and not . or ..");
    }
  }
  return Bounded("spiffe id", std::string(id));
}

absl::StatusOr<std::string> DnsCallerName(std::string_view host) {
  const auto bad = [](const char* rule) { return FieldError("dns name", rule); };
  if (host.empty() || host.size() > kMaxHostBytes) return bad("must be 1 to 253 bytes long");
  for (const absl::string_view label : absl::StrSplit(ToAbsl(host), '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-' ||
        !All(FromAbsl(label), [](char c) { return IsAlnum(c) || c == '-' || c == '_'; })) {
      return bad(
          "each label must be 1 to 63 bytes of [A-Za-z0-9_-], not beginning or ending with -; "
          "wildcards name nobody");
    }
  }
  return absl::StrCat("dns:", absl::AsciiStrToLower(ToAbsl(host)));
}

absl::Status CheckIssuer(std::string_view field, std::string_view issuer) {
  if (!issuer.empty() && issuer.size() <= kMaxIssuerBytes &&
      All(issuer, [](char c) { return IsPlainNameByte(c) && c != '#' && c != '%'; })) {
    return absl::OkStatus();
  }
  return FieldError(field, absl::StrCat("must be 1 to ", kMaxIssuerBytes,
                                        " bytes of printable ASCII without blanks and \" \\ * # %, "
                                        "got ",
                                        Shown(issuer)));
}

absl::StatusOr<std::string> OidcCallerName(std::string_view issuer, std::string_view subject) {
  RETURN_IF_ERROR(CheckIssuer("issuer", issuer));
  if (subject.empty()) return FieldError("sub", "must not be empty");
  std::string name = absl::StrCat("oidc:", ToAbsl(issuer), "#");
  for (const char c : subject) {
    if (IsPlainNameByte(c) && c != '#' && c != '%') {
      name.push_back(c);
    } else {
      absl::StrAppendFormat(&name, "%%%02X", static_cast<unsigned char>(c));
    }
    if (name.size() > kMaxCallerNameBytes) break;
  }
  return Bounded("sub", std::move(name));
}

std::string Shown(std::string_view text) {
  constexpr size_t kShownBytes = 60;
  std::string shown = "\"";
  for (const char c : text.substr(0, kShownBytes)) {
    shown.push_back(c >= ' ' && c < '\x7f' ? c : '?');
  }
  shown += text.size() > kShownBytes ? "...\"" : "\"";
  return shown;
}

}  // namespace dpledger::identity
