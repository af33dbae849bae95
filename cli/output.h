// The commands' output: answers and data go to stdout, notes and errors to stderr. With --json,
// stdout gets exactly one message in proto JSON, or, where an answer has no end, one a line. Zeros
// are printed, so that no number is missing. What is unseen or acts on a terminal is spelt out
// (cli/shown_text.h), whoever wrote it.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/answer_output.h"

namespace dpledger::cli {

class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  bool json() const { return json_; }

  // Prints an answer in the form that was asked for. OK, so that a command can end with it.
  absl::Status Answer(const std::string& text, const google::protobuf::Message& message);
  template <typename Message>
  absl::Status Answer(const Message& message) {
    return Answer(ToText(message), message);
  }
  template <typename Message>
  absl::Status Answer(const absl::StatusOr<Message>& answer) {
    return answer.ok() ? Answer(*answer) : answer.status();
  }
  // Prints one line of data, for people and pipes; not with --json.
  void Line(const std::string& line);
  // Prints one part of an answer without an end: a line of text, or a message on a line.
  void Record(const std::string& line, const google::protobuf::Message& message);
  // Prints a note to stderr.
  void Note(const std::string& note);
  // Prints "dpledger: <message>" to stderr and, with --json, a CommandFailed to stdout, unless an
  // answer was printed.
  void Error(const absl::Status& status);
  // Flushes stdout; whether everything could be written.
  bool Flush();

 private:
  bool json_;
  bool answered_ = false;
};

}  // namespace dpledger::cli
