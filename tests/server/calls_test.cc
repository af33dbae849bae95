// What the calls do over gRPC when all is well: idempotent retries, paging, health, reflection,
// draining, error details.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/grpc_door/status.h"
#include "tests/server/any_call.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using grpc::StatusCode;
using Ledgers = v1::LedgerService::Stub;
using Health = grpc::health::v1::HealthCheckResponse;

TEST(Calls, RepeatedRequestsGetTheSameAnswers) {
  RunningServer running;
  const v1::Ledger created = running.Create(kLedger);
  EXPECT_EQ(running.Create(kLedger).SerializeAsString(), created.SerializeAsString());
  const v1::Receipt first = running.Append(RoundBatch(kLedger, "w", "r", 1));
  EXPECT_EQ(running.Append(RoundBatch(kLedger, "w", "r", 1)).SerializeAsString(),
            first.SerializeAsString());
  EXPECT_EQ(running.Get(kLedger).size(), 3u);
}

TEST(Calls, ReadEntriesPagesThroughTheBytesThatWereHashed) {
  RunningServer running;
  running.Create(kLedger);
  for (uint64_t round = 1; round <= 7; ++round) {
    running.Append(RoundBatch(kLedger, "w", absl::StrCat("r", round), round));
  }
  const v1::Ledger ledger = running.Get(kLedger);
  merkle::CompactTree tree;
  v1::ReadEntriesRequest request;
  request.set_ledger(kLedger);
  request.set_page_size(4);
  int pages = 0;
  do {
    v1::ReadEntriesResponse response;
    ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::ReadEntries, request, &response)));
    for (const std::string& bytes : response.entries()) {
      v1::LedgerEntry entry;
      ASSERT_TRUE(entry.ParseFromString(bytes));
      EXPECT_EQ(entry.sequence(), tree.size());
      tree.Append(merkle::LeafHash(bytes));
    }
    request.set_first_sequence(response.next_sequence());
    ++pages;
  } while (request.first_sequence() != 0);
  EXPECT_EQ(pages, 4);
  EXPECT_EQ(tree.size(), 15u);
  EXPECT_EQ(merkle::ToBytes(tree.Root()), ledger.root_hash());
}

TEST(Calls, ReadEntriesEndsAtAboutAMebibyte) {
  RunningServer running;
  running.Create(kLedger);
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  for (int i = 0; i < 600; ++i) AddNote(batch, std::string(4000, 'x'));
  running.Append(batch);
  v1::ReadEntriesRequest request;
  request.set_ledger(kLedger);
  v1::ReadEntriesResponse response;
  ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::ReadEntries, request, &response)));
  EXPECT_GT(response.ByteSizeLong(), size_t{1} << 20);
  EXPECT_LT(response.ByteSizeLong(), (size_t{1} << 20) + 10'000);
  EXPECT_EQ(response.next_sequence(), static_cast<uint64_t>(response.entries_size()));
}

TEST(Calls, ListLedgersPagesByNameInOneProjectOrAll) {
  RunningServer running;
  for (const std::string name : {"projects/p/ledgers/c", "projects/p/ledgers/a",
                                 "projects/p/ledgers/b", "projects/q/ledgers/x"}) {
    running.Create(name);
  }
  const auto list = [&](const std::string& parent, uint32_t page_size) {
    std::vector<std::string> names;
    v1::ListLedgersRequest request;
    request.set_parent(parent);
    request.set_page_size(page_size);
    do {
      v1::ListLedgersResponse response;
      EXPECT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::ListLedgers, request, &response)));
      EXPECT_LE(static_cast<uint32_t>(response.ledgers_size()), page_size);
      for (const v1::Ledger& ledger : response.ledgers()) names.push_back(ledger.name());
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return names;
  };
  const std::vector<std::string> of_p = {"projects/p/ledgers/a", "projects/p/ledgers/b",
                                         "projects/p/ledgers/c"};
  EXPECT_EQ(list("projects/p", 2), of_p);
  EXPECT_EQ(list("projects/p", 3), of_p);
  EXPECT_EQ(list("projects/nobody", 3), std::vector<std::string>());
  std::vector<std::string> of_all = of_p;
  of_all.push_back("projects/q/ledgers/x");
  EXPECT_EQ(list("projects/-", 3), of_all);
}

