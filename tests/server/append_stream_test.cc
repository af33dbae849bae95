// The Append stream over gRPC: acknowledgements, credit, refusal in the middle, cancelling,
// draining.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using grpc::StatusCode;

// A client's side of one stream.
class Stream {
 public:
  explicit Stream(RunningServer& running) : stream_(running.ledgers().Append(&context_)) {}

  bool Send(const v1::AppendBatchRequest& batch) {
    v1::AppendRequest request;
    *request.mutable_batch() = batch;
    return stream_->Write(request);
  }
  bool SendRound(uint64_t round) {
    return Send(RoundBatch(kLedger, "w", absl::StrCat("r", round), round));
  }
  // Reads until `batches` are acknowledged, or the stream ends.
  bool AwaitAcknowledged(uint64_t batches) {
    while (last_.acknowledged_batches() < batches && stream_->Read(&last_))
      acknowledgements_.push_back(last_);
    return last_.acknowledged_batches() >= batches;
  }
  void EndInput() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Reads what is left and gives the stream's status.
  grpc::Status Finish() {
    while (stream_->Read(&last_)) acknowledgements_.push_back(last_);
    return stream_->Finish();
  }
  const std::vector<v1::AppendResponse>& acknowledgements() const { return acknowledgements_; }
  const v1::AppendResponse& last() const { return last_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AppendRequest, v1::AppendResponse>> stream_;
  v1::AppendResponse last_;
  std::vector<v1::AppendResponse> acknowledgements_;
};

TEST(AppendStream, AcknowledgesInOrderAndCumulatively) {
  RunningServer running;
  running.Create(kLedger);
  Stream stream(running);
  constexpr uint64_t kBatches = 100;
  for (uint64_t round = 1; round <= kBatches; ++round) ASSERT_TRUE(stream.SendRound(round));
  stream.EndInput();
  ASSERT_TRUE(IsOk(stream.Finish()));

  uint64_t before = 0;
  for (const v1::AppendResponse& acknowledgement : stream.acknowledgements()) {
    EXPECT_GT(acknowledgement.acknowledged_batches(), before);
    before = acknowledgement.acknowledged_batches();
    EXPECT_EQ(acknowledgement.request_id(), absl::StrCat("r", before));
    EXPECT_EQ(acknowledgement.receipt().first_sequence(), 2 * before - 1);
    EXPECT_EQ(acknowledgement.receipt().size(), 2 * before + 1);
    EXPECT_GT(acknowledgement.credit(), 0u);
    EXPECT_LE(acknowledgement.credit(), 32u);
  }
  EXPECT_EQ(before, kBatches);
  const v1::Ledger ledger = running.Get(kLedger);
  EXPECT_EQ(ledger.size(), 2 * kBatches + 1);
  EXPECT_EQ(ledger.root_hash(), stream.last().receipt().root_hash());
  EXPECT_EQ(stream.last().credit(), 32u);
}

// Acknowledgements and reads are on different threads: a batch once overtook the one before it.
TEST(AppendStream, LongStreamKeepsItsOrder) {
  RunningServer running;
  running.Create(kLedger);
  Stream stream(running);
  std::thread acknowledgements([&] { stream.AwaitAcknowledged(3000); });
  for (uint64_t round = 1; round <= 3000; ++round) stream.SendRound(round);
  stream.EndInput();
  acknowledgements.join();
  EXPECT_TRUE(IsOk(stream.Finish()));
  EXPECT_EQ(running.Get(kLedger).size(), 6001u);
}

TEST(AppendStream, RepeatedBatchGetsTheSameReceiptAndIsStoredOnce) {
  RunningServer running;
  running.Create(kLedger);
  const v1::Receipt first = running.Append(RoundBatch(kLedger, "w", "r1", 1));
  Stream stream(running);
  ASSERT_TRUE(stream.SendRound(1));
  ASSERT_TRUE(stream.AwaitAcknowledged(1));
  EXPECT_EQ(stream.last().receipt().SerializeAsString(), first.SerializeAsString());
  EXPECT_EQ(running.Get(kLedger).size(), 3u);
}

TEST(AppendStream, ReadsNoMoreThanItsWindow) {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.desk.append_window = 3;
  RunningServer running(options);
  running.Create(kLedger);
  running.clock().Hold();  // nothing becomes durable
  Stream stream(running);
  constexpr uint64_t kBatches = 50;
  for (uint64_t round = 1; round <= kBatches; ++round) ASSERT_TRUE(stream.SendRound(round));
  running.store().AwaitHandedOver(3);
  running.clock().Release();
  stream.EndInput();
  ASSERT_TRUE(IsOk(stream.Finish()));
  EXPECT_EQ(stream.last().acknowledged_batches(), kBatches);
  EXPECT_EQ(running.store().greatest_waiting(), 3u);
  for (const v1::AppendResponse& acknowledgement : stream.acknowledgements()) {
    EXPECT_LE(acknowledgement.credit(), 3u);
  }
}

// What the store refuses: those behind it are in its queue already, and must not be stored.
TEST(AppendStream, BatchThatTheStoreRefusesEndsItAfterTheAcknowledgementsBefore) {
  RunningServer running;
  running.Create(kLedger);
  running.clock().Hold();
  Stream stream(running);
  ASSERT_TRUE(stream.SendRound(1));
  ASSERT_TRUE(stream.SendRound(2));
  ASSERT_TRUE(stream.Send(RoundBatch(kLedger, "w", "back", 1)));
  ASSERT_TRUE(stream.SendRound(3));
  ASSERT_TRUE(stream.SendRound(4));
  running.store().AwaitHandedOver(5);
  running.clock().Release();
  EXPECT_TRUE(
      IsError(stream.Finish(), StatusCode::FAILED_PRECONDITION, "ROUND_GOES_BACK", "round"));
  EXPECT_EQ(stream.last().acknowledged_batches(), 2u);
  EXPECT_EQ(stream.last().request_id(), "r2");
  EXPECT_EQ(running.Get(kLedger).size(), 5u);
  // The refused one's id is free, and later ones can be sent again.
  EXPECT_EQ(running.Append(RoundBatch(kLedger, "w", "r3", 3)).first_sequence(), 5u);
}

TEST(AppendStream, BatchWithABadEventEndsItAfterTheAcknowledgementsBefore) {
  RunningServer running;
  running.Create(kLedger);
  Stream stream(running);
  ASSERT_TRUE(stream.SendRound(1));
  v1::AppendBatchRequest bad = RoundBatch(kLedger, "w", "bad", 2);
  bad.mutable_entries(1)->mutable_event()->mutable_sum_query()->mutable_query()->set_noise_stddev(
      -1);
  ASSERT_TRUE(stream.Send(bad));
  stream.SendRound(3);
  EXPECT_TRUE(IsFieldError(stream.Finish(), "entries[1].event.sum_query.query.noise_stddev",
                           "must be finite and > 0, got -1"));
  EXPECT_EQ(stream.last().acknowledged_batches(), 1u);
  EXPECT_EQ(running.Get(kLedger).size(), 3u);
}

// gRPC would take bytes that do not parse for the end of the input, and end the stream with OK.
TEST(AppendStream, MalformedMessageIsAnErrorNotAnEnd) {
  RunningServer running;
  running.Create(kLedger);
  Stream stream(running);
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  AddNote(batch, "\xff");
  ASSERT_TRUE(stream.Send(batch));
  EXPECT_TRUE(IsError(stream.Finish(), StatusCode::INVALID_ARGUMENT, "MALFORMED_MESSAGE",
                      "are not a dpledger.v1.AppendRequest"));
}

TEST(AppendStream, EndsAtOnceWithoutInput) {
  RunningServer running;
  Stream stream(running);
  stream.EndInput();
  EXPECT_TRUE(IsOk(stream.Finish()));
  EXPECT_TRUE(stream.acknowledgements().empty());
}

TEST(AppendStream, CancellingUndoesNothing) {
  RunningServer running;
  running.Create(kLedger);
  running.clock().Hold();
  {
    Stream stream(running);
    ASSERT_TRUE(stream.SendRound(1));
    running.store().AwaitHandedOver(1);
    stream.Cancel();
    EXPECT_EQ(stream.Finish().error_code(), StatusCode::CANCELLED);
  }
  running.clock().Release();
  // The answer is found by the request's id.
  EXPECT_EQ(running.Append(RoundBatch(kLedger, "w", "r1", 1)).first_sequence(), 1u);
  EXPECT_EQ(running.Get(kLedger).size(), 3u);
}

TEST(AppendStream, DrainingAcknowledgesWhatWasReadAndSaysUnavailable) {
  RunningServer running;
  running.Create(kLedger);
  Stream stream(running);
  ASSERT_TRUE(stream.SendRound(1));
  ASSERT_TRUE(stream.AwaitAcknowledged(1));
  running.server().Stop(absl::InfiniteFuture());  // returns because the stream ends by itself
  EXPECT_TRUE(IsError(stream.Finish(), StatusCode::UNAVAILABLE, "UNAVAILABLE",
                      "the server is shutting down"));
}

TEST(AppendStream, FourWritersOnOneLedgerAreDenseAndOrdered) {
  RunningServer running;
  running.Create(kLedger);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(std::make_unique<Stream>(running));
  constexpr uint64_t kRounds = 50;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (size_t i = 0; i < streams.size(); ++i) {
      const std::string writer = absl::StrCat("w", i);
      ASSERT_TRUE(
          streams[i]->Send(RoundBatch(kLedger, writer, absl::StrCat(writer, "-", round), round)));
    }
  }
  for (const auto& stream : streams) {
    stream->EndInput();
    EXPECT_TRUE(IsOk(stream->Finish()));
  }
  const v1::Ledger ledger = running.Get(kLedger);
  EXPECT_EQ(ledger.size(), 1 + 4 * 2 * kRounds);
  for (const v1::WriterStatus& writer : ledger.writers()) {
    EXPECT_EQ(writer.entry_count(), 2 * kRounds) << writer.writer();
    EXPECT_EQ(writer.last_round(), kRounds);
  }
}

}  // namespace
}  // namespace dpledger::server
