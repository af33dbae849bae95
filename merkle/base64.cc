#include "merkle/base64.h"

#include "absl/strings/escaping.h"
#include "base/absl_view.h"

namespace dpledger::merkle {

std::string Base64Encode(std::string_view bytes) { return absl::Base64Escape(ToAbsl(bytes)); }

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string bytes;
  // Abseil also takes other spellings.
  if (!absl::Base64Unescape(ToAbsl(text), &bytes) || Base64Encode(bytes) != text) return {};
  return bytes;
}

}  // namespace dpledger::merkle
