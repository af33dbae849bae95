#include "cli/json.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/number_text.h"

namespace dpledger::cli {
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

std::string JsonString(const std::string& text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8Length(std::string_view(text).substr(i));
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

std::string JsonNumber(double value) {
  const std::string text = ExactText(value);
  return std::isinf(value) ? JsonString(text) : text;
}

std::string JsonArray(const std::vector<std::string>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

JsonObject& JsonObject::AddJson(const std::string& key, const std::string& json) {
  absl::StrAppend(&members_, members_.empty() ? "" : ",", JsonString(key), ":", json);
  return *this;
}

JsonObject& JsonObject::AddText(const std::string& key, const std::string& text) {
  return AddJson(key, JsonString(text));
}

JsonObject& JsonObject::AddTexts(const std::string& key, const std::vector<std::string>& texts) {
  return AddJson(key, JsonList(texts, &JsonString));
}

JsonObject& JsonObject::AddNumber(const std::string& key, double value) {
  return AddJson(key, JsonNumber(value));
}

JsonObject& JsonObject::AddCount(const std::string& key, uint64_t value) {
  return AddJson(key, absl::StrCat(value));
}

JsonObject& JsonObject::AddFlag(const std::string& key, bool value) {
  return AddJson(key, value ? "true" : "false");
}

}  // namespace dpledger::cli
