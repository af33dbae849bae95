#include "client/export.h"

#include "absl/time/clock.h"
#include "base/status.h"
#include "connection/connection.h"
#include "ledger_store/bundle/served_ledger.h"

namespace dpledger::client {

std::function<absl::Status(const google::protobuf::Message&, google::protobuf::Message&)> CallsOver(
    const std::shared_ptr<grpc::Channel>& channel) {
  return [channel](const google::protobuf::Message& request, google::protobuf::Message& answer) {
    return connection::Call(channel, request, answer, absl::Now() + absl::Minutes(1));
  };
}

absl::Status ExportLedger(const std::shared_ptr<grpc::Channel>& channel, const std::string& ledger,
                          const std::string& path) {
  ASSIGN_OR_RETURN(bundle::NewFile file, bundle::NewFile::Make(path));
  return bundle::ExportLedger(ledger, CallsOver(channel), file).status();
}

}  // namespace dpledger::client
