// ServeLogFile: AuditService.GetTile as files.
#include <utility>

#include "dpledger/v1/audit_service.pb.h"
#include "server/http_door/connect_error.h"
#include "server/http_door/rpc.h"

namespace dpledger::server {
namespace {

constexpr std::string_view kGetTile = "/dpledger.v1.AuditService/GetTile";
constexpr std::string_view kLedgerPrefix = "projects/";
constexpr int kLedgerSegments = 4;  // projects/p/ledgers/l

// Splits "projects/p/ledgers/l/tile/0/000" before "tile".
v1::GetTileRequest ReadPath(std::string_view path) {
  v1::GetTileRequest request;
  size_t end = 0;
  if (path.starts_with(kLedgerPrefix)) {
    for (int i = 0; i < kLedgerSegments && end != std::string_view::npos; ++i) {
      end = path.find('/', end + (i > 0 ? 1 : 0));
    }
    request.set_log(std::string(path.substr(0, end)));
    end = end == std::string_view::npos ? path.size() : end + 1;
  }
  request.set_path(std::string(path.substr(end)));
  return request;
}

// Deletes itself with its answer.
class LogFileCall : public UnaryCall {
 public:
  LogFileCall(Desk& desk, v1::GetTileRequest request, const http::Request& from,
              std::shared_ptr<http::Exchange> exchange, http::Headers headers)
      : request_(std::move(request)), exchange_(std::move(exchange)), headers_(std::move(headers)) {
    context_.cancelled = [gone = exchange_] { return gone->cancelled(); };
    context_.peer = from.peer;
    desk.Identify(CredentialsOf(from), context_);
  }

  const CallContext& context() const override { return context_; }

  absl::Status Parse(Message& request) override {
    request.CopyFrom(request_);
    return absl::OkStatus();
  }

  void Answer(const absl::Status& status, const Message* response) override {
    http::Response answer = response == nullptr
                                ? Refusal(status)
                                : File(static_cast<const v1::GetTileResponse&>(*response));
    answer.kept = ReleasePermit();
    exchange_->Send(std::move(answer));
    delete this;
  }

 private:
  http::Response Refusal(const absl::Status& status) const {
    http::Response answer =
        http::PlainResponse(HttpStatusOf(status.code()), std::string(status.message()));
    if (answer.status == 401) answer.headers.emplace_back("www-authenticate", "Bearer");
    answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
    return answer;
  }

  http::Response File(const v1::GetTileResponse& response) const {
    const bool note = request_.path() == "checkpoint";
    // What a tile's path names never changes; the checkpoint grows. Where callers need rights, a
    // cache that several of them share keeps nothing.
    const char* const tile = context_.asked ? "private, max-age=31536000, immutable"
                                            : "public, max-age=31536000, immutable";
    http::Response answer{.headers = {{"content-type", note ? "text/plain; charset=utf-8"
                                                            : "application/octet-stream"},
                                      {"cache-control", note ? "no-cache" : tile}},
                          .body = response.content()};
    answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
    return answer;
  }

  const v1::GetTileRequest request_;
  CallContext context_;
  const std::shared_ptr<http::Exchange> exchange_;
  const http::Headers headers_;
};

}  // namespace

void ServeLogFile(Desk& desk, std::string_view path, const http::Request& request,
                  std::shared_ptr<http::Exchange> exchange, const http::Headers& headers) {
  auto* const call = new LogFileCall(desk, ReadPath(path), request, std::move(exchange), headers);
  desk.Serve(*desk.Find(kGetTile), *call);
}

}  // namespace dpledger::server
