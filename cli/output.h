// Where commands print: answers and data to stdout, talk to stderr. With --json stdout gets exactly
// one JSON object.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "cli/json.h"

namespace dpledger::cli {

class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  bool json() const { return json_; }

  // One answer in both forms; prints the one that was asked for.
  void Answer(const std::string& text, const JsonObject& json);
  // Data that comes piece by piece, for people and pipes; not with --json.
  void Line(const std::string& line);
  // Talk.
  void Note(const std::string& note);
  // "dpledger: <message>", and {"error":{"code":…,"message":…}} on stdout with --json, unless an
  // answer is there already.
  void Error(const absl::Status& status);
  // Whether all that was printed could be written.
  bool Flush();

 private:
  bool json_;
  bool answered_ = false;
};

}  // namespace dpledger::cli