TEST(Calls, SealedLedgerSaysSo) {
  RunningServer running;
  running.Create(kLedger);
  running.Append(RoundBatch(kLedger, "w", "r", 1));
  v1::SealLedgerRequest request = SealRequest(kLedger);
  request.add_missing_writers("w");
  v1::Ledger sealed;
  ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::SealLedger, request, &sealed)));
  EXPECT_EQ(sealed.state(), v1::SEALED);
  EXPECT_EQ(running.Get(kLedger).size(), 4u);
}

// A ledger that 100,000 writers wrote to is shown by parts.
TEST(Calls, WritersComeByPages) {
  RunningServer running;
  running.Create(kLedger);
  for (int i = 0; i < 1005; ++i) {
    const std::string name = absl::StrFormat("w%04d", i);
    running.Append(RoundBatch(kLedger, name, name, 1));
  }
  const v1::Ledger first = running.Get(kLedger);
  EXPECT_EQ(first.writer_count(), 1005u);
  EXPECT_EQ(first.open_writer_count(), 1005u);
  ASSERT_EQ(first.writers_size(), 1000);
  EXPECT_EQ(first.writers(999).writer(), "w0999");
  v1::GetLedgerRequest request;
  request.set_name(kLedger);
  request.set_first_writer("w0999");
  v1::Ledger rest;
  ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::GetLedger, request, &rest)));
  ASSERT_EQ(rest.writers_size(), 6);
  EXPECT_EQ(rest.writers(0).writer(), "w0999");
  request.set_first_writer("no token");
  EXPECT_TRUE(IsFieldError(Call(running.ledgers(), &Ledgers::GetLedger, request), "first_writer",
                           "must be empty or 1 to 64 bytes"));
  v1::ListLedgersRequest list;
  list.set_parent("projects/p");
  v1::ListLedgersResponse listed;
  ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::ListLedgers, list, &listed)));
  EXPECT_EQ(listed.ledgers(0).writers_size(), 10);
  EXPECT_EQ(listed.ledgers(0).writer_count(), 1005u);
}

// ---- Health ----

TEST(Health, FollowsTheStore) {
  RunningServer running;
  const std::string services[] = {"", "dpledger.v1.LedgerService", "dpledger.v1.AccountingService",
                                  "dpledger.v1.AuditService"};
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  for (const std::string& service : services)
    EXPECT_EQ(running.Health(service), Health::SERVING) << service;
  running.store().ill = true;
  EXPECT_TRUE(IsError(running.server().CheckHealth(), absl::StatusCode::kUnavailable, "",
                      "the disk reported an error; nothing more is acknowledged"));
  for (const std::string& service : services)
    EXPECT_EQ(running.Health(service), Health::NOT_SERVING) << service;
}

// Another start would take the other history: that is not for a supervisor, nor for a probe.
TEST(Health, AServerWhoseDatabaseWentBackStaysAndIsNotReady) {
  RunningServer running;
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  running.store().went_back = true;
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::NOT_SERVING);
  EXPECT_EQ(running.Health("dpledger.v1.LedgerService"), Health::SERVING);
}

TEST(Health, SaysThatTheServerIsNotReadyWhileItsClockIsWrong) {
  TestClock clock;
  ServerOptions options;
  options.signing.every = absl::Milliseconds(5);
  options.signing.clock = &clock;
  RunningServer running(options);
  const auto await = [&](Health::ServingStatus wanted) {
    while (running.Health("") != wanted) {
      EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(running.Health("dpledger.v1.AuditService"), wanted);
    EXPECT_EQ(running.Health("dpledger.v1.LedgerService"), Health::SERVING);
  };
  await(Health::SERVING);
  clock.Jump(absl::Hours(400 * 24));
  await(Health::NOT_SERVING);
  clock.Jump(-absl::Hours(400 * 24));
  await(Health::SERVING);
}

TEST(Health, SaysThatTheServerIsNotReadyWhileItAcceptsNothing) {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.dial_every = absl::ZeroDuration();
  RunningServer running(options);
  EXPECT_EQ(running.Health(""), Health::SERVING);  // on a connection that stays
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const int next = dup(0);
  close(next);
  const rlimit none_left = {static_cast<rlim_t>(next), old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::SERVING);  // once is no proof
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::NOT_SERVING);
  EXPECT_EQ(running.Health("dpledger.v1.LedgerService"), Health::SERVING);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::SERVING);
}

