#include "cli/confirm.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "absl/strings/ascii.h"
#include "base/status.h"

namespace dpledger::cli {

absl::Status Confirm(const std::string& question, const std::string& refusal) {
  if (isatty(STDIN_FILENO) == 1) {
    std::fprintf(stderr, "%s [y/N] ", question.c_str());
    std::fflush(stderr);
    std::string answer;
    std::getline(std::cin, answer);
    answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
    if (answer == "y" || answer == "yes") return absl::OkStatus();
  }
  return WithReason(absl::FailedPreconditionError(refusal), {"NOT_CONFIRMED", {}});
}

}  // namespace dpledger::cli
