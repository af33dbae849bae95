#include "base/log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <mutex>

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

// "{"time":…,"level":"info","event":"started"", to which fields may be added.
std::string Begin(LogLevel level, std::string_view event) {
  std::string line =
      absl::FormatTime("{\"time\":\"%Y-%m-%dT%H:%M:%E3SZ\",", absl::Now(), absl::UTCTimeZone());
  absl::StrAppend(&line, "\"level\":\"", LevelName(level), "\",\"event\":");
  line += JsonString(event);
  return line;
}

}  // namespace

// Where lines go. Others may hold the same open file, and want to wait for it: so it is opened once
// more to be written without waiting, where that can be done.
class Log::Sink {
 public:
  explicit Sink(int file_descriptor) : fd_(file_descriptor) {
    struct stat file = {};
    if (::fstat(fd_, &file) != 0 || S_ISREG(file.st_mode)) return;
    is_socket_ = S_ISSOCK(file.st_mode);
    if (is_socket_) return;
    const std::string name = absl::StrCat("/proc/self/fd/", fd_);
    own_ = ::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own_ >= 0) fd_ = own_;
    asks_first_ = own_ < 0;
  }
  ~Sink() {
    if (own_ >= 0) ::close(own_);
  }

  void Write(std::string line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lost_ > 0) {
      line = absl::StrCat(Begin(LogLevel::kWarning, "log_lines_lost"), ",\"count\":", lost_, "}\n",
                          line);
    }
    if (torn_) line.insert(line.begin(), '\n');
    const ssize_t written = TryWrite(line);
    if (written == static_cast<ssize_t>(line.size())) {
      lost_ = 0;
      torn_ = false;
      return;
    }
    ++lost_;
    torn_ = torn_ || written > 0;
  }

 private:
  ssize_t TryWrite(const std::string& text) const {
    if (is_socket_) return ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (asks_first_) {
      pollfd room = {.fd = fd_, .events = POLLOUT, .revents = 0};
      if (::poll(&room, 1, 0) != 1) return -1;
    }
    return ::write(fd_, text.data(), text.size());
  }

  int fd_;
  int own_ = -1;
  bool is_socket_ = false;
  bool asks_first_ = false;
  std::mutex mutex_;
  uint64_t lost_ = 0;  // lines since the last that was written
  bool torn_ = false;  // the last line that was written is not whole
};

Log::Log(LogLevel level, int file_descriptor)
    : level_(level), sink_(std::make_unique<Sink>(file_descriptor)) {}

Log::~Log() = default;

void Log::Write(LogLevel level, std::string_view event, LogFields fields, LogFields more) const {
  if (!Wants(level)) return;
  std::string line = Begin(level, event);
  for (const LogFields some : {fields, more}) {
    for (const auto& [name, value] : some) {
      line.push_back(',');
      line += JsonString(name);
      line.push_back(':');
      std::visit(ValueWriter{line}, value);
    }
  }
  line.append("}\n");
  sink_->Write(std::move(line));
}

}  // namespace dpledger
