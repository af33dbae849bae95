#include "cli/event_file.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "accountant/from_proto/event_from_proto.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger::cli {
namespace {

// Some editors begin a UTF-8 file with it. It says nothing.
constexpr char kByteOrderMark[] = "\xef\xbb\xbf";

absl::Status AtLine(const std::string& path, uint64_t line, const absl::Status& status) {
  return WithReason(
      absl::Status(status.code(), absl::StrCat(path, ":", line, ": ", status.message())),
      ReasonOf(status));
}

// The order that a ledger demands of one writer's rounds.
absl::Status CheckRoundOrder(const accountant::Event& event, std::optional<uint64_t>& last) {
  if (const auto* sampling = std::get_if<accountant::SamplingEvent>(&event)) {
    if (last.has_value() && sampling->round <= *last) {
      return FieldError("sampling.round", absl::StrCat("must be above the round before, ", *last,
                                                       ", got ", sampling->round));
    }
    last = sampling->round;
  } else if (const auto* query = std::get_if<accountant::SumQueryEvent>(&event)) {
    if (last.has_value() && query->round < *last) {
      return FieldError("sum_query.round",
                        absl::StrCat("must not go back, got ", query->round, " after ", *last));
    }
    last = query->round;
  }
  return absl::OkStatus();
}

absl::Status AddLine(const std::string& line, std::optional<uint64_t>& last_round,
                     EventFile& file) {
  ASSIGN_OR_RETURN(v1::Event message, accountant::EventFromJson(line));
  ASSIGN_OR_RETURN(const accountant::Event event, accountant::EventFromProto(message));
  RETURN_IF_ERROR(CheckRoundOrder(event, last_round));
  file.history.Add("", event);
  file.events.push_back(std::move(message));
  return absl::OkStatus();
}

// `name` is for errors.
absl::StatusOr<EventFile> ReadEvents(std::istream& in, const std::string& name) {
  EventFile file;
  std::optional<uint64_t> last_round;
  std::string line;
  for (uint64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1) line = std::string(absl::StripPrefix(line, kByteOrderMark));
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (absl::Status status = AddLine(line, last_round, file); !status.ok()) {
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
  if (path == kStandardInput) return ReadEvents(std::cin, "standard input");
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoError(errno, "open", path);
  return ReadEvents(in, path);
}

}  // namespace dpledger::cli
