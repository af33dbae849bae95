#include "base/json_text.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace dpledger {

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    std::string_view rest = text;
    const std::optional<char32_t> character = TakeCharacter(rest);
    const size_t length = character.has_value() ? text.size() - rest.size() : 1;
    const char32_t code = character.value_or(static_cast<unsigned char>(text[0]));
    // What a terminal acts on: U+0000 to U+001F, U+007F to U+009F.
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (code == '"' || code == '\\') {
      out += '\\';
      out += text[0];
    } else if (control || !character.has_value()) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(code));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out + "\"";
}

}  // namespace dpledger
