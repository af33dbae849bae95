// dpledger-server: serves a store folder until it is told to stop.
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/process_start.h"
#include "base/status.h"
#include "questions/answers.h"
#include "server/log.h"
#include "server/program/commands.h"
#include "server/program/flags.h"
#include "server/program/health_check.h"
#include "server/program/open_store.h"
#include "server/server.h"
#include "server/signing/signing.h"
#include "server/signing/witness_client.h"

namespace dpledger::server {
namespace {

constexpr int kFailure = 1;
// What closing may take once running calls have had their time: a database that hangs holds it up
// for as long as its own timeout, and a supervisor does not wait so long.
constexpr absl::Duration kClosing = absl::Seconds(5);

int Fail(const Log& log, const char* event, const absl::Status& status) {
  log.Write(LogLevel::kError, event,
            {{"code", absl::StatusCodeToString(status.code())},
             {"message", std::string(status.message())}});
  return kFailure;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);  // of a terminal that was closed
  return signals;
}

// Waits for a signal to stop, and returns it; an error if the server has failed before that.
absl::StatusOr<int> WaitForEnd(Server& server) {
  const sigset_t signals = StopSignals();
  const timespec between_health_checks = {.tv_sec = 0, .tv_nsec = 100'000'000};
  while (true) {
    RETURN_IF_ERROR(server.CheckHealth());
    const int signal = sigtimedwait(&signals, nullptr, &between_health_checks);
    if (signal > 0) return signal;
  }
}

// Drains and closes, within the time for that.
int EndServing(Server& server, const absl::StatusOr<int>& signal, double drain_seconds,
               const Log& log) {
  const bool too_old = ReasonOf(signal.status()).reason == kServerTooOld;
  if (too_old) {  // others go on, and clients ask them
    log.Write(LogLevel::kWarning, "server_too_old",
              {{"seconds", drain_seconds}, {"message", std::string(signal.status().message())}});
  } else if (!signal.ok()) {
    Fail(log, "store_failed", signal.status());
  } else {
    log.Write(
        LogLevel::kInfo, "draining",
        {{"signal", absl::StrCat("SIG", ::sigabbrev_np(*signal))}, {"seconds", drain_seconds}});
  }
  const int code = signal.ok() || too_old ? 0 : kFailure;
  const absl::Duration drain = absl::Seconds(drain_seconds);
  absl::Notification stopped;
  std::thread late([&] {
    if (stopped.WaitForNotificationWithTimeout(drain + kClosing)) return;
    log.Write(LogLevel::kWarning, "stopped_unclosed",
              {{"message", "closing took too long; what was acknowledged is durable"}});
    ::_exit(code);
  });
  server.Stop(absl::Now() + drain);
  stopped.Notify();
  late.join();
  log.Write(LogLevel::kInfo, "stopped");
  return code;
}

int Serve(const Flags& flags) {
  // The signing key is in memory: no core is dumped, and nobody else's debugger is let in.
  prctl(PR_SET_DUMPABLE, 0);
  // Blocked before any thread starts, so that all inherit it and only WaitForEnd receives them.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // The log's reader may go; the others mean nothing to it, and would end it undrained.
  for (const int signal : {SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  static const Log log(flags.log_level, STDERR_FILENO);
  RouteLibraryLogs(&log);

  log.Write(LogLevel::kInfo, "starting",
            {{"version", questions::Version()},
             {"store", DescribeStore(flags.store, flags.postgres)},
             {"durability", "fsync before every acknowledgement"}});
  const auto open = [&](const HeadKeys& keys) {
    return OpenStore(flags.store, flags.postgres, keys, &log);
  };
  const absl::StatusOr<bool> is_new = MakeFolder(flags.store, flags.postgres);
  if (!is_new.ok()) return Fail(log, "start_failed", is_new.status());
  ServerOptions options = flags.server;
  auto store = OpenUnderKey(options.signing, *is_new, open, log);
  if (!store.ok()) return Fail(log, "store_failed", store.status());
  if (!flags.witnesses.witnesses.empty()) {
    auto witnesses = WitnessClient::Make(flags.witnesses, &log);
    if (!witnesses.ok()) return Fail(log, "start_failed", witnesses.status());
    const std::shared_ptr<WitnessClient> client = *std::move(witnesses);
    options.signing.cosigner = [client](const std::string& note, uint64_t size,
                                        const ConsistencyProver& prove_from) {
      return client->Cosign(note, size, prove_from);
    };
    options.signing.witnessed = [client](const std::string& origin) {
      return client->Latest(origin);
    };
  }
  auto server = Server::Start(options, *std::move(store), &log);
  if (!server.ok()) return Fail(log, "start_failed", server.status());

  const std::string& asked = flags.server.front.address;
  const std::string address =
      absl::StrCat(asked.substr(0, asked.rfind(':')), ":", (*server)->port());
  const std::string http_address = (*server)->http_address();
  for (const auto& [file, content, event] :
       {std::tuple(flags.port_file, address, "port_file_failed"),
        std::tuple(flags.http_port_file, http_address, "http_port_file_failed")}) {
    if (file.empty()) continue;
    const absl::Status written = WriteFileDurably(file, absl::StrCat(content, "\n"));
    if (!written.ok()) return Fail(log, event, written);
  }
  log.Write(LogLevel::kInfo, "serving", {{"address", address}, {"http_address", http_address}});

  const absl::StatusOr<int> signal = WaitForEnd(**server);
  // From here a second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  if (!flags.port_file.empty()) unlink(flags.port_file.c_str());
  if (!flags.http_port_file.empty()) unlink(flags.http_port_file.c_str());
  return EndServing(**server, signal, flags.drain_timeout_seconds, log);
}

int Main(int argc, char** argv) {
  if (const std::optional<int> done = RunCommand(argc, argv)) return *done;
  const std::variant<Flags, int> flags = ParseFlags(argc, argv);
  if (std::holds_alternative<int>(flags)) return std::get<int>(flags);
  const connection::ServerAccess& check = std::get<Flags>(flags).check;
  if (check.address.empty()) return Serve(std::get<Flags>(flags));
  const absl::Status serving = CheckServing(check);
  std::cerr << (serving.ok() ? absl::StrCat(check.address, ": SERVING")
                             : std::string(serving.message()))
            << "\n";
  return serving.ok() ? 0 : kFailure;
}

}  // namespace
}  // namespace dpledger::server

int main(int argc, char** argv) {
  dpledger::BeginProcess();
  return dpledger::server::Main(argc, argv);
}
