#include "witness/http_door.h"

#include <signal.h>

#include <ctime>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"
#include "http/server.h"
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

class HttpDoor::Impl {
 public:
  Impl(const HttpDoorOptions& options, Witness& witness) : options_(options), witness_(witness) {}

  absl::Status Listen(const Log& log) {
    ASSIGN_OR_RETURN(server_, http::Server::Start(
                                  {.address = options_.address,
                                   .max_body_bytes = merkle::kMaxWitnessRequestBytes,
                                   .max_connections = options_.max_connections,
                                   .idle_timeout = options_.read_timeout,
                                   .read_timeout = options_.read_timeout,
                                   .write_timeout = options_.write_timeout,
                                   .threads = options_.threads},
                                  [this](const http::Request& request,
                                         const std::shared_ptr<http::Exchange>& exchange) {
                                    exchange->Send(Route(request, witness_));
                                  },
                                  &log));
    return absl::OkStatus();
  }

  std::string address() const { return server_->address(); }

  End Run() {
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

 private:
  const HttpDoorOptions options_;
  Witness& witness_;
  std::unique_ptr<http::Server> server_;
};

HttpDoor::HttpDoor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpDoor::~HttpDoor() = default;

absl::StatusOr<std::unique_ptr<HttpDoor>> HttpDoor::Listen(const HttpDoorOptions& options,
                                                           Witness& witness, const Log& log) {
  auto impl = std::make_unique<Impl>(options, witness);
  RETURN_IF_ERROR(impl->Listen(log));
  return std::unique_ptr<HttpDoor>(new HttpDoor(std::move(impl)));
}

std::string HttpDoor::address() const { return impl_->address(); }

End HttpDoor::Run() { return impl_->Run(); }

}  // namespace dpledger::witness
