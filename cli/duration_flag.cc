#include "cli/duration_flag.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/flags.h"

namespace dpledger::cli {
namespace {

constexpr char kRule[] = "a whole number and s, m, h or d, as in 90d";

}  // namespace

std::optional<absl::Duration> ParseLength(const std::string& text) {
  if (text.size() < 2 || text.size() > 7) return std::nullopt;
  int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  switch (text.back()) {
    case 's':
      return absl::Seconds(number);
    case 'm':
      return absl::Minutes(number);
    case 'h':
      return absl::Hours(number);
    case 'd':
      return absl::Hours(24 * number);
    default:
      return std::nullopt;
  }
}

flags::Option* AddLength(flags::App& app, const std::string& flag, absl::Duration& value,
                         const std::string& help) {
  return AddTaken(app, flag, "LENGTH", help, [&value](const std::string& text) {
    const std::optional<absl::Duration> length = ParseLength(text);
    value = length.value_or(value);
    return Unless(length.has_value(), absl::StrCat("must be ", kRule), text);
  });
}

flags::Option* AddLengthOrNever(flags::App& app, const std::string& flag,
                                std::optional<absl::Duration>& value, const std::string& help) {
  return AddTaken(app, flag, "LENGTH", help, [&value](const std::string& text) {
    value = ParseLength(text);
    return Unless(value.has_value() || text == "never", absl::StrCat("must be never, or ", kRule),
                  text);
  });
}

}  // namespace dpledger::cli
