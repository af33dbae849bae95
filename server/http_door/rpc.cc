#include "server/http_door/rpc.h"

#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "server/http_door/wire.h"

namespace dpledger::server {
namespace {

CallContext ContextOf(Desk& desk, const http::Request& request,
                      const std::shared_ptr<http::Exchange>& exchange, absl::Time deadline) {
  CallContext call;
  if (const auto* const known = std::any_cast<CallContext>(&request.noted)) {
    call = *known;
  } else {
    desk.Identify(CredentialsOf(request), call);
  }
  call.deadline = deadline;
  call.cancelled = [exchange] { return exchange->cancelled(); };
  call.request_bytes = request.body.size();
  return call;
}

void Append(const http::Headers& more, http::Response& response) {
  response.headers.insert(response.headers.end(), more.begin(), more.end());
}

// Deletes itself with its answer.
class HttpUnaryCall : public UnaryCall {
 public:
  HttpUnaryCall(Desk& desk, Wire wire, http::Request request,
                std::shared_ptr<http::Exchange> exchange, size_t max_message_bytes,
                http::Headers headers)
      : wire_(std::move(wire)),
        context_(ContextOf(desk, request, exchange, wire_.deadline)),
        body_(std::move(request.body)),
        exchange_(std::move(exchange)),
        max_message_bytes_(max_message_bytes),
        headers_(std::move(headers)) {}

  const CallContext& context() const override { return context_; }

  absl::Status Parse(Message& request) override {
    RETURN_IF_ERROR(wire_.refused);
    ASSIGN_OR_RETURN(const std::string bytes,
                     UnpackRequest(wire_, std::move(body_), max_message_bytes_));
    return ParseMessage(wire_, bytes, request);
  }

  void Answer(const absl::Status& status, const Message* response) override {
    http::Response answer = UnaryResponse(wire_, status, response);
    Append(headers_, answer);
    answer.kept = ReleasePermit();
    exchange_->Send(std::move(answer));
    delete this;
  }

 private:
  const Wire wire_;
  const CallContext context_;
  std::string body_;
  const std::shared_ptr<http::Exchange> exchange_;
  const size_t max_message_bytes_;
  const http::Headers headers_;
};

// Keeps itself until the stream is done.
class HttpServerStream : public StreamDoor, public std::enable_shared_from_this<HttpServerStream> {
 public:
  HttpServerStream(Desk& desk, Wire wire, const http::Request& request,
                   std::shared_ptr<http::Exchange> exchange)
      : wire_(std::move(wire)),
        context_(ContextOf(desk, request, exchange, wire_.deadline)),
        exchange_(std::move(exchange)) {}

  void Open(Desk& desk, const Method& method, std::string body, size_t max_message_bytes,
            const http::Headers& headers) {
    http::Response head{.headers = {{"content-type", wire_.content_type}}};
    Append(headers, head);
    exchange_->Start(std::move(head));
    absl::Status opened = Start(desk, method, std::move(body), max_message_bytes);
    if (!opened.ok()) exchange_->End(EndEnvelope(wire_, opened));
  }

  void StartRead() override {}  // there is nothing more to read
  void StartWrite(const Message& message) override {
    exchange_->Write(Envelope(0, SerializeMessage(wire_, message)),
                     [self = shared_from_this()](bool sent) {
                       self->Tell([sent](OpenStream& stream) { stream.WriteDone(sent); });
                     });
  }
  void Finish(const absl::Status& status) override {
    exchange_->End(EndEnvelope(wire_, status));
    Tell([](OpenStream&) {}, true);
  }

 private:
  absl::Status Start(Desk& desk, const Method& method, std::string body, size_t max_message_bytes) {
    if (method.permission.has_value()) RETURN_IF_ERROR(context_.identified);
    RETURN_IF_ERROR(wire_.refused);
    ASSIGN_OR_RETURN(const std::string bytes,
                     UnpackRequest(wire_, std::move(body), max_message_bytes));
    MessagePointer request(method.request->New());
    RETURN_IF_ERROR(ParseMessage(wire_, bytes, *request));
    ASSIGN_OR_RETURN(stream_, desk.Open(method, context_, this, std::move(request)));
    self_ = shared_from_this();
    Tell([](OpenStream& stream) { stream.Start(); });
    exchange_->OnCancel([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self != nullptr) self->Tell([](OpenStream& stream) { stream.Cancel(); });
    });
    return absl::OkStatus();
  }

  // Runs `tell` unless the stream has finished; and tells the desk that it is done once it has, and
  // nobody else is telling it anything.
  template <typename Function>
  void Tell(Function tell, bool finish = false) {
    const auto keep = shared_from_this();
    {
      absl::MutexLock lock(&mutex_);
      if (finished_) return;
      if (finish) finished_ = true;
      ++telling_;
    }
    tell(*stream_);
    {
      absl::MutexLock lock(&mutex_);
      if (--telling_ > 0 || !finished_) return;
    }
    stream_->Done();
    self_.reset();
  }

  const Wire wire_;
  const CallContext context_;
  const std::shared_ptr<http::Exchange> exchange_;
  std::unique_ptr<OpenStream> stream_;
  std::shared_ptr<HttpServerStream> self_;
  absl::Mutex mutex_;
  int telling_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

Credentials CredentialsOf(const http::Request& request) {
  return {.authorization = request.Find("authorization").value_or(""),
          .doubled = http::Count(request.headers, "authorization") > 1,
          .peer = request.peer,
          .forwarded = http::Last(request.headers, "x-forwarded-for").value_or("")};
}

void ServeRpc(Desk& desk, const Method& method, http::Request request,
              std::shared_ptr<http::Exchange> exchange, size_t max_message_bytes,
              const http::Headers& headers) {
  std::variant<Wire, http::Response> read = ReadWire(method, request);
  if (auto* const refusal = std::get_if<http::Response>(&read)) {
    Append(headers, *refusal);
    exchange->Send(std::move(*refusal));
    return;
  }
  Wire& wire = std::get<Wire>(read);
  if (method.kind == CallKind::kUnary) {
    auto* const call = new HttpUnaryCall(desk, std::move(wire), std::move(request),
                                         std::move(exchange), max_message_bytes, headers);
    desk.Serve(method, *call);
    return;
  }
  const auto stream =
      std::make_shared<HttpServerStream>(desk, std::move(wire), request, std::move(exchange));
  stream->Open(desk, method, std::move(request.body), max_message_bytes, headers);
}

}  // namespace dpledger::server
