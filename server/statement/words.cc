#include "server/statement/words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "accountant/numeric/rounding.h"
#include "base/absl_view.h"
#include "base/decimal_text.h"
#include "base/utf8.h"

namespace dpledger::server::statement {
namespace {

constexpr int kDigits = 4;

// Controls, marks and overrides of direction, isolates, zero-width characters, separators of lines
// that are no '\n', and tags: what makes a text look like another one.
bool IsHidden(char32_t c) {
  return (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x34f ||
         c == 0x61c || c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
         (c >= 0x180b && c <= 0x180f) || c == 0x2800 || c == 0x3164 || c == 0xffa0 ||
         (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef) ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

// "1e-05" is 1e-5.
std::string Short(std::string text) {
  return absl::StrReplaceAll(text, {{"e-0", "e-"}, {"e+0", "e+"}});
}

}  // namespace

std::string Shown(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view before = text;
    const std::optional<char32_t> character = TakeCharacter(text);
    if (!character.has_value()) {
      shown += "[?]";
      text.remove_prefix(1);
    } else if (IsHidden(*character)) {
      absl::StrAppendFormat(&shown, "[U+%04X]", static_cast<uint32_t>(*character));
    } else {
      shown += before.substr(0, before.size() - text.size());
    }
  }
  return shown;
}

std::string UpperText(double value) {
  if (!std::isfinite(value)) return "no bound";
  return Short(DecimalUp(value, kDigits));
}

std::string LowerText(double value) {
  if (!std::isfinite(value)) return "no bound";
  return Short(DecimalDown(value, kDigits));
}

std::string StatedText(double value) {
  if (std::isinf(value)) return "no bound";
  char text[32];
  return Short(std::string(text, std::to_chars(text, text + sizeof text, value).ptr));
}

std::string CountText(uint64_t count) {
  std::string text = absl::StrCat(count);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, 1, ',');
  return text;
}

std::string Counted(uint64_t count, std::string_view one) {
  return absl::StrCat(CountText(count), " ", ToAbsl(one), count == 1 ? "" : "s");
}

std::string ChanceUp(double chance) {
  const double percent = std::min(100.0, accountant::MulUp(100, chance));
  return absl::StrCat(UpperText(percent), " %");
}

std::string IntervalWords(const v1::Interval& interval) {
  if (!std::isfinite(interval.upper())) return "no upper end";
  if (interval.lower() <= 0) return "upper end only";
  return absl::StrCat("the true value lies between ", LowerText(interval.lower()), " and ",
                      UpperText(interval.upper()));
}

bool IsOdometer(const v1::Statement::Answer& answer) {
  return answer.has_epsilon() && answer.details().regime() == v1::ODOMETER;
}

std::string OdometerText(const v1::Statement::Answer& answer) {
  const double upper = answer.epsilon().upper();
  return absl::StrCat("privacy loss of the runs that happened ",
                      std::isfinite(upper) ? "≤ " : "has ", UpperText(upper),
                      ", but for a probability of ", StatedText(answer.delta()),
                      " (an odometer: no differential privacy)");
}

std::string DayText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string AdjacencyWords(v1::Adjacency adjacency) {
  static const std::map<v1::Adjacency, const char*> kWords = {
      {v1::ADD_OR_REMOVE_ONE, "one record is added or removed"},
      {v1::REPLACE_ONE, "one record is replaced by any other"},
      {v1::ZERO_OUT, "one record is replaced by one that contributes nothing"}};
  const auto words = kWords.find(adjacency);
  return words == kWords.end() ? "" : words->second;
}

}  // namespace dpledger::server::statement
