#include "base/log.h"

#include <unistd.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace dpledger {
namespace {

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

void AppendString(std::string_view text, std::string& line) {
  line.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      line.push_back('\\');
      line.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&line, "\\u%04x", static_cast<unsigned>(c));
    } else {
      line.push_back(c);
    }
  }
  line.push_back('"');
}

struct ValueWriter {
  std::string& line;
  void operator()(const std::string& text) const { AppendString(text, line); }
  void operator()(int64_t number) const { absl::StrAppend(&line, number); }
  void operator()(double number) const {
    if (std::isfinite(number)) {
      absl::StrAppend(&line, number);
    } else {
      AppendString(absl::StrCat(number), line);  // JSON has no infinities
    }
  }
  void operator()(bool truth) const { absl::StrAppend(&line, truth ? "true" : "false"); }
};

}  // namespace

void Log::Write(LogLevel level, std::string_view event, LogFields fields) const {
  if (!Wants(level)) return;
  std::string line =
      absl::FormatTime("{\"time\":\"%Y-%m-%dT%H:%M:%E3SZ\",", absl::Now(), absl::UTCTimeZone());
  absl::StrAppend(&line, "\"level\":\"", LevelName(level), "\",\"event\":");
  AppendString(event, line);
  for (const auto& [name, value] : fields) {
    line.push_back(',');
    AppendString(name, line);
    line.push_back(':');
    std::visit(ValueWriter{line}, value);
  }
  line.append("}\n");
  // One write a line, so that lines of several threads do not mix. A log that cannot be written
  // must not stop the server, so the result is not looked at.
  [[maybe_unused]] const ssize_t written = write(file_descriptor_, line.data(), line.size());
}

}  // namespace dpledger
