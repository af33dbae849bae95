// The AdminService over a real token file.
#include "server/services/admin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/file.h"
#include "base/status.h"
#include "identity/authenticator.h"
#include "identity/token.h"
#include "identity/tokens.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class AdminServiceTest : public ::testing::Test {
 protected:
  static v1::CreateTokenRequest Request(const std::string& name,
                                        const std::string& role = "trainer",
                                        const std::string& scope = "projects/vision") {
    v1::CreateTokenRequest request;
    request.set_name(name);
    v1::Grant& grant = *request.add_grants();
    grant.set_role(role);
    grant.set_scope(scope);
    return request;
  }
  absl::StatusOr<v1::CreateTokenResponse> Create(const v1::CreateTokenRequest& request) {
    return service_.CreateToken(request, {});
  }
  // The caller whom a secret names, or the reason why none.
  std::string Who(const std::string& secret) {
    const auto caller = authenticator_.Authenticate({"Bearer " + secret});
    return caller.ok() ? caller->name : ReasonOf(caller.status()).reason;
  }
  int64_t Seconds() { return absl::ToUnixSeconds(clock_.Now()); }

  TempFolder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  TestClock clock_;
  std::unique_ptr<identity::Tokens> tokens_ = *identity::Tokens::OpenFile(path_, &clock_, nullptr);
  AdminService service_{tokens_.get(), &clock_, AccessHistory(nullptr, nullptr)};
  identity::Authenticator authenticator_{tokens_.get(), {}, &clock_};
};

TEST_F(AdminServiceTest, ACreatedTokenIsGoodAndShownOnce) {
  v1::CreateTokenRequest request = Request("alice", "analyst", "projects/vision/ledgers/mnist-*");
  request.mutable_grants(0)->set_data_set("MNIST, 2011");
  request.mutable_expire_time()->set_seconds(Seconds() + 60);
  const auto created = Create(request);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(identity::IsToken(created->secret()));
  EXPECT_EQ(Who(created->secret()), "token:alice");
  EXPECT_EQ(created->token().caller(), "token:alice");
  EXPECT_EQ(created->token().expire_time().seconds(), Seconds() + 60);
  EXPECT_FALSE(created->token().has_revoke_time());

  const auto list = service_.ListTokens({}, {});
  ASSERT_EQ(list->tokens_size(), 1);
  EXPECT_EQ(list->tokens(0).grants(0).scope(), "projects/vision/ledgers/mnist-*");
  EXPECT_EQ(list->tokens(0).grants(0).role(), "analyst");
  EXPECT_EQ(list->tokens(0).grants(0).data_set(), "MNIST, 2011");
  EXPECT_EQ(list->tokens(0).last_use_time().seconds(), Seconds() / 60 * 60);
  EXPECT_EQ(list->tokens(0).id().size(), 12u);
  EXPECT_THAT(list->DebugString(), Not(HasSubstr(created->secret().substr(4, 10))));
  EXPECT_THAT(*ReadFile(path_), Not(HasSubstr(created->secret().substr(4, 10))));
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Who(created->secret()), "EXPIRED_TOKEN");
}

