// Which of several servers is called.
#include "connection/servers.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "connection/connection.h"
#include "connection/shared_connections.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/cli/process.h"
#include "tests/connection/refusing_proxy.h"
#include "tests/front/certificates.h"

namespace dpledger::connection {
namespace {

using ::dpledger::testing::RefusingProxy;
using ::dpledger::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kNobody[] = "127.0.0.1:1";

// ---- Lists of addresses ----

std::vector<std::string> AddressesOf(const std::string& text) {
  std::vector<std::string> addresses;
  for (const ServerAccess& one : EachOf(text)) addresses.push_back(one.address);
  return addresses;
}

TEST(Addresses, EachIsCheckedLikeOne) {
  EXPECT_THAT(AddressesOf("a:1"), ElementsAre("a:1"));
  EXPECT_THAT(AddressesOf("https://a:1, b:2,c:3"), ElementsAre("https://a:1", "b:2", "c:3"));
  EXPECT_EQ(Complete(ServerAccess("a:1,https://b:2,[::2]:3")).status(), absl::OkStatus());
  EXPECT_EQ(Complete(ServerAccess("127.0.0.1:1,localhost:2")).status(), absl::OkStatus());
  for (const char* bad : {"a:1,b", "a:1,,b:2", "a:1,", ",a:1", "a:1,b:0", "a:1 b:2", "a:1;b:2"}) {
    const absl::Status status = Complete(ServerAccess(bad)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), StartsWith("server: must be host:port, got "));
  }
}

TEST(Addresses, AreAllReachedByTlsOrNone) {
  for (const char* mixed : {"http://a:1,b:2", "a:1,127.0.0.1:2", "127.0.0.1:1,https://a:2"}) {
    EXPECT_THAT(std::string(Complete(ServerAccess(mixed)).status().message()),
                AllOf(StartsWith("server: must be reached by TLS at each address or at none"),
                      HasSubstr(mixed)));
  }
  EXPECT_EQ(Complete(ServerAccess("http://a:1,http://b:2")).status(), absl::OkStatus());
}

TEST(Addresses, NoneOfThemGetsATokenInPlainText) {
  ServerAccess access("http://127.0.0.1:1,http://a:2");
  EXPECT_EQ(Complete(access).status(), absl::OkStatus());
  access.token_file = "token";
  EXPECT_THAT(std::string(Complete(access).status().message()),
              AllOf(HasSubstr("must be https:// where a token is given"), HasSubstr("http://a:2")));
  access = ServerAccess("https://a:1,http://b:2");
  access.ca = "ca";
  EXPECT_THAT(std::string(Complete(access).status().message()), HasSubstr("got http://b:2"));
}

// ---- The first that answers ----

// A server of gRPC that answers whether it serves, and nothing else.
class HealthyServer : public grpc::health::v1::Health::Service {
 public:
  explicit HealthyServer(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~HealthyServer() override { server_->Shutdown(); }

  grpc::Status Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse* response) override {
    response->set_status(serves ? grpc::health::v1::HealthCheckResponse::SERVING
                                : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }

  const std::string& address() const { return address_; }

  std::atomic<bool> serves = true;

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// The peer that answers over this channel.
std::string PeerOf(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse response;
  const absl::Status asked =
      FromGrpc(grpc::health::v1::Health::NewStub(channel)->Check(&context, {}, &response));
  return asked.ok() ? context.peer().substr(context.peer().find(':') + 1) : asked.ToString();
}

std::string ConnectedTo(const std::string& addresses) {
  const auto channel = Connect(ServerAccess(addresses));
  return channel.ok() ? PeerOf(*channel) : std::string(channel.status().message());
}

TEST(Connect, TakesTheFirstThatAnswersAndServes) {
  HealthyServer first, second;
  const RefusingProxy proxy("404");
  const std::string both = absl::StrCat(first.address(), ",", second.address());
  EXPECT_EQ(ConnectedTo(both), first.address());
  EXPECT_EQ(ConnectedTo(absl::StrCat(kNobody, ",", both)), first.address());
  EXPECT_EQ(ConnectedTo(absl::StrCat(proxy.address(), ",", both)), first.address());
  first.serves = false;
  EXPECT_EQ(ConnectedTo(both), second.address());
  second.serves = false;
  EXPECT_EQ(ConnectedTo(both), first.address()) << "it may answer questions all the same";
}

TEST(Connect, SaysOfEachWhyItDoesNotAnswer) {
  const RefusingProxy proxy("403");
  const absl::Status none =
      Connect(ServerAccess(absl::StrCat(kNobody, ",", proxy.address()))).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(none.message()),
              AllOf(StartsWith(absl::StrCat("no server answers:\n  ", kNobody, ": ")),
                    HasSubstr("Connection refused\n"),
                    HasSubstr(absl::StrCat("\n  ", proxy.address(),
                                           ": not an answer of the server, but of what is "
                                           "between: ")),
                    HasSubstr("403")));
}

// What is between, and speaks gRPC: a status without the server's reason, or no message.
class Between : public v1::AccountingService::Service {
 public:
  explicit Between(grpc::StatusCode code) : code_(code) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Between() override { server_->Shutdown(); }
  grpc::Status ComputeEpsilon(grpc::ServerContext*, const v1::ComputeEpsilonRequest*,
                              v1::ComputeEpsilonResponse*) override {
    return code_ == grpc::StatusCode::OK ? grpc::Status::OK : grpc::Status(code_, "between");
  }
  absl::Status Ask() const {
    const auto channel =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials());
    v1::ComputeEpsilonResponse answer;
    return Call(channel, v1::ComputeEpsilonRequest(), answer, absl::Now() + absl::Minutes(1));
  }

