// The check of a kept receipt against servers of every kind: honest ones, ones that lost or rewrote
// a history, and ones that lie about it.
#include "client/internal/receipts.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "tests/merkle/reference_tree.h"

namespace dpledger::client::internal {
namespace {

using ::testing::HasSubstr;

constexpr char kLedger[] = "projects/default/ledgers/adult";

std::string Bytes(const merkle::Hash& hash) { return merkle::ToBytes(hash); }

// As a server says it: with a reason, which what is between has not.
grpc::Status Said(grpc::StatusCode code, const std::string& reason, const std::string& message) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("dpledger");
  google::rpc::Status status;
  status.set_code(static_cast<int>(code));
  status.add_details()->PackFrom(info);
  return {code, message, status.SerializeAsString()};
}

// A ledger whose entries are those of ReferenceTree: "leaf 0", "leaf 1", … and others after
// `common`. Tests change its answers.
class LedgerServer : public v1::LedgerService::Service, public v1::AuditService::Service {
 public:
  LedgerServer() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<v1::LedgerService::Service*>(this));
    builder.RegisterService(static_cast<v1::AuditService::Service*>(this));
    server_ = builder.BuildAndStart();
    channel =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  }
  ~LedgerServer() override { server_->Shutdown(); }

  grpc::Status GetLedger(grpc::ServerContext*, const v1::GetLedgerRequest* request,
                         v1::Ledger* ledger) override {
    EXPECT_EQ(request->name(), kLedger);
    if (size == 0) return Said(grpc::StatusCode::NOT_FOUND, "LEDGER_NOT_FOUND", "ledger: none");
    ledger->set_size(size);
    ledger->set_root_hash(Bytes(tree.Root(size)));
    if (before_get) before_get();
    return get_status;
  }
  grpc::Status ReadEntries(grpc::ServerContext*, const v1::ReadEntriesRequest* request,
                           v1::ReadEntriesResponse* page) override {
    reads += 1;
    for (uint64_t i = request->first_sequence(); i < readable && page->entries_size() < 3; ++i) {
      page->add_entries(absl::StrCat("leaf ", i));
    }
    return grpc::Status::OK;
  }
  grpc::Status GetCheckpoint(grpc::ServerContext*, const v1::GetCheckpointRequest* request,
                             v1::GetCheckpointResponse*) override {
    EXPECT_EQ(request->log(), kLedger);
    EXPECT_EQ(request->at_least(), size);
    return checkpoint_status;
  }
  grpc::Status GetConsistencyProof(grpc::ServerContext*,
                                   const v1::GetConsistencyProofRequest* request,
                                   v1::GetConsistencyProofResponse* response) override {
    for (const merkle::Hash& hash :
         tree.Subproof(request->old_size(), 0, request->new_size(), true)) {
      response->add_proof(Bytes(hash));
    }
    response->set_new_size(request->new_size());
    response->set_new_root(Bytes(tree.Root(request->new_size())));
    if (spoil_proof) spoil_proof(*response);
    return grpc::Status::OK;
  }

  std::shared_ptr<grpc::Channel> channel;
  merkle::ReferenceTree tree{100};
  uint64_t size = 12;
  uint64_t readable = 12;
  int reads = 0;
  grpc::Status get_status;
  grpc::Status checkpoint_status;
  std::function<void()> before_get;
  std::function<void(v1::GetConsistencyProofResponse&)> spoil_proof;

 private:
  std::unique_ptr<grpc::Server> server_;
};

class ReceiptCheckTest : public ::testing::Test {
 protected:
  absl::Status Run(uint64_t kept_size) {
    ReceiptCheck check(kLedger, absl::Seconds(60));
    return check.Run(server_.channel, {kept_size, merkle::ReferenceTree(100).Root(kept_size)});
  }
  static void ExpectBroken(const absl::Status& status, const std::string& how) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(ReasonOf(status).reason, "RECEIPT_BROKEN");
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("server: has lost or rewritten what it acknowledged of ",
                                       kLedger, ": ", how)));
  }

  LedgerServer server_;
};

TEST_F(ReceiptCheckTest, PassesAnHonestServer) {
  for (uint64_t kept = 0; kept <= 12; ++kept) EXPECT_EQ(Run(kept), absl::OkStatus()) << kept;
}

TEST_F(ReceiptCheckTest, FindsALostTail) {
  server_.size = 7;
  EXPECT_EQ(Run(7), absl::OkStatus());
  ExpectBroken(Run(8), "it holds 7 entries, and acknowledged 8");
  server_.size = 0;
  ExpectBroken(Run(8), "it does not hold the ledger, and acknowledged 8 entries");
}

TEST_F(ReceiptCheckTest, FindsAnotherHistory) {
  server_.tree = merkle::ReferenceTree(5);
  EXPECT_EQ(Run(5), absl::OkStatus());  // as far as that both are one
  ExpectBroken(Run(12), "its 12 entries have the root ");
  for (uint64_t kept = 6; kept < 12; ++kept) {
    ExpectBroken(Run(kept), absl::StrCat("no proof from ", kept, " to 12 entries: "));
  }
}

