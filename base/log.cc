#include "base/log.h"

#include <unistd.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json_text.h"

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

struct ValueWriter {
  std::string& line;
  void operator()(const std::string& text) const { line += JsonString(text); }
  void operator()(int64_t number) const { absl::StrAppend(&line, number); }
  void operator()(double number) const {
    if (std::isfinite(number)) {
      absl::StrAppend(&line, number);
    } else {
      line += JsonString(absl::StrCat(number));  // JSON has no infinities
    }
  }
  void operator()(bool truth) const { absl::StrAppend(&line, truth ? "true" : "false"); }
};

}  // namespace

void Log::Write(LogLevel level, std::string_view event, LogFields fields, LogFields more) const {
  if (!Wants(level)) return;
  std::string line =
      absl::FormatTime("{\"time\":\"%Y-%m-%dT%H:%M:%E3SZ\",", absl::Now(), absl::UTCTimeZone());
  absl::StrAppend(&line, "\"level\":\"", LevelName(level), "\",\"event\":");
  line += JsonString(event);
  for (const LogFields some : {fields, more}) {
    for (const auto& [name, value] : some) {
      line.push_back(',');
      line += JsonString(name);
      line.push_back(':');
      std::visit(ValueWriter{line}, value);
    }
  }
  line.append("}\n");
  // One write a line, so that lines of several threads do not mix. A log that cannot be written
  // must not stop the server, so the result is not looked at.
  [[maybe_unused]] const ssize_t written = write(file_descriptor_, line.data(), line.size());
}

}  // namespace dpledger
