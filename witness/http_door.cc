#include "witness/http_door.h"

#include <signal.h>

#include <ctime>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "merkle/witness_request.h"

namespace dpledger::witness {
namespace {

constexpr std::string_view kAddCheckpoint = "/add-checkpoint";
constexpr std::string_view kCheckpoint = "/checkpoint";
constexpr timespec kBetweenLooks = {.tv_sec = 0, .tv_nsec = 50'000'000};

http::Response ToResponse(Answer answer) {
  return {
      .status = answer.status,
      .headers = {{"content-type", std::move(answer.content_type)}, {"cache-control", "no-store"}},
      .body = std::move(answer.body)};
}

http::Response Route(const http::Request& request, Witness& witness) {
  const std::string_view path = request.path;
  if (path == kAddCheckpoint) {
    if (request.method != "POST") return http::PlainResponse(405, "must be a POST");
    return ToResponse(witness.AddCheckpoint(request.body));
  }
  if (path.ends_with(kCheckpoint) && path.size() > kCheckpoint.size()) {
    if (request.method != "GET") return http::PlainResponse(405, "must be a GET");
    return ToResponse(
        witness.LatestCheckpoint(path.substr(1, path.size() - 1 - kCheckpoint.size())));
  }
  return http::PlainResponse(404, "not found");
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpDoor>> HttpDoor::Listen(const HttpDoorOptions& options,
                                                           Witness& witness, const Log& log) {
  std::unique_ptr<HttpDoor> door(new HttpDoor(options, witness));
  ASSIGN_OR_RETURN(door->server_, http::Server::Start(
                                      {.address = options.address,
                                       .max_body_bytes = merkle::kMaxWitnessRequestBytes,
                                       .max_connections = options.max_connections,
                                       .idle_timeout = options.read_timeout,
                                       .read_timeout = options.read_timeout,
                                       .write_timeout = options.write_timeout,
                                       .threads = options.threads},
                                      [&witness](const http::Request& request,
                                                 const std::shared_ptr<http::Exchange>& exchange) {
                                        exchange->Send(Route(request, witness));
                                      },
                                      &log));
  return door;
}

End HttpDoor::Run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  int signal = 0;
  while (signal <= 0 && !witness_.failed()) {
    signal = sigtimedwait(&signals, nullptr, &kBetweenLooks);
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // the next one ends the process
  server_->Close(absl::Now() + options_.write_timeout);
  return witness_.failed() ? End::kWitnessFailed : End::kSignal;
}

}  // namespace dpledger::witness
