#include "base/json_text.h"

#include "absl/strings/str_format.h"

namespace dpledger {
namespace {

// The length of the UTF-8 sequence that `text` begins with; 0 if it begins with none.
size_t Utf8Length(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  const size_t length = byte < 0x80                   ? 1
                        : byte >= 0xc2 && byte < 0xe0 ? 2
                        : byte >= 0xe0 && byte < 0xf0 ? 3
                        : byte >= 0xf0 && byte < 0xf5 ? 4
                                                      : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(text.substr(i));
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte < 0x20 || length == 0) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + "\"";
}

}  // namespace dpledger