TEST_F(AdminServiceTest, ABadRequestNamesTheFieldAndMakesNothing) {
  const auto refused = [&](const v1::CreateTokenRequest& request, const char* message) {
    return IsError(Create(request).status(), kInvalid, "INVALID_FIELD", message);
  };
  EXPECT_TRUE(refused(Request(""), "name: must be 1 to 64 bytes"));
  EXPECT_TRUE(
      refused(Request("a\nb"), "name: must be 1 to 64 bytes of [A-Za-z0-9._-], got \"a?b\""));
  EXPECT_TRUE(refused(Request("a", "boss"), "grants[0].role: must be trainer"));
  EXPECT_TRUE(refused(Request("a", "admin * data-set=x"), "grants[0].role: must be one word"));
  EXPECT_TRUE(refused(Request("a", "admin", ""), "grants[0].scope: must be one word"));
  EXPECT_TRUE(refused(Request("a", "admin", "projects"), "grants[0].scope: must be *"));
  EXPECT_TRUE(refused(v1::CreateTokenRequest(), "name: "));
  v1::CreateTokenRequest request = Request("a");
  request.mutable_grants(0)->set_data_set(" x");
  EXPECT_TRUE(refused(request, "grants[0].data-set: must be"));
  request = Request("a");
  request.clear_grants();
  EXPECT_TRUE(refused(request, "grants: must be 1 to 10, got 0"));
  request = Request("a");
  request.mutable_expire_time()->set_seconds(Seconds());
  EXPECT_TRUE(refused(request, "expire_time: must be in the future"));
  request.mutable_expire_time()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(refused(request, "expire_time: must be in the future"));
  request.mutable_expire_time()->set_seconds(std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(refused(request, "expire_time: must be in the future"));
  request.mutable_expire_time()->set_nanos(-1);
  EXPECT_TRUE(refused(request, "expire_time: nanos"));
  request = Request("a");
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(99, 1);
  EXPECT_FALSE(Create(request).ok());
  EXPECT_EQ(service_.ListTokens({}, {})->tokens_size(), 0);
  ASSERT_TRUE(Create(Request("a")).ok());
  EXPECT_TRUE(IsError(Create(Request("a")).status(), absl::StatusCode::kAlreadyExists, "NAME_TAKEN",
                      "rotate its token"));
}

TEST_F(AdminServiceTest, RotationLeavesTheOldTokenItsGrace) {
  const std::string old = Create(Request("alice"))->secret();
  v1::RotateTokenRequest request;
  request.set_name("alice");
  request.mutable_grace()->set_seconds(60);
  request.mutable_expire_time()->set_seconds(Seconds() + 600);
  const auto rotated = service_.RotateToken(request, {});
  ASSERT_TRUE(rotated.ok()) << rotated.status();
  EXPECT_NE(rotated->secret(), old);
  EXPECT_EQ(rotated->token().grants(0).scope(), "projects/vision");
  EXPECT_EQ(Who(old), "token:alice");
  EXPECT_EQ(Who(rotated->secret()), "token:alice");
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Who(old), "EXPIRED_TOKEN");
  EXPECT_EQ(Who(rotated->secret()), "token:alice");
  request.mutable_grace()->set_seconds(-1);
  EXPECT_TRUE(IsError(service_.RotateToken(request, {}).status(), kInvalid, "INVALID_FIELD",
                      "grace: must be 0 to 30 days"));
  request.clear_grace();
  request.set_name("bob");
  EXPECT_TRUE(IsError(service_.RotateToken(request, {}).status(), absl::StatusCode::kNotFound,
                      "NO_SUCH_TOKEN", "no token has the name \"bob\""));
}

TEST_F(AdminServiceTest, RevocationEndsAllTokensOfTheName) {
  const std::string first = Create(Request("alice"))->secret();
  const std::string other = Create(Request("bob"))->secret();
  v1::RotateTokenRequest rotate;
  rotate.set_name("alice");
  rotate.mutable_grace()->set_seconds(60);
  const std::string second = service_.RotateToken(rotate, {})->secret();
  EXPECT_EQ(Who(second), "token:alice");
  v1::RevokeTokenRequest revoke;
  revoke.set_name("alice");
  const auto revoked = service_.RevokeToken(revoke, {});
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  ASSERT_EQ(revoked->tokens_size(), 2);
  EXPECT_TRUE(revoked->tokens(1).has_revoke_time());
  EXPECT_EQ(revoked->tokens(1).last_use_time().seconds(), Seconds() / 60 * 60);
  EXPECT_EQ(Who(first), "REVOKED_TOKEN");
  EXPECT_EQ(Who(second), "REVOKED_TOKEN");
  EXPECT_EQ(Who(other), "token:bob");
  EXPECT_TRUE(service_.RevokeToken(revoke, {}).ok());
  EXPECT_TRUE(IsError(service_.RotateToken(rotate, {}).status(),
                      absl::StatusCode::kFailedPrecondition, "TOKEN_REVOKED", "for good"));
  revoke.set_name("carol");
  EXPECT_TRUE(IsError(service_.RevokeToken(revoke, {}).status(), absl::StatusCode::kNotFound,
                      "NO_SUCH_TOKEN", "carol"));
}

}  // namespace
}  // namespace dpledger::server
