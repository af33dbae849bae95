// The AdminService, without a transport: proto/dpledger/v1/admin_service.proto says what each call
// means. Whoever calls it has checked the permission `administer`. Thread safe. Calls wait for the
// disk.
#pragma once

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "dpledger/v1/admin_service.pb.h"
#include "identity/tokens.h"
#include "server/call_context.h"
#include "server/own_ledgers/access_history.h"

namespace dpledger::server {

class AdminService {
 public:
  // `tokens` and `clock` must outlive the service, and so must what `access` reads.
  AdminService(identity::Tokens* tokens, Clock* clock, AccessHistory access)
      : tokens_(*tokens), clock_(*clock), access_(access) {}

  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request,
                                                      const CallContext& call);
  absl::StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request,
                                                    const CallContext& call);
  absl::StatusOr<v1::RotateTokenResponse> RotateToken(const v1::RotateTokenRequest& request,
                                                      const CallContext& call);
  absl::StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request,
                                                      const CallContext& call);
  absl::StatusOr<v1::ListAccessResponse> ListAccess(const v1::ListAccessRequest& request,
                                                    const CallContext& call);

 private:
  identity::Tokens& tokens_;
  Clock& clock_;
  const AccessHistory access_;
};

}  // namespace dpledger::server
