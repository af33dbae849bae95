#include "cli/output.h"

#include <iostream>

#include "base/status.h"

namespace dpledger::cli {

void Output::Answer(const std::string& text, const JsonObject& json) {
  answered_ = true;
  if (json_) {
    std::cout << json.ToString() << std::endl;
  } else {
    std::cout << text << std::flush;
  }
}

void Output::Line(const std::string& line) { std::cout << line << "\n"; }

void Output::Record(const std::string& line, const std::string& json) {
  answered_ = true;
  std::cout << (json_ ? json : line) << std::endl;
}

void Output::Note(const std::string& note) { std::cerr << "dpledger: " << note << std::endl; }

void Output::Error(const absl::Status& status) {
  Note(std::string(status.message()));
  if (!json_ || answered_) return;
  JsonObject error;
  error.AddText("code", absl::StatusCodeToString(status.code()));
  error.AddText("message", std::string(status.message()));
  const ErrorReason reason = ReasonOf(status);
  if (!reason.reason.empty()) error.AddText("reason", reason.reason);
  // Of a bundle that does not hold: what kind of difference, and where.
  for (const char* key : {"class", "where"}) {
    const auto found = reason.metadata.find(key);
    if (found != reason.metadata.end()) error.AddText(key, found->second);
  }
  std::cout << JsonObject().AddJson("error", error.ToString()).ToString() << std::endl;
}

bool Output::Flush() { return static_cast<bool>(std::cout.flush()); }

}  // namespace dpledger::cli
