// Hostile input for parsers that accept one spelling of every value: whatever is accepted must be
// written again exactly as it was read, or two readers could take one text for two things.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dpledger::merkle {

// What a parser made of the text, written again; nothing if it refused.
using Rewrite = std::function<std::optional<std::string>(std::string_view text)>;

// Tries `valid`, every beginning of it, and random changes of it. Returns how many changed texts
// were accepted, so that a test can tell a parser that refuses everything.
inline int ExpectOneSpelling(const std::string& valid, const Rewrite& rewrite) {
  EXPECT_EQ(rewrite(valid), valid);
  int accepted = 0;
  const auto check = [&](const std::string& text) {
    // A copy of just this size on the heap, so that a sanitizer sees a read past the end.
    const std::vector<char> bytes(text.begin(), text.end());
    const std::optional<std::string> again = rewrite({bytes.data(), bytes.size()});
    if (!again.has_value()) return;
    ++accepted;
    EXPECT_EQ(*again, text);
  };
  for (size_t length = 0; length < valid.size(); ++length) check(valid.substr(0, length));
  std::mt19937_64 random(7);
  const std::string pieces[] = {"\n",       "\n\n",     "0",
                                "9",        " ",        "=",
                                "+",        "A",        "\xe2\x80\x94 ",
                                "\xff",     "\xc0\x80", std::string(1, '\0'),
                                "\xc2\xa0", "/",        "x"};
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t place = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(place, pieces[random() % std::size(pieces)]);
          break;
        case 1:
          text.erase(place, 1 + random() % 3);
          break;
        case 2:
          if (place < text.size()) text[place] = static_cast<char>(random());
          break;
        default:
          text.insert(place, text.substr(random() % text.size(), random() % 80));
      }
      if (text.empty()) break;
    }
    if (text != valid) check(text);
  }
  return accepted;
}

}  // namespace dpledger::merkle
