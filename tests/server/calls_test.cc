// What the calls do over gRPC when all is well: idempotent retries, paging, health, reflection,
// draining, error details.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/grpc_door/status.h"
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

TEST(Health, UnknownServiceIsNotFound) {
  RunningServer running;
  const auto health = grpc::health::v1::Health::NewStub(running.channel());
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("nobody");
  EXPECT_EQ(Call(*health, &grpc::health::v1::Health::Stub::Check, request).error_code(),
            StatusCode::NOT_FOUND);
}

// ---- Reflection ----

TEST(Reflection, ListsTheServices) {
  RunningServer running;
  grpc::GenericStub stub(running.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  const grpc::Slice list_services(std::string("\x3a\x01*"));  // field 7: "*"
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  ASSERT_TRUE(next());
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  ASSERT_TRUE(next());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(response.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  for (const std::string service :
       {"dpledger.v1.LedgerService", "dpledger.v1.AccountingService", "grpc.health.v1.Health"}) {
    EXPECT_TRUE(absl::StrContains(bytes, service)) << service;
  }
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
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
