#include "client/export.h"

#include <grpcpp/client_context.h>

#include <chrono>

#include "base/status.h"
#include "connection/connection.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/bundle/export.h"

namespace dpledger::client {
namespace {

constexpr auto kDeadline = std::chrono::minutes(1);

class ChannelLedgers : public bundle::ServedLedgers {
 public:
  explicit ChannelLedgers(const std::shared_ptr<grpc::Channel>& channel)
      : ledgers_(v1::LedgerService::NewStub(channel)), audit_(v1::AuditService::NewStub(channel)) {}

  absl::StatusOr<v1::Ledger> Get(const std::string& name,
                                 const std::string& first_writer) override {
    v1::GetLedgerRequest request;
    request.set_name(name);
    request.set_first_writer(first_writer);
    return Call(*ledgers_, &v1::LedgerService::Stub::GetLedger, request);
  }
  absl::StatusOr<v1::ReadEntriesResponse> Read(const v1::ReadEntriesRequest& request) override {
    return Call(*ledgers_, &v1::LedgerService::Stub::ReadEntries, request);
  }
  absl::StatusOr<v1::GetCheckpointResponse> Ask(const v1::GetCheckpointRequest& request) override {
    return Call(*audit_, &v1::AuditService::Stub::GetCheckpoint, request);
  }
  absl::StatusOr<v1::GetInclusionProofResponse> Ask(
      const v1::GetInclusionProofRequest& request) override {
    return Call(*audit_, &v1::AuditService::Stub::GetInclusionProof, request);
  }
  absl::StatusOr<v1::GetTileResponse> Ask(const v1::GetTileRequest& request) override {
    return Call(*audit_, &v1::AuditService::Stub::GetTile, request);
  }
  absl::StatusOr<v1::ListRegistrationsResponse> Ask(
      const v1::ListRegistrationsRequest& request) override {
    return Call(*audit_, &v1::AuditService::Stub::ListRegistrations, request);
  }

 private:
  template <typename Stub, typename Request, typename Response>
  static absl::StatusOr<Response> Call(Stub& stub,
                                       grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                                       const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return connection::FromGrpc(status);
    return response;
  }

  const std::unique_ptr<v1::LedgerService::Stub> ledgers_;
  const std::unique_ptr<v1::AuditService::Stub> audit_;
};

}  // namespace

std::unique_ptr<bundle::ServedLedgers> LedgersOver(const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<ChannelLedgers>(channel);
}

absl::Status ExportLedger(const std::shared_ptr<grpc::Channel>& channel, const std::string& ledger,
                          const std::string& path) {
  const std::unique_ptr<bundle::ServedLedgers> ledgers = LedgersOver(channel);
  ASSIGN_OR_RETURN(bundle::NewFile file, bundle::NewFile::Make(path));
  return bundle::ExportLedger(ledger, *ledgers, file).status();
}

}  // namespace dpledger::client
