#include "server/summaries/dataset_names.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace dpledger::server {
namespace {

constexpr size_t kShortest = 4;

// A letter or digit in lower case. `alone`: what stands beside it is neither.
struct Sign {
  wint_t code;
  bool alone;
};

locale_t Unicode() {
  static const locale_t kUnicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kUnicode;
}

std::vector<Sign> Folded(std::string_view name) {
  std::vector<Sign> folded;
  bool joins = false;  // to the sign before
  while (!name.empty()) {
    const auto byte = static_cast<uint8_t>(name[0]);
    const std::optional<char32_t> character = TakeCharacter(name);
    if (!character.has_value()) name.remove_prefix(1);  // a byte that is no UTF-8 stands for itself
    const wint_t code = character.value_or(byte);
    const bool counts = Unicode() != nullptr ? iswalnum_l(code, Unicode()) != 0
                                             : (code > 127 || isalnum(static_cast<int>(code)) != 0);
    if (counts) {
      if (joins) folded.back().alone = false;
      folded.push_back({Unicode() != nullptr ? towlower_l(code, Unicode()) : code, !joins});
    }
    joins = counts;
  }
  return folded;
}

bool IsDigit(const Sign& sign) { return sign.code >= '0' && sign.code <= '9'; }

bool IsSame(const Sign& a, const Sign& b) { return a.code == b.code; }

}  // namespace

bool AreNearlySame(std::string_view a, std::string_view b) {
  std::vector<Sign> longer = Folded(a), shorter = Folded(b);
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  if (longer.size() > shorter.size() + 1 || shorter.empty()) return false;
  const auto [left, right] = std::mismatch(shorter.begin(), shorter.end(), longer.begin(), IsSame);
  const auto rest_is_same = [&](ptrdiff_t skip_left, ptrdiff_t skip_right) {
    return std::equal(left + skip_left, shorter.end(), right + skip_right, longer.end(), IsSame);
  };
  if (right == longer.end()) return true;  // the same signs
  if (shorter.size() < kShortest || IsDigit(*right)) return false;
  if (longer.size() > shorter.size()) return !right->alone && rest_is_same(0, 1);
  if (IsDigit(*left)) return false;
  if (rest_is_same(1, 1)) return !(left->alone && right->alone);
  return std::distance(left, shorter.end()) > 1 && IsSame(left[0], right[1]) &&
         IsSame(left[1], right[0]) && rest_is_same(2, 2);
}

std::string ShapeOf(std::string_view name) {
  // Greek, Cyrillic and digits in the shape of a letter, each row behind the letter.
  static constexpr std::array<std::u32string_view, 8> kShapes = {U"o\u03BF\u043E0",
                                                                 U"a\u0430\u03B1",
                                                                 U"e\u0435\u03B5",
                                                                 U"i\u0456\u03B9"
                                                                 U"1l|",
                                                                 U"p\u0440\u03C1",
                                                                 U"c\u0441\u03F2",
                                                                 U"x\u0445\u03C7",
                                                                 U"y\u0443\u03B3"};
  std::string shape;
  for (const Sign& sign : Folded(name)) {
    wint_t code = sign.code;
    for (const std::u32string_view row : kShapes) {
      if (row.find(static_cast<char32_t>(code)) != row.npos) code = row[0];
    }
    shape.append(reinterpret_cast<const char*>(&code), sizeof(code));
  }
  return shape;
}

}  // namespace dpledger::server
