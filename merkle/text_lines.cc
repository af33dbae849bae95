#include "merkle/text_lines.h"

#include <charconv>

#include "merkle/base64.h"

namespace dpledger::merkle {

std::optional<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') return {};
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return {};
  return value;
}

std::string HashToBase64(const Hash& hash) { return Base64Encode(View(hash)); }

std::optional<Hash> ParseHash(std::string_view text) {
  const std::optional<std::string> bytes = Base64Decode(text);
  return bytes.has_value() ? HashFrom(*bytes) : std::nullopt;
}

}  // namespace dpledger::merkle
