// The witness's door: the paths of C2SP tlog-witness on an HTTP server (http/server.h).
//
//   POST /add-checkpoint               Witness::AddCheckpoint
//   GET  /<origin hash>/checkpoint     Witness::LatestCheckpoint
//
// No TLS: requests and answers are signed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "http/server.h"
#include "witness/witness.h"

namespace dpledger::witness {

struct HttpDoorOptions {
  std::string address = "127.0.0.1:7071";  // IP:PORT, [IP]:PORT; port 0 picks a free one
  size_t max_connections = 64;             // more are closed at once
  absl::Duration read_timeout =
      absl::Seconds(15);  // for a whole request, or until the next one begins
  absl::Duration write_timeout = absl::Seconds(15);  // for a whole answer
  int threads = 2;
};

// Why Run ended.
enum class End { kSignal, kWitnessFailed };

class HttpDoor {
 public:
  // The door serves when Listen returns. Errors of http::Server::Start. `witness` and `log` must
  // outlive the door. Precondition: SIGTERM and SIGINT are blocked in this thread, so that only Run
  // receives them.
  static absl::StatusOr<std::unique_ptr<HttpDoor>> Listen(const HttpDoorOptions& options,
                                                          Witness& witness, const Log& log);

  std::string address() const { return server_->address(); }

  // Serves until SIGTERM or SIGINT, or until the witness has failed; then finishes the answers
  // under way. A second signal ends the process at once. Call it once.
  End Run();

 private:
  HttpDoor(const HttpDoorOptions& options, Witness& witness)
      : options_(options), witness_(witness) {}

  const HttpDoorOptions options_;
  Witness& witness_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace dpledger::witness
