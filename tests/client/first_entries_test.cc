// Recorders of one writer's name in any order of events, against a real server: an opening appends
// OPENED late, with what is recorded first, and no release may be lost or counted as part of
// another's epoch by that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/recorder.h"
#include "client/spool_import.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/client/recorded_rounds.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ReadLedger;

constexpr int kRoundsPerEpoch = 20;

// One round of epoch 0.
v1::SamplingScheme OneBatch() { return BatchOf(0, kRoundsPerEpoch); }

absl::Status ReleaseBatch(PrivacyRecorder& recorder) { return Release(recorder, OneBatch()); }

class FirstEntries : public AskedServer {
 protected:
  RecorderOptions Options(const std::string& ledger, v1::SpoolPolicy policy,
                          const std::string& spool) {
    RecorderOptions options = OptionsFor(server_.address(), folder_.File(spool));
    options.ledger = ledger;
    options.declaration.set_adjacency(v1::ZERO_OUT);
    options.policy = policy;
    return options;
  }

  double UpperOf(const std::string& ledger) { return Epsilon(ledger).epsilon().upper(); }
};

// One of two places that a writer's job was started in: recorders come and go, the spool stays
// until it is lost.
class Place {
 public:
  explicit Place(RecorderOptions options) : options_(std::move(options)) {}

  void Open() {
    recorder_.reset();
    auto opened = PrivacyRecorder::Open(options_);
    if (opened.ok()) recorder_ = *std::move(opened);
  }
  void LoseSpool() {
    recorder_.reset();
    options_.spool_folder += "+";
  }
  // As a process that dies before it hears of what it recorded.
  void Die() {
    if (recorder_ != nullptr) (void)recorder_->RecordRound(OneBatch(), {Query("g", 1)});
    recorder_.reset();
  }
  void Record() {
    if (recorder_ == nullptr || !ReleaseBatch(*recorder_).ok()) return;
    if (recorder_->incarnation() != released_) ++draws_;
    released_ = recorder_->incarnation();
  }
  void Close() {
    if (recorder_ != nullptr) (void)recorder_->Close();
  }
  void Leave() { recorder_.reset(); }
  // How many draws' sums have left: rounds of one opening are batches of one partition.
  uint64_t draws() const { return draws_; }
  const std::string& spool_folder() const { return options_.spool_folder; }

 private:
  RecorderOptions options_;
  std::unique_ptr<PrivacyRecorder> recorder_;
  std::string released_;
  uint64_t draws_ = 0;
};

void Take(Place& place, uint64_t step) {
  if (step < 3) return place.Open();
  if (step < 8) return place.Record();
  if (step < 9) return place.Leave();
  return place.Die();
}

TEST_F(FirstEntries, EachDrawThatWasReleasedCounts) {
  std::mt19937_64 random(20261128);
  std::array<double, 20> truth;
  for (size_t draws = 0; draws < truth.size(); ++draws) truth[draws] = EpsilonOf(draws);
  uint64_t several = 0;
  for (int run = 0; run < 60; ++run) {
    const std::string ledger = absl::StrCat("projects/default/ledgers/run-", run);
    const RecorderOptions a = Options(ledger, v1::FAIL_CLOSED, absl::StrCat("a", run));
    std::array<Place, 2> places = {Place(a),
                                   Place(Options(ledger, v1::FAIL_CLOSED, absl::StrCat("b", run)))};
    std::string steps;
    places[0].Open();
    for (int i = 0; i < 16; ++i) {
      const uint64_t which = random() % 2, step = random() % 10;
      absl::StrAppend(&steps, which, ":", step, " ");
      Take(places[which], step);
      if (random() % 16 == 0) places[which].LoseSpool();
    }
    places[random() % 2].Close();
    const uint64_t draws = places[0].draws() + places[1].draws();
    several += draws > 1;
    ASSERT_GE(UpperOf(ledger), truth[draws] * (1 - 1e-6)) << run << ": " << steps;
  }
  EXPECT_GT(several, 15u) << "or little was tried";
}

// Under SPOOL a sum leaves before the server has its event, which may refuse it: it counts once the
// spools have come in.
TEST_F(FirstEntries, EachDrawThatWasReleasedUnderSpoolCountsOnceSpoolsAreImported) {
  std::mt19937_64 random(20261129);
  std::array<double, 20> truth;
  for (size_t draws = 0; draws < truth.size(); ++draws) truth[draws] = EpsilonOf(draws);
  uint64_t several = 0;
  for (int run = 0; run < 30; ++run) {
    const std::string ledger = absl::StrCat("projects/default/ledgers/spooled-", run);
    std::array<Place, 2> places = {Place(Options(ledger, v1::SPOOL, absl::StrCat("a", run))),
                                   Place(Options(ledger, v1::SPOOL, absl::StrCat("b", run)))};
    places[0].Open();
    for (int i = 0; i < 16; ++i) Take(places[random() % 2], random() % 10);
    for (Place& place : places) {
      place.Leave();
      const auto spools = SpoolFiles(place.spool_folder());
      if (!spools.ok()) continue;
      for (const std::string& spool : *spools) {
        const auto imported = ImportSpool(spool, *ledgers_);
        ASSERT_TRUE(imported.ok()) << imported.status();
      }
    }
    const uint64_t draws = places[0].draws() + places[1].draws();
    several += draws > 1;
    ASSERT_GE(UpperOf(ledger), truth[draws] * (1 - 1e-6)) << run;
  }
  EXPECT_GT(several, 5u) << "or little was tried";
}

