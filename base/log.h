// Structured log lines: one JSON object a line.
//
//   {"time":"2024-05-01T12:00:00.000Z","level":"info","event":"listening","address":"127.0.0.1:7070"}
//
// Log lines hold names of ledgers, sizes, codes and times, never the content of events or
// declarations. Thread safe; each line is written whole.
//
// A log never waits and never fails: lines for which a pipe, a socket or a terminal has no room are
// lost, and counted in a line of their own ("log_lines_lost") once there is room again. A program
// must ignore SIGPIPE, or the end of the pipe's reader is its own.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace dpledger {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

using LogValue = std::variant<std::string, int64_t, double, bool>;
using LogFields = std::initializer_list<std::pair<std::string_view, LogValue>>;

class Log {
 public:
  // Lines below `level` are dropped. `file_descriptor` is not owned.
  Log(LogLevel level, int file_descriptor);
  ~Log();

  bool Wants(LogLevel level) const { return level >= level_; }
  // `event` names what happened, in snake_case; `fields`, and then `more`, hold its details. Text
  // may be anything: control characters and bytes that are not UTF-8 are escaped (JsonString).
  void Write(LogLevel level, std::string_view event, LogFields fields = {},
             LogFields more = {}) const;

 private:
  const LogLevel level_;
  class Sink;
  const std::unique_ptr<Sink> sink_;
};

}  // namespace dpledger
