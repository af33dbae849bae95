#include "identity/base64url.h"

#include "absl/strings/escaping.h"
#include "base/absl_view.h"

namespace dpledger::identity {

std::string Base64UrlEncode(std::string_view bytes) {
  return absl::WebSafeBase64Escape(ToAbsl(bytes));
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  std::string bytes;
  // Abseil also takes other spellings.
  if (!absl::WebSafeBase64Unescape(ToAbsl(text), &bytes) || Base64UrlEncode(bytes) != text)
    return std::nullopt;
  return bytes;
}

}  // namespace dpledger::identity
