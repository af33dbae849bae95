// A server that shows something else than what it was asked for.
#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/server_calls.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/served_ledger.h"
#include "merkle/tlog_proof.h"
#include "tests/ledger_store/bundle_sample.h"

namespace dpledger::cli {
namespace {

using bundle::SampleLedger;
using ::testing::HasSubstr;

// Answers every question with what is signed of the sample.
class OneLedgerServer : public v1::LedgerService::Service, public v1::AuditService::Service {
 public:
  explicit OneLedgerServer(const bundle::Evidence& evidence) : evidence_(evidence) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::LedgerService::Service*>(this));
    builder.RegisterService(static_cast<v1::AuditService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  grpc::Status GetLedger(grpc::ServerContext*, const v1::GetLedgerRequest* request,
                         v1::Ledger* ledger) override {
    ledger->set_name(request->name());
    ledger->set_size(1);
    return grpc::Status::OK;
  }
  grpc::Status GetCheckpoint(grpc::ServerContext*, const v1::GetCheckpointRequest*,
                             v1::GetCheckpointResponse* response) override {
    response->set_note(evidence_.checkpoint);
    response->add_verifier_keys(evidence_.keys.substr(0, evidence_.keys.find('\n')));
    v1::RegistryEvidence& registry = *response->mutable_registry();
    registry.set_note(evidence_.registry_checkpoint);
    registry.set_entry(evidence_.registered);
    const auto proof = merkle::ParseTlogProof(evidence_.registered_proof);
    registry.set_index(proof->index);
    for (const merkle::Hash& hash : proof->hashes) registry.add_proof(merkle::ToBytes(hash));
    return grpc::Status::OK;
  }

  const bundle::Evidence evidence_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ServerLedger, MustBeTheOneThatWasAskedFor) {
  SampleLedger ledger;
  const OneLedgerServer hostile(EvidenceOf(bundle::RegistryOf(ledger)));
  ServerCalls server(hostile.address());
  const absl::Status other = bundle::ReadEvidence("projects/default/ledgers/dear", server).status();
  EXPECT_EQ(bundle::ClassOf(other), "checkpoint");
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("registry.example/projects/default/ledgers/dear"));
  // The one that it shows is only short of tiles.
  const absl::Status same =
      bundle::ReadEvidence("projects/default/ledgers/sample", server).status();
  EXPECT_EQ(bundle::ClassOf(same), "");
  EXPECT_EQ(same.code(), absl::StatusCode::kUnavailable) << same;
}

}  // namespace
}  // namespace dpledger::cli
