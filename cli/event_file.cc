#include "cli/event_file.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status.h"
#include "events/event_json.h"

namespace dpledger::cli {
namespace {

// Some editors begin a UTF-8 file with it. It says nothing.
constexpr char kByteOrderMark[] = "\xef\xbb\xbf";

absl::Status AtLine(const std::string& path, uint64_t line, const absl::Status& status) {
  return WithReason(
      absl::Status(status.code(), absl::StrCat(path, ":", line, ": ", status.message())),
      ReasonOf(status));
}

absl::Status AddLine(const std::string& line, EventFile& file) {
  ASSIGN_OR_RETURN(v1::Event event, events::EventFromJson(line));
  RETURN_IF_ERROR(file.given.Add(event));
  file.events.push_back(std::move(event));
  return absl::OkStatus();
}

// `name` is for errors.
absl::StatusOr<EventFile> ReadEvents(std::istream& in, const std::string& name) {
  EventFile file;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1) line = std::string(absl::StripPrefix(line, kByteOrderMark));
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (absl::Status status = AddLine(line, file); !status.ok()) {
      return AtLine(name, number, status);
    }
  }
  if (in.bad() || !in.eof()) return ErrnoError(errno, "read", name);
  if (file.events.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": holds no event"));
  }
  return file;
}

}  // namespace

absl::StatusOr<EventFile> ReadEventFile(const std::string& path) {
  if (path == "-") return ReadEvents(std::cin, "standard input");
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoError(errno, "open", path);
  return ReadEvents(in, path);
}

}  // namespace dpledger::cli
