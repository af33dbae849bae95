#include "examples/common/run_report.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/hex.h"
#include "base/status.h"

namespace dpledger::examples {

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

absl::Status PrintCost(PrivacyService& service, const std::string& name, double delta) {
  ASSIGN_OR_RETURN(const v1::Ledger ledger, service.GetLedger(name));
  std::printf("ledger             %s\n", ledger.name().c_str());
  std::printf("entries            %llu, root %s\n", static_cast<unsigned long long>(ledger.size()),
              HexEncode(ledger.root_hash()).c_str());
  ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse answer, service.ComputeEpsilon(name, delta));
  std::printf("epsilon            [%.6f, %.6f] at delta %g (%s)\n", answer.epsilon().lower(),
              answer.epsilon().upper(), delta, answer.details().method().c_str());
  if (answer.has_planned_epsilon()) {
    std::printf(
        "epsilon, planned   [%.6f, %.6f]; it covers a run that was stopped for what it showed\n",
        answer.planned_epsilon().lower(), answer.planned_epsilon().upper());
  }
  for (const std::string& warning : answer.details().warnings()) {
    std::printf("warning            %s\n", warning.c_str());
  }
  return absl::OkStatus();
}

int ExitCode(const char* program, const absl::StatusOr<int>& result) {
  if (result.ok()) return *result;
  const absl::Status& error = result.status();
  std::fprintf(stderr, "%s: %s: %s\n", program, absl::StatusCodeToString(error.code()).c_str(),
               std::string(error.message()).c_str());
  return error.code() == absl::StatusCode::kUnavailable ? 6 : 1;
}

}  // namespace dpledger::examples
