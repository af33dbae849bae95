#include "connection/connection.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/absl_view.h"
#include "base/address.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "connection/servers.h"
#include "connection/shared_connections.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/support/log.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "grpcpp/support/channel_arguments.h"

namespace dpledger::connection {
namespace {

// The server ends a page of entries at about 1 MiB; one entry and its neighbours cannot pass this.
constexpr int kMaxReceivedBytes = 16 << 20;
constexpr int kMaxSentBytes = 4 << 20;  // what the server accepts by default
// What is between may hold a connection and forward nothing: a stream that waits is noticed half a
// minute later, and dialled anew. The server lets its clients ask as often as every 10 s.
constexpr int kKeepaliveMilliseconds = 20 * 1000;
constexpr int kKeepaliveTimeoutMilliseconds = 10 * 1000;
// gRPC would wait up to two minutes between attempts; a trainer that fails closed stands still
// meanwhile.
constexpr int kFirstReconnectMilliseconds = 100;
constexpr int kMaxReconnectMilliseconds = 2 * 1000;
// Of one attempt, TLS and HTTP/2 included, before a name's next address is dialled: a frozen host
// takes connections and says nothing. gRPC's own 20 s would keep a trainer for as long again.
constexpr int kDialMilliseconds = 10 * 1000;
// The first word of one of several servers.
constexpr auto kAnswerWithin = std::chrono::seconds(3);
constexpr unsigned kLookAtFilesSeconds = 5;  // of certificates, for others in their place

ErrorReason ReasonFromDetails(const std::string& details) {
  google::rpc::Status status;
  if (details.empty() || !status.ParseFromString(details)) return {};
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    if (!detail.UnpackTo(&info)) continue;
    return {info.reason(), {info.metadata().begin(), info.metadata().end()}};
  }
  return {};
}

// A token's file, read again whenever it has changed: Kubernetes replaces projected tokens, and so
// does whoever rotates one.
class TokenFile : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  bool IsBlocking() const override { return true; }

  // Once a call, or once a stream.
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    absl::MutexLock lock(&mutex_);
    const absl::Status read = Look();
    if (!read.ok()) return {grpc::StatusCode::UNAUTHENTICATED, std::string(read.message())};
    metadata->emplace("authorization", absl::StrCat("Bearer ", token_));
    return grpc::Status::OK;
  }

  absl::Status Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    struct stat found = {};
    if (stat(path_.c_str(), &found) != 0) {
      const int failed = errno;
      if (LooksLikeAToken(path_))
        return FieldError("token_file",
                          "must be a file that can be read, and not the token itself");
      return ErrnoError(failed, "read", path_);
    }
    const std::string stamp = absl::StrCat(found.st_ino, ":", found.st_size, ":",
                                           found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec);
    if (stamp == stamp_) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string content, ReadFile(path_));
    const absl::string_view token = absl::StripAsciiWhitespace(content);
    const auto is_graphic = [](unsigned char c) { return absl::ascii_isgraph(c); };
    if (token.empty() || token.size() > kMaxTokenBytes ||
        !std::all_of(token.begin(), token.end(), is_graphic)) {
      return FieldError("token_file", absl::StrCat("must hold one token of printable characters, ",
                                                   path_, " does not"));
    }
    token_ = std::string(token);
    stamp_ = stamp;
    return absl::OkStatus();
  }

  absl::Status Check() {
    absl::MutexLock lock(&mutex_);
    return Look();
  }

 private:
  static constexpr size_t kMaxTokenBytes = 8192;

  const std::string path_;
  absl::Mutex mutex_;
  std::string stamp_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::string> ReadPart(const char* field, const std::string& path) {
  if (path.empty()) return std::string();
  absl::StatusOr<std::string> content = ReadFile(path);
  if (content.ok()) return content;
  return FieldError(field,
                    absl::StrCat("must be a file that can be read: ", content.status().message()));
}

absl::Status CheckReadable(const ServerAccess& access) {
  if (!UsesTls(access)) return absl::OkStatus();
  RETURN_IF_ERROR(ReadPart("ca", access.ca).status());
  RETURN_IF_ERROR(ReadPart("cert", access.certificate).status());
  // gRPC would ask for the passphrase at the terminal, or say nothing but that no handshake ends.
  ASSIGN_OR_RETURN(const std::string key, ReadPart("cert_key", access.key));
  if (!absl::StrContains(key, "ENCRYPTED")) return absl::OkStatus();
  return FieldError("cert_key", absl::StrCat("must not be encrypted, ", access.key,
                                             " is (openssl pkey takes the passphrase off; keep "
                                             "the file readable by you alone)"));
}

// TLS by the files as they are at each handshake: certificates of a day, and authorities that are
// replaced, end no run.
std::shared_ptr<grpc::ChannelCredentials> TlsOf(const ServerAccess& access) {
  using grpc::experimental::FileWatcherCertificateProvider;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_verifier(
      std::make_shared<grpc::experimental::HostNameCertificateVerifier>());
  if (!access.ca.empty() || !access.key.empty()) {
    options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
        access.key, access.certificate, access.ca, kLookAtFilesSeconds));
  }
  if (!access.ca.empty()) options.watch_root_certs();
  if (!access.key.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ServerAccess& access) {
  const bool tls = UsesTls(access);
  std::shared_ptr<grpc::ChannelCredentials> channel;
  if (tls) {
    channel = TlsOf(access);
  } else if (access.token_file.empty()) {
    return grpc::InsecureChannelCredentials();
  } else {
    // Plain text that refuses to leave this machine: the token goes nowhere else.
    channel = grpc::experimental::LocalCredentials(LOCAL_TCP);
  }
  if (access.token_file.empty()) return channel;
  auto token = std::make_unique<TokenFile>(access.token_file);
  RETURN_IF_ERROR(token->Check());
  return grpc::CompositeChannelCredentials(
      channel, grpc::experimental::MetadataCredentialsFromPlugin(
                   std::move(token), tls ? GRPC_PRIVACY_AND_INTEGRITY : GRPC_SECURITY_NONE));
}

