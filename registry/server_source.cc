#include "registry/server_source.h"

#include <grpcpp/client_context.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "connection/connection.h"
#include "connection/servers.h"
#include "dpledger/v1/audit_service.grpc.pb.h"

namespace dpledger::registry {

namespace {

class ServerSource : public RegistrySource {
 public:
  ServerSource(const connection::ServerAccess& server, absl::Duration patience)
      : address_(server.address), patience_(patience), servers_(connection::Servers::Of(server)) {}

  absl::StatusOr<std::string> Read(const std::string& path) override {
    v1::GetTileRequest request;
    request.set_path(path);
    v1::GetTileResponse response;
    RETURN_IF_ERROR(Call(&v1::AuditService::Stub::GetTile, request, response));
    return std::move(*response.mutable_content());
  }

  absl::StatusOr<std::vector<merkle::Hash>> ProveGrowth(const std::string& ledger,
                                                        uint64_t old_size,
                                                        uint64_t new_size) override {
    v1::GetConsistencyProofRequest request;
    request.set_log(ledger);
    request.set_old_size(old_size);
    request.set_new_size(new_size);
    v1::GetConsistencyProofResponse response;
    RETURN_IF_ERROR(Call(&v1::AuditService::Stub::GetConsistencyProof, request, response));
    std::vector<merkle::Hash> proof;
    for (const std::string& bytes : response.proof()) {
      const std::optional<merkle::Hash> hash = merkle::HashFrom(bytes);
      if (!hash.has_value())
        return absl::DataLossError("the server's answer: a proof has a hash of another size");
      proof.push_back(*hash);
    }
    return proof;
  }

 private:
  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (v1::AuditService::Stub::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
                    const Request& request, Response& response) {
    RETURN_IF_ERROR(servers_.status());
    const absl::Status status = (*servers_)->Ask([&](const auto& channel) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + patience_));
      const auto stub = v1::AuditService::NewStub(channel);
      return connection::FromGrpc((stub.get()->*method)(&context, request, &response));
    });
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    return absl::UnavailableError(absl::StrCat("server ", address_, ": ", status.message()));
  }

  const std::string address_;
  const absl::Duration patience_;
  const absl::StatusOr<std::unique_ptr<connection::Servers>> servers_;
};

}  // namespace

std::unique_ptr<RegistrySource> SourceOfServer(const connection::ServerAccess& server,
                                               absl::Duration patience) {
  return std::make_unique<ServerSource>(server, patience);
}

}  // namespace dpledger::registry