 private:
  const grpc::StatusCode code_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(Calls, AWordWithoutTheServersReasonIsNotTheServers) {
  using grpc::StatusCode;
  for (const StatusCode code : {StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::INVALID_ARGUMENT,
                                StatusCode::FAILED_PRECONDITION, StatusCode::OUT_OF_RANGE,
                                StatusCode::PERMISSION_DENIED, StatusCode::INTERNAL}) {
    const absl::Status status = Between(code).Ask();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("of what is between"));
  }
  EXPECT_EQ(Between(StatusCode::RESOURCE_EXHAUSTED).Ask().code(),
            absl::StatusCode::kResourceExhausted);
}

// Each server shows a certificate of its own name: another one's, of the same authority, is none.
TEST(Connect, KnowsEachByItsOwnName) {
  const TestAuthority authority("test authority");
  const TemporaryFolder folder;
  const auto server_of = [&](const std::string& names) {
    const Credential issued = authority.Issue(names);
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({issued.key, issued.certificate});
    return std::make_unique<HealthyServer>(grpc::SslServerCredentials(options));
  };
  const auto stranger = server_of("IP:127.0.0.2"), known = server_of("IP:127.0.0.1");
  ServerAccess access(absl::StrCat(stranger->address(), ",", known->address()));
  access.ca = folder.Write("ca.pem", authority.certificate());
  const auto channel = Connect(access);
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_EQ(PeerOf(*channel), known->address());
  access.address = absl::StrCat(stranger->address(), ",", stranger->address());
  EXPECT_EQ(Connect(access).status().code(), absl::StatusCode::kUnavailable);
}

// ---- Moving on ----

std::unique_ptr<Servers> ServersOf(const std::string& addresses) {
  auto servers = Servers::Of(ServerAccess(addresses));
  EXPECT_TRUE(servers.ok()) << servers.status();
  return *std::move(servers);
}

TEST(MovingOn, GoesRoundAndTellsOfEach) {
  const HealthyServer second;
  const auto servers = ServersOf(absl::StrCat(kNobody, ",", second.address()));
  const auto first = servers->channel();
  const absl::Status gone = servers->MoveOn(first, absl::UnavailableError("gone"));
  EXPECT_EQ(gone, absl::UnavailableError(absl::StrCat("no server has answered:\n  ", kNobody,
                                                      ": UNAVAILABLE: gone\n  ", second.address(),
                                                      ": not asked yet")));
  const auto other = servers->channel();
  EXPECT_EQ(PeerOf(other), second.address());
  // Another caller of the first one: it is known already.
  EXPECT_EQ(servers->MoveOn(first, absl::UnavailableError("late")), gone);
  EXPECT_EQ(servers->channel(), other);
  const absl::Status broken =
      servers->MoveOn(other, WithReason(absl::InternalError("disk"), {"BROKEN", {}}));
  EXPECT_EQ(broken.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ReasonOf(broken).reason, "BROKEN");
  EXPECT_THAT(std::string(broken.message()),
              AllOf(HasSubstr(absl::StrCat(kNobody, ": UNAVAILABLE: gone\n")),
                    HasSubstr(absl::StrCat(second.address(), ": INTERNAL: disk"))));
  EXPECT_EQ(servers->channel(), first);
}

TEST(MovingOn, StaysWhereAServerHasSpoken) {
  const auto servers = ServersOf(absl::StrCat(kNobody, ",127.0.0.1:2"));
  const auto channel = servers->channel();
  for (const absl::Status& said :
       {absl::OkStatus(), absl::NotFoundError("no"), absl::DataLossError("lost"),
        absl::AbortedError("not ready"), absl::ResourceExhaustedError("quota"),
        WithReason(absl::UnauthenticatedError("who"), {"NO_TOKEN", {}})}) {
    EXPECT_EQ(servers->MoveOn(channel, said), said);
    EXPECT_EQ(servers->channel(), channel) << said;
  }
  servers->MoveOn(channel, absl::UnauthenticatedError("a proxy's 401")).IgnoreError();
  EXPECT_NE(servers->channel(), channel);
}

// A frozen host keeps its connections: to go on with the old one would be to wait for it.
TEST(MovingOn, LeavesAConnectionThatStandsStill) {
  const auto servers = ServersOf(kNobody), others = ServersOf(kNobody);
  const auto channel = servers->channel();
  EXPECT_EQ(servers->MoveOn(channel, absl::UnavailableError("gone")),
            absl::UnavailableError("gone"));
  EXPECT_EQ(servers->channel(), channel) << "it dials again by itself";
  servers->MoveOn(channel, absl::DeadlineExceededError("still")).IgnoreError();
  EXPECT_NE(servers->channel(), channel);
  EXPECT_NE(ServersOf(kNobody)->channel(), channel) << "nobody else is given it";
  EXPECT_EQ(others->channel(), channel) << "until its own calls say so";
}

TEST(MovingOn, HasNowhereToGoFromOneChannel) {
  Servers servers(ServersOf(kNobody)->channel());
  const auto channel = servers.channel();
  const absl::Status still = absl::DeadlineExceededError("still");
  EXPECT_EQ(servers.MoveOn(channel, still), still);
  EXPECT_EQ(servers.channel(), channel);
}

TEST(MovingOn, AsksEachServerOnce) {
  const HealthyServer last;
  const auto servers = ServersOf(absl::StrCat(kNobody, ",127.0.0.1:2,", last.address()));
  int asked = 0;
  const auto ask = [&](const std::shared_ptr<grpc::Channel>& channel) -> absl::Status {
    ++asked;
    const std::string peer = PeerOf(channel);
    return absl::StrContains(peer, "UNAVAILABLE") ? absl::UnavailableError(peer) : absl::OkStatus();
  };
  EXPECT_EQ(servers->Ask(ask), absl::OkStatus());
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(servers->Ask(ask), absl::OkStatus()) << "it stays with the one that answered";
  EXPECT_EQ(asked, 4);
  asked = 0;
  const absl::Status none = ServersOf(absl::StrCat(kNobody, ",127.0.0.1:2"))->Ask(ask);
  EXPECT_EQ(none.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace dpledger::connection