TEST_F(ReceiptCheckTest, BelievesNoProofThatDoesNotHold) {
  using Response = v1::GetConsistencyProofResponse;
  const std::vector<std::pair<std::function<void(Response&)>, std::string>> lies = {
      {[](Response& response) { response.mutable_proof(0)->at(0) ^= 1; }, "no proof from 7 to 12"},
      {[](Response& response) { response.mutable_proof()->RemoveLast(); }, "no proof from 7 to 12"},
      {[](Response& response) { response.clear_proof(); }, "no proof from 7 to 12"},
      {[](Response& response) { response.add_proof(std::string(32, 'x')); },
       "no proof from 7 to 12"},
      {[](Response& response) { response.set_proof(0, "short"); },
       "its proof has a hash that is not 32 bytes"},
      {[](Response& response) {
         for (int i = 0; i < 100000; ++i) response.add_proof(std::string(32, 'x'));
       },
       "its proof has more than 64 hashes"},
  };
  for (const auto& [lie, how] : lies) {
    server_.spoil_proof = lie;
    ExpectBroken(Run(7), how);
  }
  // A proof to another tree than the one that is shown to writers: its root is not looked at.
  server_.spoil_proof = [](Response& response) {
    merkle::ReferenceTree other(100);
    response.clear_proof();
    for (const merkle::Hash& hash : other.Subproof(7, 0, 12, true)) {
      response.add_proof(Bytes(hash));
    }
    response.set_new_root(Bytes(other.Root(12)));
  };
  EXPECT_EQ(Run(7), absl::OkStatus());
  server_.tree = merkle::ReferenceTree(9);
  ExpectBroken(Run(7), "no proof from 7 to 12 entries: new_root: ");
}

TEST_F(ReceiptCheckTest, PassesOnWhatTheServerSays) {
  server_.get_status = {grpc::StatusCode::UNAVAILABLE, "starting"};
  EXPECT_EQ(Run(7), absl::UnavailableError("starting"));
  server_.get_status = grpc::Status::OK;
  server_.checkpoint_status = Said(grpc::StatusCode::PERMISSION_DENIED, "DENIED", "not you");
  EXPECT_EQ(Run(7).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Run(7).message(), "not you");
}

TEST_F(ReceiptCheckTest, EndsWhenItIsCancelled) {
  // The server's thread may still be in them when this function has ended.
  struct Notifications {
    absl::Notification asked, cancelled;
  };
  const auto told = std::make_shared<Notifications>();
  server_.before_get = [told] {
    told->asked.Notify();
    told->cancelled.WaitForNotification();
  };
  ReceiptCheck check(kLedger, absl::Seconds(60));
  const AcknowledgedTree kept = {7, server_.tree.Root(7)};
  absl::Status ended;
  std::thread run([&] { ended = check.Run(server_.channel, kept); });
  const bool asked = told->asked.WaitForNotificationWithTimeout(absl::Seconds(30));
  check.Cancel();
  run.join();
  told->cancelled.Notify();
  ASSERT_TRUE(asked) << ended;
  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(check.Run(server_.channel, kept), absl::CancelledError("the delivery ends"));
}

TEST(AcknowledgedTree, IsTakenFromAWholeReceiptOnly) {
  v1::Receipt receipt;
  receipt.set_size(3);
  receipt.set_root_hash(std::string(32, 'r'));
  ASSERT_TRUE(TreeOf(receipt).ok());
  EXPECT_EQ(TreeOf(receipt)->size, 3u);
  EXPECT_EQ(Bytes(TreeOf(receipt)->root), std::string(32, 'r'));
  const absl::Status none =
      absl::DataLossError("server: acknowledges without a receipt of size and root");
  EXPECT_EQ(TreeOf({}).status(), none);
  receipt.set_root_hash(std::string(31, 'r'));
  EXPECT_EQ(TreeOf(receipt).status(), none);
  receipt.set_root_hash(std::string(32, 'r'));
  receipt.set_size(0);
  EXPECT_EQ(TreeOf(receipt).status(), none);
}

TEST(AcknowledgedTree, KeepsTheLarger) {
  merkle::ReferenceTree tree(100);
  merkle::ReferenceTree other(1);
  AcknowledgedTree kept;
  EXPECT_EQ(KeepLarger({5, tree.Root(5)}, kept), absl::OkStatus());
  EXPECT_EQ(KeepLarger({3, tree.Root(3)}, kept), absl::OkStatus());  // a request sent again
  EXPECT_EQ(KeepLarger({5, tree.Root(5)}, kept), absl::OkStatus());
  EXPECT_EQ(kept.size, 5u);
  const absl::Status split = KeepLarger({5, other.Root(5)}, kept);
  EXPECT_EQ(split.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(split.message()), HasSubstr("two different histories of 5 entries"));
  EXPECT_EQ(kept.root, tree.Root(5));
}

}  // namespace
}  // namespace dpledger::client::internal
