#include "client/export.h"

#include "absl/time/clock.h"
#include "base/status.h"
#include "client/internal/call.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/bundle/served_ledger.h"

namespace dpledger::client {
namespace {

template <typename Stub, typename Method, typename Request>
auto Call(Stub& stub, Method method, const Request& request) {
  return internal::Call(stub, method, request, absl::Now() + absl::Minutes(1));
}

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
