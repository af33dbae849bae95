#include "identity/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/utf8.h"

namespace dpledger::identity {
namespace {

void AppendUtf8(uint32_t character, std::string& out) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | character >> 6);
    put(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  } else {
    put(0xf0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  }
}

// By sorting: comparing each with each would let a long object take quadratic time.
bool HasNameTwice(const Json::Members& members) {
  std::vector<std::string_view> names(members.names.begin(), members.names.end());
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

class JsonParser {
 public:
  JsonParser(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

  absl::StatusOr<Json> Whole() {
    Json value;
    RETURN_IF_ERROR(Value(0, value));
    SkipBlanks();
    if (at_ != text_.size()) return Bad("must end after the value");
    return value;
  }

 private:
  absl::Status Bad(absl::string_view rule) const {
    return absl::InvalidArgumentError(absl::StrCat("at byte ", at_, ": ", rule));
  }
  bool AtEnd() const { return at_ == text_.size(); }
  void SkipBlanks() {
    while (!AtEnd() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool Take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  absl::Status Value(int depth, Json& out) {
    SkipBlanks();
    if (AtEnd()) return Bad("a value is missing");
    switch (text_[at_]) {
      case '{':
        return Object(depth, out);
      case '[':
        return Array(depth, out);
      case '"':
        return String(out.value_.emplace<std::string>());
      default:
        break;
    }
    if (Take("null")) return absl::OkStatus();
    if (Take("true")) {
      out.value_ = true;
      return absl::OkStatus();
    }
    if (Take("false")) {
      out.value_ = false;
      return absl::OkStatus();
    }
    return Number(out.value_.emplace<double>());
  }

  absl::Status Object(int depth, Json& out) {
    if (depth >= max_depth_) return Bad("is nested too deep");
    ++at_;
    auto& members = out.value_.emplace<Json::Members>();
    SkipBlanks();
    if (Take("}")) return absl::OkStatus();
    while (true) {
      SkipBlanks();
      RETURN_IF_ERROR(String(members.names.emplace_back()));
      SkipBlanks();
      if (!Take(":")) return Bad("must be a colon");
      RETURN_IF_ERROR(Value(depth + 1, members.values.emplace_back()));
      SkipBlanks();
      if (Take("}")) break;
      if (!Take(",")) return Bad("must be a comma or the end of the object");
    }
    return HasNameTwice(members) ? Bad("the object ending here has a name twice")
                                 : absl::OkStatus();
  }

  absl::Status Array(int depth, Json& out) {
    if (depth >= max_depth_) return Bad("is nested too deep");
    ++at_;
    auto& items = out.value_.emplace<Json::Array>();
    SkipBlanks();
    if (Take("]")) return absl::OkStatus();
    while (true) {
      RETURN_IF_ERROR(Value(depth + 1, items.emplace_back()));
      SkipBlanks();
      if (Take("]")) return absl::OkStatus();
      if (!Take(",")) return Bad("must be a comma or the end of the array");
    }
  }

  absl::Status String(std::string& out) {
    if (!Take("\"")) return Bad("must be a string");
    while (true) {
      if (AtEnd()) return Bad("the string does not end");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return absl::OkStatus();
      }
      if (c < 0x20) return Bad("a control character must be escaped");
      if (c == '\\') {
        RETURN_IF_ERROR(Escape(out));
        continue;
      }
      std::string_view rest = text_.substr(at_);
      const size_t before = rest.size();
      if (!TakeCharacter(rest)) return Bad("must be UTF-8");
      out.append(text_.substr(at_, before - rest.size()));
      at_ += before - rest.size();
    }
  }

  absl::Status Escape(std::string& out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    ++at_;
    if (AtEnd()) return Bad("the string does not end");
    if (const size_t i = kFrom.find(text_[at_]); i != std::string_view::npos) {
      out.push_back(kTo[i]);
      ++at_;
      return absl::OkStatus();
    }
    uint32_t character = 0;
    RETURN_IF_ERROR(Unit(character));
    if (character >= 0xdc00 && character <= 0xdfff) return Bad("is half a surrogate pair");
    if (character >= 0xd800 && character <= 0xdbff) {
      uint32_t low = 0;
      if (!Take("\\")) return Bad("is half a surrogate pair");
      RETURN_IF_ERROR(Unit(low));
      if (low < 0xdc00 || low > 0xdfff) return Bad("is half a surrogate pair");
      character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
    }
    if (character == 0) return Bad("a string must not hold NUL");
    AppendUtf8(character, out);
    return absl::OkStatus();
  }

  // "uXXXX"
  absl::Status Unit(uint32_t& unit) {
    if (!Take("u") || text_.size() - at_ < 4) return Bad("is no escape of JSON");
    unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (!absl::ascii_isxdigit(c)) return Bad("must be a hexadecimal digit");
      const auto digit = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
      unit = unit << 4 | static_cast<uint32_t>(digit);
    }
    return absl::OkStatus();
  }

  size_t Digits() {
    const size_t begin = at_;
    while (!AtEnd() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ - begin;
  }

  absl::Status Number(double& out) {
    const size_t begin = at_;
    (void)Take("-");
    if (!Take("0") && Digits() == 0) return Bad("must be a value of JSON");
    if (Take(".") && Digits() == 0) return Bad("a digit is missing");
    if (Take("e") || Take("E")) {
      if (!Take("+")) (void)Take("-");
      if (Digits() == 0) return Bad("a digit is missing");
    }
    if (!absl::SimpleAtod(ToAbsl(text_.substr(begin, at_ - begin)), &out) || !std::isfinite(out)) {
      return Bad("the number is too large");
    }
    return absl::OkStatus();
  }

  const std::string_view text_;
  const int max_depth_;
  size_t at_ = 0;
};

absl::StatusOr<Json> Json::Parse(std::string_view text, int max_depth) {
  return JsonParser(text, max_depth).Whole();
}

const Json* Json::Find(std::string_view name) const {
  const Members* members = object();
  if (members == nullptr) return nullptr;
  for (size_t i = 0; i < members->names.size(); ++i) {
    if (members->names[i] == name) return &members->values[i];
  }
  return nullptr;
}

}  // namespace dpledger::identity
