#include "cli/shown_text.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace dpledger::cli {
namespace {

struct Range {
  char32_t first, last;
};

// The categories Cc, Cf, Co, Zl and Zp of Unicode, as far as characters of them are known.
constexpr Range kUnseen[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},   {0x6dd, 0x6dd},   {0x70f, 0x70f},     {0x180e, 0x180e},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xe000, 0xf8ff},
    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff}};

bool IsUnseen(char32_t character) {
  for (const Range& range : kUnseen) {
    if (character >= range.first && character <= range.last) return true;
  }
  return false;
}

std::string Spell(std::string_view text, bool keeps_lines) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view rest = text;
    const std::optional<char32_t> character = TakeCharacter(text);
    if (!character.has_value()) {
      absl::StrAppendFormat(&shown, "⟨0x%02X⟩", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    } else if (IsUnseen(*character) && !(keeps_lines && *character == '\n')) {
      absl::StrAppendFormat(&shown, "⟨U+%04X⟩", static_cast<uint32_t>(*character));
    } else {
      shown += rest.substr(0, rest.size() - text.size());
    }
  }
  return shown;
}

}  // namespace

std::string Shown(std::string_view text) { return Spell(text, /*keeps_lines=*/false); }

std::string ShownLines(std::string_view text) { return Spell(text, /*keeps_lines=*/true); }

}  // namespace dpledger::cli
