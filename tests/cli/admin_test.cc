// `dpledger admin token` against a server that has the AdminService and nothing else.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "cli/duration_flag.h"
#include "dpledger/v1/admin_service.grpc.pb.h"
#include "identity/authenticator.h"
#include "identity/token.h"
#include "identity/tokens.h"
#include "server/grpc_door/status.h"
#include "server/services/admin_service.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The service behind gRPC, without rights: whoever calls it is taken for an administrator.
class AdminDoor : public v1::AdminService::Service {
 public:
  explicit AdminDoor(server::AdminService* service) : service_(*service) {}

  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override {
    return Give(service_.CreateToken(*request, {}), *response);
  }
  grpc::Status ListTokens(grpc::ServerContext*, const v1::ListTokensRequest* request,
                          v1::ListTokensResponse* response) override {
    return Give(service_.ListTokens(*request, {}), *response);
  }
  grpc::Status RotateToken(grpc::ServerContext*, const v1::RotateTokenRequest* request,
                           v1::RotateTokenResponse* response) override {
    return Give(service_.RotateToken(*request, {}), *response);
  }
  grpc::Status RevokeToken(grpc::ServerContext*, const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenResponse* response) override {
    return Give(service_.RevokeToken(*request, {}), *response);
  }

 private:
  template <typename Response>
  static grpc::Status Give(absl::StatusOr<Response> answer, Response& response) {
    if (answer.ok()) response = *std::move(answer);
    return server::ToGrpc(answer.status());
  }
  server::AdminService& service_;
};

class AdminToken : public ::testing::Test {
 protected:
  AdminToken() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&door_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  RunResult Admin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"admin", "token"});
    arguments.insert(arguments.end(), {"--server", address_});
    return Dpledger(arguments);
  }
  std::string Who(const std::string& secret) {
    const auto caller = authenticator_.Authenticate({"Bearer " + secret});
    return caller.ok() ? caller->name : ReasonOf(caller.status()).reason;
  }
  std::string SecretIn(const std::string& file) {
    std::string secret = *ReadFile(file);
    EXPECT_EQ(secret.back(), '\n');
    secret.pop_back();
    struct stat status;
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    return secret;
  }

  TemporaryFolder folder_;
  std::unique_ptr<identity::Tokens> tokens_ =
      *identity::Tokens::OpenFile(folder_.File("tokens"), Clock::System(), nullptr);
  server::AdminService service_{tokens_.get(), Clock::System(),
                                server::AccessHistory(nullptr, nullptr)};
  identity::Authenticator authenticator_{tokens_.get(), {}, Clock::System()};
  AdminDoor door_{&service_};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_F(AdminToken, IsMadeIntoAFileOfItsOwner) {
  const std::string file = folder_.File("alice.token");
  const RunResult made = Admin({"create", "alice", "--grant", "trainer projects/vision", "--grant",
                                "analyst * data-set=MNIST, 2011", "--out", file});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string secret = SecretIn(file);
  EXPECT_EQ(Who(secret), "token:alice");
  EXPECT_THAT(made.out + made.err, Not(HasSubstr(secret.substr(4, 10))));
  EXPECT_THAT(made.out, HasSubstr("analyst * data-set=MNIST, 2011"));
  const auto record = tokens_->Find(identity::HashOf(secret));
  EXPECT_EQ(record->grants.size(), 2u);
  const absl::Duration left = record->expires - absl::Now();
  EXPECT_GT(left, absl::Hours(24 * 89));
  EXPECT_LE(left, absl::Hours(24 * 90));

  const RunResult again = Admin({"create", "bob", "--grant", "admin *", "--out", file});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("is not written over"));
  EXPECT_EQ(tokens_->List()->tokens.size(), 1u) << "nothing was made that nobody can keep";
}

TEST_F(AdminToken, IsShownOnceWithoutAFile) {
  const RunResult made =
      Admin({"create", "alice", "--grant", "admin *", "--expires-in", "never", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string secret = JsonObject(made.out).Text("secret");
  EXPECT_EQ(Who(secret), "token:alice");
  const RunResult list = Admin({"list"});
  EXPECT_THAT(list.out, HasSubstr("does not expire"));
  EXPECT_THAT(list.out, HasSubstr("token:alice"));
  EXPECT_THAT(list.out + Admin({"list", "--json"}).out, Not(HasSubstr(secret.substr(4, 10))));
}

TEST_F(AdminToken, IsRotatedAndRevoked) {
  const std::string file = folder_.File("alice.token");
  ASSERT_EQ(Admin({"create", "alice", "--grant", "admin *", "--out", file}).exit_code, 0);
  const std::string first = SecretIn(file);
  const RunResult rotated = Admin({"rotate", "alice", "--out", file, "--grace", "0s"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  const std::string second = SecretIn(file);
  EXPECT_EQ(Who(first), "EXPIRED_TOKEN");
  EXPECT_EQ(Who(second), "token:alice");
  const RunResult revoked = Admin({"revoke", "alice"});
  ASSERT_EQ(revoked.exit_code, 0) << revoked.err;
  EXPECT_THAT(revoked.out, HasSubstr("revoked 20"));
  EXPECT_EQ(Who(second), "REVOKED_TOKEN");
}

TEST_F(AdminToken, BadInputIsToldByItsFlag) {
  EXPECT_EQ(Admin({"create", "alice"}).exit_code, 2);
  EXPECT_EQ(Admin({"create", "a b", "--grant", "admin *"}).exit_code, 2);
  EXPECT_THAT(Admin({"create", "alice", "--grant", "admin *", "--expires-in", "90"}).err,
              HasSubstr("--expires-in: must be never, or a whole number and s, m, h or d"));
  EXPECT_THAT(Admin({"create", "alice", "--grant", "admin * dataset=x"}).err,
              HasSubstr("--grant: must be ROLE SCOPE"));
  const RunResult boss = Admin({"create", "alice", "--grant", "boss *"});
  EXPECT_EQ(boss.exit_code, 1);
  EXPECT_THAT(boss.err, HasSubstr("grants[0].role: must be trainer"));
  EXPECT_THAT(Admin({"rotate", "nobody"}).err, HasSubstr("no token has the name \"nobody\""));
  EXPECT_EQ(tokens_->List()->tokens.size(), 0u);
}

TEST(Length, IsANumberAndAUnit) {
  EXPECT_EQ(cli::ParseLength("0s"), absl::ZeroDuration());
  EXPECT_EQ(cli::ParseLength("30m"), absl::Minutes(30));
  EXPECT_EQ(cli::ParseLength("12h"), absl::Hours(12));
  EXPECT_EQ(cli::ParseLength("999999d"), absl::Hours(24 * 999999));
  for (const char* text : {"", "d", "1", "-1d", "1.5h", "1 d", "1D", "1w", "1000000d", "0x1s"}) {
    EXPECT_EQ(cli::ParseLength(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dpledger::testing