// A status without a reason, which the server's own all have, is a proxy's word, or what gRPC makes
// of its 403 and 404, or of a connection that ends in the midst of a call. Those of gRPC's client
// itself, and of the token's file, are what they say.
bool IsOfWhatIsBetween(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnauthenticated:
      return false;
    default:
      return true;
  }
}

absl::Status NotAnAnswer(std::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("not an answer of the server, but of what is between: ", ToAbsl(what)));
}

// Nothing is in it: that may be the answer of a list, or where nothing is to be said.
bool MayBeEmpty(std::string_view answer) {
  constexpr std::string_view kMay[] = {"List", "Read", "Find", "Revoke"};
  return std::any_of(std::begin(kMay), std::end(kMay),
                     [&](std::string_view verb) { return answer.starts_with(verb); });
}

// gRPC writes lines of its own to stderr, one for each answer of a proxy that is none: all that
// they say is in our errors. Whoever wants them sets GRPC_VERBOSITY.
void KeepGrpcQuiet() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

// Whether the server at the other end serves. An error if none answers there.
absl::StatusOr<bool> AskWhetherItServes(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerWithin);
  grpc::health::v1::HealthCheckResponse response;
  const absl::Status status =
      FromGrpc(grpc::health::v1::Health::NewStub(channel)->Check(&context, {}, &response));
  if (MayDoBetterElsewhere(status)) return status;
  return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

// The name of the method that takes this message.
std::string MethodOf(const grpc::protobuf::Descriptor& request) {
  const grpc::protobuf::FileDescriptor& file = *request.file();
  for (int i = 0; i < file.service_count(); ++i) {
    for (int j = 0; j < file.service(i)->method_count(); ++j) {
      const grpc::protobuf::MethodDescriptor& method = *file.service(i)->method(j);
      if (method.input_type() != &request) continue;
      return absl::StrCat("/", method.service()->full_name(), "/", method.name());
    }
  }
  return {};
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ServerAccess& given) {
  ASSIGN_OR_RETURN(const ServerAccess access, Complete(given));
  const std::vector<ServerAccess> each = EachOf(access);
  if (each.size() == 1) return ConnectTo(access);
  std::shared_ptr<grpc::Channel> second_best;
  std::string lines = "no server answers:";
  for (const ServerAccess& one : each) {
    ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, ConnectTo(one));
    const absl::StatusOr<bool> serves = AskWhetherItServes(channel);
    if (serves.ok() && *serves) return channel;
    if (serves.ok() && second_best == nullptr) second_best = std::move(channel);
    absl::StrAppend(&lines, "\n  ", one.address, ": ", serves.status().message());
  }
  if (second_best != nullptr) return second_best;
  return absl::UnavailableError(lines);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServerAccess& access) {
  RETURN_IF_ERROR(CheckReadable(access));
  KeepGrpcQuiet();
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                   CredentialsOf(access));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  arguments.SetMaxSendMessageSize(kMaxSentBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no bound: rounds may be far apart
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kDialMilliseconds);
  // Else gRPC would put all channels that are alike on one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const std::string target = TargetOf(access);
  // No proxy reaches this machine's own addresses, whatever http_proxy says.
  const std::optional<Address> address = ParseAddress(target);
  if (address.has_value() && IsLoopback(address->host)) {
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  const std::string key =
      absl::StrJoin({target, std::string(UsesTls(access) ? "tls" : "plain"), access.token_file,
                     access.ca, access.certificate, access.key},
                    absl::string_view("\0", 1));
  return SharedConnections::OfProcess().Get(
      key, [&] { return grpc::CreateCustomChannel(target, credentials, arguments); });
}

std::string NewRequestId() {
  char bytes[16];
  // Fails only for a request over 256 bytes or a kernel without the call.
  if (::getentropy(bytes, sizeof(bytes)) != 0) std::abort();
  return HexEncode(std::string_view(bytes, sizeof(bytes)));
}

absl::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                  const grpc::protobuf::Message& request, grpc::protobuf::Message& answer,
                  absl::Time deadline) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  grpc::TemplatedGenericStub<grpc::protobuf::Message, grpc::protobuf::Message> stub(channel);
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, MethodOf(*request.GetDescriptor()), {}, &request, &answer,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  if (status.ok() && answer.ByteSizeLong() == 0 && !MayBeEmpty(answer.GetDescriptor()->name())) {
    return NotAnAnswer("OK, and no message");
  }
  return FromGrpc(status);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const absl::Status plain(static_cast<absl::StatusCode>(status.error_code()),
                           status.error_message());
  const ErrorReason reason = ReasonFromDetails(status.error_details());
  if (!reason.reason.empty()) return WithReason(plain, reason);
  if (!IsOfWhatIsBetween(plain.code())) return plain;
  return NotAnAnswer(absl::StrCat(absl::StatusCodeToString(plain.code()), ": ", plain.message()));
}

}  // namespace dpledger::connection
