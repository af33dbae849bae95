// dpledger-witness: cosigns checkpoints until it is told to stop.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/file.h"
#include "base/process_start.h"
#include "registry/server_source.h"
#include "registry/signing_key_file.h"
#include "witness/flags.h"
#include "witness/http_door.h"
#include "witness/witness.h"

namespace dpledger::witness {
namespace {

constexpr int kFailure = 1;

int Fail(const Log& log, const char* event, const absl::Status& status) {
  log.Write(LogLevel::kError, event,
            {{"code", absl::StatusCodeToString(status.code())},
             {"message", std::string(status.message())}});
  return kFailure;
}

int PrintKey(const Flags& flags, const merkle::Ed25519PrivateKey& key) {
  const merkle::VerifierKey verifier{flags.witness.name, merkle::SignatureType::kCosignature,
                                     key.public_key()};
  if (const auto parsed = merkle::VerifierKey::Parse(verifier.ToText()); !parsed.ok()) {
    std::cerr << "--name: " << FromAbsl(parsed.status().message()) << "\n";
    return kFailure;
  }
  std::cout << verifier.ToText() << "\n";
  return 0;
}

// Before any thread starts, so that all inherit it and only HttpDoor::Run receives them.
void BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);  // of a terminal that was closed
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // the log's reader may go
}

int Serve(Flags flags) {
  BlockStopSignals();
  const Log log(flags.log_level, STDERR_FILENO);
  absl::StatusOr<merkle::Ed25519PrivateKey> key = ReadOrMakeSigningKey(flags.signing_key);
  if (!key.ok()) return Fail(log, "signing_key_failed", key.status());
  if (flags.print_key) return PrintKey(flags, *key);

  flags.witness.log = &log;
  for (const auto& [origin, server] : flags.log_servers) {
    flags.witness.sources[origin] = registry::SourceOfServer(server, flags.witness.reading);
  }
  const auto witness = Witness::Open(flags.witness, *std::move(key));
  if (!witness.ok()) return Fail(log, "state_failed", witness.status());
  const auto door = HttpDoor::Listen(flags.door, **witness, log);
  if (!door.ok()) return Fail(log, "listen_failed", door.status());
  const std::string address = (*door)->address();
  if (!flags.port_file.empty()) {
    const absl::Status written = WriteFileDurably(flags.port_file, absl::StrCat(address, "\n"));
    if (!written.ok()) return Fail(log, "port_file_failed", written);
  }
  log.Write(LogLevel::kInfo, "serving",
            {{"version", DPLEDGER_VERSION},
             {"address", address},
             {"verifier_key", (*witness)->verifier_key().ToText()},
             {"state", flags.witness.state_folder}});

  const End end = (*door)->Run();
  if (!flags.port_file.empty()) unlink(flags.port_file.c_str());
  log.Write(LogLevel::kInfo, "stopped");
  return end == End::kSignal ? 0 : kFailure;
}

int Main(int argc, char** argv) {
  std::variant<Flags, int> flags = ParseFlags(argc, argv);
  if (std::holds_alternative<int>(flags)) return std::get<int>(flags);
  return Serve(std::move(std::get<Flags>(flags)));
}

}  // namespace
}  // namespace dpledger::witness

int main(int argc, char** argv) {
  dpledger::BeginProcess();
  return dpledger::witness::Main(argc, argv);
}