// Each of them fenced off the trainer when it opened.
TEST_F(FirstEntries, ThoseThatAskDoNotDisturbTheTrainerOfTheirName) {
  const auto trainer = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "trainer"));
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(ReleaseBatch(*trainer), absl::OkStatus());
    const auto reader = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "reader"));
    EXPECT_EQ(reader->AwaitDelivered(), absl::OkStatus());
  }
  ASSERT_EQ(trainer->Close(), absl::OkStatus());
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), 1u + 1 + 3 * 2 + 1);
}

// The numbers and counts that it chose when it opened are of a ledger that has gone on since.
TEST_F(FirstEntries, AnOldOpeningRecordsAfterMuchHasHappened) {
  const auto old = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "old"));
  const auto newer = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "newer"));
  for (int round = 0; round < 5; ++round) ASSERT_EQ(ReleaseBatch(*newer), absl::OkStatus());
  // The one that began to record last goes on.
  ASSERT_EQ(ReleaseBatch(*old), absl::OkStatus());
  EXPECT_EQ(ReasonOf(ReleaseBatch(*newer)).reason, "FENCED_OFF");
  EXPECT_GE(UpperOf(kLedger), EpsilonOf(2) * (1 - 1e-6));
  EXPECT_EQ(ReasonOf(newer->Close()).reason, "FENCED_OFF");
  EXPECT_EQ(old->Close(), absl::OkStatus());
}

// What is refused before it is recorded is no first entry.
TEST_F(FirstEntries, ARefusedRoundAppendsNothing) {
  const auto recorder = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "spool"));
  v1::SumQuery query = Query("g", 1);
  query.set_noise_stddev(-1);
  EXPECT_FALSE(recorder->RecordRound(OneBatch(), {query}).ok());
  EXPECT_EQ(recorder->drain_status().undelivered_batches, 0u);
  ASSERT_EQ(recorder->Close(), absl::OkStatus());
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), 1u);
}

// A job that is started again after its last round ends its writer without a further one.
TEST_F(FirstEntries, ClosesWhatAnEarlierProcessHasRecorded) {
  const RecorderOptions options = Options(kLedger, v1::FAIL_CLOSED, "spool");
  ASSERT_EQ(ReleaseBatch(*OpenRecorder(options)), absl::OkStatus());
  ASSERT_EQ(OpenRecorder(options)->Close(), absl::OkStatus());
  const std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_TRUE(entries[4].has_opened());
  EXPECT_EQ(entries[5].writer_closed().entry_count(), 2u);
}

// The control: a writer that has recorded nothing is none, whoever else has written.
TEST_F(FirstEntries, ClosesNothingWhereNothingWasRecorded) {
  RecorderOptions options = Options(kLedger, v1::FAIL_CLOSED, "idle");
  options.writer = "idle";
  ASSERT_EQ(ReleaseBatch(*OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "spool"))),
            absl::OkStatus());
  ASSERT_EQ(OpenRecorder(options)->Close(), absl::OkStatus());
  EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), 4u);
  ASSERT_EQ(ReleaseBatch(*OpenRecorder(options)), absl::OkStatus()) << "it may be opened again";
}

// Sealed while nobody had recorded: the round is refused, and nothing leaves.
TEST_F(FirstEntries, TheFirstRoundAfterASealIsRefused) {
  const auto recorder = OpenRecorder(Options(kLedger, v1::FAIL_CLOSED, "spool"));
  RecorderOptions other = Options(kLedger, v1::FAIL_CLOSED, "other");
  other.writer = "other";
  const auto sealing = OpenRecorder(other);
  ASSERT_EQ(ReleaseBatch(*sealing), absl::OkStatus());
  ASSERT_EQ(sealing->Seal(), absl::OkStatus());
  EXPECT_EQ(ReasonOf(ReleaseBatch(*recorder)).reason, "LEDGER_SEALED");
  EXPECT_EQ(ReasonOf(recorder->Close()).reason, "LEDGER_SEALED");
}

}  // namespace
}  // namespace dpledger::client
