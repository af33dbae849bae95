#include "examples/common/program.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace dpledger::examples {
namespace {

// `what` describes the domain.
template <typename Predicate>
flags::Validator Must(const std::string& what, Predicate holds) {
  return flags::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool parsed = absl::SimpleAtod(text, &value);
        return parsed && holds(value) ? std::string() : "must be " + what + ", got " + text;
      },
      what);
}

}  // namespace

flags::Validator Between(double least, double most) {
  return Must(absl::StrCat(least, " to ", most),
              [=](double value) { return value >= least && value <= most; });
}

flags::Validator InOpenUnitInterval() {
  return Must("in (0, 1)", [](double value) { return value > 0 && value < 1; });
}

std::atomic<bool> stop = false;

void StopOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    // A step can wait for the server for minutes.
    constexpr char kWhen[] = "stopping once this step is done; Ctrl-C again ends at once\n";
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWhen, sizeof(kWhen) - 1);
    errno = error;
    stop = true;
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int ExitCode(const char* program, const absl::StatusOr<int>& result) {
  if (result.ok()) return *result;
  const absl::Status& error = result.status();
  absl::FPrintF(stderr, "%s: %s: %s\n", program, absl::StatusCodeToString(error.code()),
                error.message());
  return error.code() == absl::StatusCode::kUnavailable ? 6 : 1;
}

}  // namespace dpledger::examples
