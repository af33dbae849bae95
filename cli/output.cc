#include "cli/output.h"

#include <iostream>

#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "cli/shown_text.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"

namespace dpledger::cli {
namespace {

void Print(const google::protobuf::Message& message) {
  std::cout << events::MessageToJson(message, events::Zeros::kPrinted) << std::endl;
}

}  // namespace

absl::Status Output::Answer(const std::string& text, const google::protobuf::Message& message) {
  answered_ = true;
  if (json_) {
    Print(message);
  } else {
    std::cout << ShownLines(text) << std::flush;
  }
  return absl::OkStatus();
}

void Output::Line(const std::string& line) { std::cout << Shown(line) << "\n"; }

void Output::Record(const std::string& line, const google::protobuf::Message& message) {
  (void)Answer(Shown(line) + "\n", message);
}

void Output::Note(const std::string& note) {
  // No word of others begins a line; lists are indented as it is.
  const std::string shown =
      absl::StrReplaceAll(ShownLines(note), {{"\n", "\n  "}, {"\n  ", "\n  "}});
  std::cerr << "dpledger: " << shown << std::endl;
}

void Output::Error(const absl::Status& status) {
  Note(std::string(status.message()));
  if (!json_ || answered_) return;
  v1::CommandFailed failed;
  v1::CommandFailed::Error& error = *failed.mutable_error();
  error.set_code(absl::StatusCodeToString(status.code()));
  error.set_message(std::string(status.message()));
  const ErrorReason reason = ReasonOf(status);
  error.set_reason(reason.reason);
  if (const auto it = reason.metadata.find("class"); it != reason.metadata.end())
    error.set_class_(it->second);
  if (const auto it = reason.metadata.find("where"); it != reason.metadata.end())
    error.set_where(it->second);
  Print(failed);
}

bool Output::Flush() { return static_cast<bool>(std::cout.flush()); }

}  // namespace dpledger::cli
