#include "base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace dpledger {

std::optional<char32_t> TakeCharacter(std::string_view& text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0x80           ? 1
                        : (first >> 5) == 0x06 ? 2
                        : (first >> 4) == 0x0e ? 3
                        : (first >> 3) == 0x1e ? 4
                                               : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t character = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next >> 6) != 0x02) return {};
    character = character << 6 | (next & 0x3f);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kSmallest[length] || character > 0x10ffff ||
      (character >= 0xd800 && character <= 0xdfff)) {
    return {};
  }
  text.remove_prefix(length);
  return character;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!TakeCharacter(text)) return false;
  }
  return true;
}

}  // namespace dpledger
