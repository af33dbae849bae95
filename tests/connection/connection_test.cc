// Names and errors as the server and its clients share them.
#include "connection/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "connection/shared_connections.h"
#include "events/names.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "tests/cli/process.h"

namespace dpledger::connection {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(FullLedgerName, PutsAShortNameInTheDefaultProject) {
  EXPECT_EQ(*events::FullLedgerName("adult"), "projects/default/ledgers/adult");
  EXPECT_EQ(*events::FullLedgerName("projects/p-1/ledgers/a.b_c"), "projects/p-1/ledgers/a.b_c");
  EXPECT_EQ(*events::FullLedgerName(std::string(63, 'x')),
            "projects/default/ledgers/" + std::string(63, 'x'));
}

TEST(FullLedgerName, RefusesWhatTheServerWould) {
  for (const std::string& name :
       {std::string(), std::string("Adult"), std::string("-a"), std::string("a."),
        std::string("a b"), std::string(64, 'x'), std::string("projects/p/ledgers/"),
        std::string("projects/p/ledger/x"), std::string("a/b"),
        std::string("projects/p/ledgers/x/y")}) {
    const absl::Status status = events::FullLedgerName(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("got \"" + name + "\""));
    EXPECT_THAT(ReasonOf(status).metadata, ElementsAre(Pair("field", "ledger")));
  }
}

TEST(FromGrpc, KeepsTheServersErrorInfo) {
  google::rpc::ErrorInfo info;
  info.set_reason("SEQUENCE_MISMATCH");
  info.set_domain("dpledger");
  (*info.mutable_metadata())["current_sequence"] = "17";
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  const absl::Status status =
      FromGrpc({grpc::StatusCode::ABORTED, "expected_sequence: ...", details.SerializeAsString()});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "expected_sequence: ...");
  EXPECT_EQ(ReasonOf(status).reason, "SEQUENCE_MISMATCH");
  EXPECT_THAT(ReasonOf(status).metadata, ElementsAre(Pair("current_sequence", "17")));
}

TEST(FromGrpc, TakesErrorsWithoutDetails) {
  EXPECT_EQ(FromGrpc(grpc::Status::OK), absl::OkStatus());
  EXPECT_EQ(FromGrpc({grpc::StatusCode::UNAVAILABLE, "gone"}), absl::UnavailableError("gone"));
  const absl::Status busy = FromGrpc({grpc::StatusCode::RESOURCE_EXHAUSTED, "odd", "\x01\x02"});
  EXPECT_EQ(busy.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ReasonOf(busy).reason, IsEmpty());
}

// gRPC's words for a proxy's 404 and 403, and for a connection that a proxy ends: a run that took
// them for the server's would end for good.
TEST(FromGrpc, TakesNoProxysWordForTheServers) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::PERMISSION_DENIED,
        grpc::StatusCode::INTERNAL, grpc::StatusCode::UNKNOWN}) {
    const absl::Status status = FromGrpc({code, "Received http2 header with status: 404"});
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("what is between"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("status: 404"));
  }
}

// ---- Shared connections ----

TEST(Connect, NamesAKeyThatIsEncrypted) {
  const dpledger::testing::TemporaryFolder folder;
  ServerAccess access("https://ledger.example:443");
  access.certificate = folder.Write("own.pem", "-----BEGIN CERTIFICATE-----\n");
  for (const char* encrypted : {"-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
                                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"}) {
    access.key = folder.Write("own.key", encrypted);
    const absl::Status refused = Connect(access).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("cert_key: must not be encrypted"));
  }
  access.key = folder.Write("own.key", "-----BEGIN PRIVATE KEY-----\n");  // read at the handshake
  EXPECT_TRUE(Connect(access).ok());
}

class Sharing : public ::testing::Test {
 protected:
  std::shared_ptr<grpc::Channel> Get(const std::string& key) {
    return shared_.Get(
        key, [] { return grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()); });
  }
  SharedConnections shared_{2};
};

TEST_F(Sharing, AFewUsersHaveOneChannel) {
  const auto first = Get("a");
  auto second = Get("a");
  EXPECT_EQ(first, second);
  const auto third = Get("a");
  EXPECT_NE(first, third);
  EXPECT_NE(Get("b"), third);
  EXPECT_EQ(shared_.channels(), 2) << "b's user has left";
  second.reset();
  EXPECT_EQ(Get("a"), first) << "there is room again";
}

TEST_F(Sharing, ACopyIsTheSameUser) {
  auto first = Get("a");
  const auto copy = first;
  first.reset();
  const auto second = Get("a");
  EXPECT_EQ(copy, second);
  EXPECT_NE(Get("a"), copy);
}

TEST_F(Sharing, OutlivesItsTable) {
  std::shared_ptr<grpc::Channel> channel;
  {
    SharedConnections gone(2);
    channel = gone.Get(
        "a", [] { return grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()); });
  }
  EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_IDLE);
}

}  // namespace
}  // namespace dpledger::connection