TEST(Health, SaysThatTheServerIsNotReadyOnceALedgerIsDamaged) {
  RunningServer running(RunningServer::SigningOnDemand());
  running.Create(kLedger);
  v1::GetCheckpointRequest signs;
  signs.set_log(kLedger);
  signs.set_at_least(1);
  ASSERT_TRUE(IsOk(Call(running.audit(), &v1::AuditService::Stub::GetCheckpoint, signs)));
  v1::ReadEntriesRequest read;
  read.set_ledger(kLedger);
  ASSERT_TRUE(IsOk(Call(running.ledgers(), &Ledgers::ReadEntries, read)));
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::SERVING);
  running.store().lies = true;
  EXPECT_EQ(Call(running.ledgers(), &Ledgers::ReadEntries, read).error_code(),
            StatusCode::DATA_LOSS);
  running.store().lies = false;
  EXPECT_EQ(running.server().CheckHealth(), absl::OkStatus());
  EXPECT_EQ(running.Health(""), Health::NOT_SERVING);
  EXPECT_EQ(running.Health("dpledger.v1.LedgerService"), Health::SERVING);
  EXPECT_EQ(running.server().desk().damage().count(), 1u);
}

TEST(Health, UnknownServiceIsNotFound) {
  RunningServer running;
  const auto health = grpc::health::v1::Health::NewStub(running.channel());
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("nobody");
  EXPECT_EQ(Call(*health, &grpc::health::v1::Health::Stub::Check, request).error_code(),
            StatusCode::NOT_FOUND);
}

TEST(Health, WatchTellsEachChange) {
  RunningServer running;
  const auto health = grpc::health::v1::Health::NewStub(running.channel());
  grpc::ClientContext contexts[3];
  std::unique_ptr<grpc::ClientReader<Health>> watches[3];
  const std::string services[] = {"", "dpledger.v1.LedgerService", "nobody"};
  const Health::ServingStatus first[] = {Health::SERVING, Health::SERVING, Health::SERVICE_UNKNOWN};
  Health response;
  for (int i = 0; i < 3; ++i) {
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(services[i]);
    contexts[i].set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    watches[i] = health->Watch(&contexts[i], request);
    ASSERT_TRUE(watches[i]->Read(&response));
    EXPECT_EQ(response.status(), first[i]) << services[i];
  }
  running.store().ill = true;
  EXPECT_FALSE(running.server().CheckHealth().ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(watches[i]->Read(&response));
    EXPECT_EQ(response.status(), Health::NOT_SERVING) << services[i];
  }
  for (int i = 0; i < 3; ++i) {
    contexts[i].TryCancel();
    EXPECT_FALSE(watches[i]->Read(&response));
    EXPECT_EQ(watches[i]->Finish().error_code(), StatusCode::CANCELLED);
  }
}

// ---- Reflection ----

class Reflection : public ::testing::Test {
 protected:
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

  Response Ask(const Request& request) {
    Response response;
    EXPECT_TRUE(stream_->Write(request));
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }

  RunningServer running_;
  const std::unique_ptr<grpc::reflection::v1alpha::ServerReflection::Stub> stub_ =
      grpc::reflection::v1alpha::ServerReflection::NewStub(running_.channel());
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_ =
      stub_->ServerReflectionInfo(&context_);
};

TEST_F(Reflection, ListsTheServices) {
  Request request;
  request.set_list_services("*");
  const Response response = Ask(request);
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service())
    names.push_back(service.name());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre(
                         "dpledger.v1.LedgerService", "dpledger.v1.AccountingService",
                         "dpledger.v1.AuditService", "dpledger.v1.AdminService",
                         "dpledger.v1.RecomputeService", "dpledger.v1.StatementService",
                         "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"));
}

// What grpcurl does to make a call: the files of a service must build a pool of their own.
TEST_F(Reflection, GivesTheFilesThatDescribeAService) {
  Request request;
  request.set_file_containing_symbol("dpledger.v1.LedgerService");
  const Response response = Ask(request);
  google::protobuf::SimpleDescriptorDatabase files;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(bytes));
    ASSERT_TRUE(files.Add(file)) << file.name() << " is there twice";
  }
  google::protobuf::DescriptorPool pool(&files);
  const auto* const method = pool.FindMethodByName("dpledger.v1.LedgerService.AppendBatch");
  ASSERT_NE(method, nullptr);
  EXPECT_NE(method->input_type()->FindFieldByName("expected_sequence"), nullptr);
}

TEST_F(Reflection, GoesOnAfterARequestThatItCannotMeet) {
  Request request;
  request.set_file_by_filename("no/such.proto");
  EXPECT_EQ(Ask(request).error_response().error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Ask(Request()).error_response().error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_file_by_filename("dpledger/v1/event.proto");
  EXPECT_EQ(Ask(request).original_request().file_by_filename(), "dpledger/v1/event.proto");
  stream_->WritesDone();
  EXPECT_TRUE(IsOk(stream_->Finish()));
}

// ---- How many messages ----

TEST(Cardinality, ACallWithoutAMessageIsRefused) {
  RunningServer running;
  for (const std::string path :
       {"/dpledger.v1.LedgerService/AppendBatch", "/dpledger.v1.LedgerService/GetLedger",
        "/grpc.health.v1.Health/Watch"}) {
    EXPECT_TRUE(IsError(CallAny(running.channel(), path, {}).status, StatusCode::UNIMPLEMENTED,
                        "UNIMPLEMENTED", "the call needs a message"))
        << path;
  }
}

TEST(Cardinality, ASecondMessageStoresNothing) {
  RunningServer running;
  running.Create(kLedger);
  const std::string path = "/dpledger.v1.LedgerService/AppendBatch";
  const std::string batch = RoundBatch(kLedger, "w", "r1", 1).SerializeAsString();
  EXPECT_TRUE(IsError(CallAny(running.channel(), path, {batch, batch}).status,
                      StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED",
                      "the call takes one message, got a second one"));
  EXPECT_EQ(running.Get(kLedger).size(), 1u);
  const AnyAnswer one = CallAny(running.channel(), path, {batch});
  EXPECT_TRUE(IsOk(one.status));
  EXPECT_EQ(one.responses, 1);
}

TEST(Cardinality, UnknownMethodsAreUnimplemented) {
  RunningServer running;
  for (const std::string path :
       {"/dpledger.v1.LedgerService/DropLedger", "/dpledger.v2.LedgerService/GetLedger", "/"}) {
    EXPECT_TRUE(IsError(CallAny(running.channel(), path, {""}).status, StatusCode::UNIMPLEMENTED,
                        "UNIMPLEMENTED", "no such method"));
  }
}

// ---- Draining ----

TEST(Drain, AnswersTheCallThatIsUnderWay) {
  RunningServer running;
  running.Create(kLedger);
  running.clock().Hold();
  grpc::Status status;
  absl::Notification answered;
  std::thread caller([&] {
    status = Call(running.ledgers(), &Ledgers::AppendBatch, RoundBatch(kLedger, "w", "r", 1));
    answered.Notify();
  });
  running.clock().AwaitAsked();  // the batch is with the commit thread
  std::thread stopper([&] { running.server().Stop(absl::InfiniteFuture()); });
  // Draining has begun when health says so, or when the listener is gone already.
  const auto health = grpc::health::v1::Health::NewStub(running.channel());
  while (true) {
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status asked = Call(*health, &grpc::health::v1::Health::Stub::Check, {}, &response);
    if (!asked.ok() || response.status() == Health::NOT_SERVING) break;
  }
  EXPECT_FALSE(answered.HasBeenNotified());
  running.clock().Release();
  stopper.join();
  caller.join();
  EXPECT_TRUE(IsOk(status));
}

TEST(Drain, DoesNotWaitForThoseWhoOnlyWatch) {
  RunningServer running;
  const auto health = grpc::health::v1::Health::NewStub(running.channel());
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), Health::SERVING);
  running.server().Stop(absl::InfiniteFuture());
  while (watch->Read(&response)) EXPECT_EQ(response.status(), Health::NOT_SERVING);
  EXPECT_FALSE(watch->Finish().ok());
}

// ---- Error details ----

TEST(ErrorDetails, LongTextsAreCutBetweenCharacters) {
  std::string text(5000, 'x');
  for (size_t i = 1000; i + 1 < text.size(); i += 2) {
    text[i] = '\xc3';
    text[i + 1] = '\xa4';
  }
  const grpc::Status status =
      ToGrpc(WithReason(absl::InternalError(text), {"WHY", {{"key", std::string(1000, 'y')}}}));
  EXPECT_TRUE(IsError(status, StatusCode::INTERNAL, "WHY", "xxx"));
  EXPECT_LE(status.error_message().size(), 1024u);
  EXPECT_TRUE(absl::EndsWith(status.error_message(), "\xc3\xa4..."));
  EXPECT_EQ(ErrorInfoOf(status).metadata().at("key").size(), 256u);
}

TEST(ErrorDetails, ReasonIsTheCodesNameIfThereIsNone) {
  EXPECT_TRUE(
      IsError(ToGrpc(absl::DataLossError("gone")), StatusCode::DATA_LOSS, "DATA_LOSS", "gone"));
}

}  // namespace
}  // namespace dpledger::server
