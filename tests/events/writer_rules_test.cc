// The one state machine of a writer: rounds, epochs, incarnations, its end.
#include "events/writer_rules.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::events {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::Event Sample(uint64_t round) {
  v1::Event event;
  event.mutable_sampling()->set_round(round);
  event.mutable_sampling()->mutable_scheme()->mutable_poisson()->set_probability(0.5);
  return event;
}

v1::Event EpochSample(uint64_t round, uint64_t epoch, uint64_t rounds_per_epoch = 3) {
  v1::Event event;
  event.mutable_sampling()->set_round(round);
  v1::RandomAllocation& scheme =
      *event.mutable_sampling()->mutable_scheme()->mutable_random_allocation();
  scheme.set_rounds_per_epoch(rounds_per_epoch);
  scheme.set_epoch(epoch);
  return event;
}

v1::Event Query(uint64_t round) {
  v1::Event event;
  event.mutable_sum_query()->set_round(round);
  return event;
}

v1::Opened Opening(const std::string& incarnation, const std::string& previous,
                   bool carries = false) {
  v1::Opened opened;
  opened.set_incarnation(incarnation);
  opened.set_previous(previous);
  opened.set_carries_epochs(carries);
  return opened;
}

// A writer whose entries are taken one after the other, as a ledger does.
class Writer {
 public:
  Writer() { status.set_writer("w"); }
  absl::Status Take(const v1::Event& event) { return TakeRound(StepOf(event), status); }
  absl::Status Open(const v1::Opened& opened, v1::SpoolPolicy policy = v1::SPOOL) {
    return TakeOpened(opened, ++sequence, policy, status);
  }
  v1::WriterStatus status;
  uint64_t sequence = 10;
};

void ExpectRefusal(const absl::Status& status, const std::string& reason, const std::string& part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(ReasonOf(status).reason, reason);
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

TEST(WriterRounds, DoNotGoBackAndHaveOneSample) {
  Writer writer;
  ASSERT_TRUE(writer.Take(Sample(5)).ok());
  ASSERT_TRUE(writer.Take(Query(5)).ok());
  ExpectRefusal(writer.Take(Sample(5)), "ROUND_ALREADY_OPEN",
                "sampling.round: round 5 of writer w has begun already");
  ExpectRefusal(writer.Take(Query(4)), "ROUND_GOES_BACK",
                "sum_query.round: must be at least 5, the last round of writer w, got 4");
  ASSERT_TRUE(writer.Take(Query(5)).ok()) << "a refusal changes nothing";
}

TEST(WriterEpochs, HaveNoMoreRoundsThanTheirSchemeSays) {
  Writer writer;
  for (uint64_t round = 0; round < 3; ++round) ASSERT_TRUE(writer.Take(EpochSample(round, 7)).ok());
  ExpectRefusal(writer.Take(EpochSample(3, 7)), "EPOCH_FULL",
                "sampling.scheme: epoch 7 of writer w has all its 3 rounds");
  ASSERT_TRUE(writer.Take(EpochSample(3, 8)).ok());
  ExpectRefusal(writer.Take(EpochSample(4, 7)), "EPOCH_GOES_BACK", "epoch 7 must be above 8");
}

TEST(WriterEpochs, AreNotMixedWithThoseOfAnotherScheme) {
  Writer writer;
  ASSERT_TRUE(writer.Take(EpochSample(0, 0, 3)).ok());
  ExpectRefusal(writer.Take(EpochSample(1, 0, 4)), "EPOCH_GOES_BACK", "epoch 0 must be above 0");
  ASSERT_TRUE(writer.Take(EpochSample(1, 1, 4)).ok());
  ExpectRefusal(writer.Take(EpochSample(2, 0, 3)), "EPOCH_GOES_BACK", "epoch 0 must be above 1");
}

TEST(WriterEpochs, EndWithAResumeAndWithAnOpeningThatDoesNotCarryThem) {
  Writer writer;
  writer.status.set_writer("w");
  ASSERT_TRUE(writer.Take(EpochSample(0, 0)).ok());
  const std::string first = EpochOwner(writer.status);
  TakeResume(5, writer.status);
  const std::string resumed = EpochOwner(writer.status);
  ASSERT_TRUE(writer.Take(EpochSample(1, 0)).ok()) << "epoch 0 of other epochs";
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  const std::string opened = EpochOwner(writer.status);
  EXPECT_EQ(first, "w");
  EXPECT_NE(resumed, first);
  EXPECT_NE(opened, resumed);
  ASSERT_TRUE(writer.Take(EpochSample(0, 0)).ok()) << "rounds are the incarnation's own";
}

TEST(WriterEpochs, AreCarriedOnOnlyFromTheLastIncarnation) {
  Writer writer;
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  for (uint64_t round = 0; round < 2; ++round) ASSERT_TRUE(writer.Take(EpochSample(round, 0)).ok());
  const std::string owner = EpochOwner(writer.status);
  ASSERT_TRUE(writer.Open(Opening("b", "a", /*carries=*/true)).ok());
  EXPECT_EQ(EpochOwner(writer.status), owner);
  ASSERT_TRUE(writer.Take(EpochSample(2, 0)).ok());
  ExpectRefusal(writer.Take(EpochSample(3, 0)), "EPOCH_FULL", "has all its 3 rounds");
  // Another copy of the spool of `a` cannot carry on what `b` has gone on with.
  ASSERT_TRUE(writer.Open(Opening("c", "a", /*carries=*/true)).ok());
  EXPECT_NE(EpochOwner(writer.status), owner);
  ASSERT_TRUE(writer.Take(EpochSample(0, 0)).ok());
}

TEST(WriterEpochs, StoredRoundsThatBreakTheRuleBeginEpochsAnew) {
  Writer writer;
  for (uint64_t round = 0; round < 3; ++round) ASSERT_TRUE(writer.Take(EpochSample(round, 0)).ok());
  const std::string owner = EpochOwner(writer.status);
  const v1::Event fourth = EpochSample(3, 0);
  ASSERT_TRUE(TakeStoredRound(StepOf(fourth), 44, writer.status).ok());
  EXPECT_NE(EpochOwner(writer.status), owner);
}

v1::SamplingScheme FixedBins(uint64_t population, uint64_t rounds_per_epoch, uint64_t contributions,
                             uint64_t epoch) {
  v1::SamplingScheme scheme;
  scheme.set_population_size(population);
  v1::RandomAllocation& bins = *scheme.mutable_random_allocation();
  bins.set_rounds_per_epoch(rounds_per_epoch);
  bins.set_contributions(contributions);
  bins.set_epoch(epoch);
  bins.set_fixed_bins(true);
  return scheme;
}
v1::Event SampleOf(const v1::SamplingScheme& scheme, uint64_t round) {
  v1::Event event;
  event.mutable_sampling()->set_round(round);
  *event.mutable_sampling()->mutable_scheme() = scheme;
  return event;
}
v1::Event RoundsOf(const v1::SamplingScheme& scheme) {
  v1::Event event;
  *event.mutable_rounds()->mutable_scheme() = scheme;
  return event;
}

// Two epochs of one draw that stated another population were taken for two draws: 3.348 for 4.990.
TEST(WriterFixedBins, AreOneDrawWhateverEpochsState) {
  const struct {
    const char* field;
    v1::SamplingScheme scheme;
    bool taken;
  } rows[] = {{"nothing", FixedBins(1000, 4, 1, 1), true},
              {"absent contributions", FixedBins(1000, 4, 0, 1), true},
              {"population_size", FixedBins(1001, 4, 1, 1), false},
              {"population_size, not stated", FixedBins(0, 4, 1, 1), false},
              {"rounds_per_epoch", FixedBins(1000, 8, 1, 1), false},
              {"contributions", FixedBins(1000, 4, 2, 1), false},
              {"epoch", FixedBins(1000, 4, 1, 9), true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.field);
    for (const bool grouped : {false, true}) {
      Writer writer;
      ASSERT_TRUE(writer.Take(SampleOf(FixedBins(1000, 4, 1, 0), 0)).ok());
      // The draw is its writer's, over all incarnations.
      if (grouped) {
        ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
      }
      const absl::Status status =
          writer.Take(grouped ? RoundsOf(row.scheme) : SampleOf(row.scheme, 1));
      if (row.taken) {
        EXPECT_TRUE(status.ok()) << status;
        continue;
      }
      ExpectRefusal(status, "FIXED_BINS_CHANGED",
                    grouped ? "rounds.scheme: fixed bins are drawn once of writer w, so each epoch "
                              "must say what the first one did, population_size 1000, "
                              "rounds_per_epoch 4, contributions 1; got population_size"
                            : "sampling.scheme: fixed bins are drawn once");
      EXPECT_TRUE(writer.Take(SampleOf(FixedBins(1000, 4, 1, 1), 1)).ok())
          << "a refusal changes nothing";
    }
  }
  // Redrawn epochs may state what they like.
  Writer redrawn;
  ASSERT_TRUE(redrawn.Take(SampleOf(FixedBins(1000, 4, 1, 0), 0)).ok());
  EXPECT_TRUE(redrawn.Take(EpochSample(1, 1, 5)).ok());
}

// They stay one draw of their writer: epochs that began anew would be another.
TEST(WriterFixedBins, ThatChangedInAStoredLedgerStayTheirWriters) {
  Writer writer;
  ASSERT_TRUE(writer.Take(SampleOf(FixedBins(1000, 4, 1, 0), 0)).ok());
  const v1::Event changed = SampleOf(FixedBins(1001, 4, 1, 1), 1);
  ASSERT_TRUE(TakeStoredRound(StepOf(changed), 44, writer.status).ok());
  EXPECT_EQ(EpochOwner(writer.status), "w");
  EXPECT_EQ(writer.status.fixed_bins().population_size(), 1000u);
}

TEST(WriterIncarnations, TheNewestFencesOffTheOthers) {
  Writer writer;
  EXPECT_TRUE(CheckMayWrite("", writer.status).ok());
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  EXPECT_TRUE(CheckMayWrite("a", writer.status).ok());
  ExpectRefusal(CheckMayWrite("", writer.status), "FENCED_OFF", "this batch is of none");
  ASSERT_TRUE(writer.Open(Opening("b", "a")).ok());
  ExpectRefusal(CheckMayWrite("a", writer.status), "FENCED_OFF",
                "writer w was opened again, by incarnation b at entry 12; this batch is of "
                "incarnation a");
  EXPECT_EQ(writer.Open(Opening("b", "b")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer.Open(Opening("no/token", "b")).code(), absl::StatusCode::kInvalidArgument);
}

TEST(WriterIncarnations, OneThatIsNotCarriedOnMayHoldReleases) {
  Writer writer;
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  ASSERT_TRUE(writer.Open(Opening("b", "a")).ok());
  EXPECT_EQ(writer.status.missing_spools_size(), 0) << "b has the spool of a";
  ASSERT_TRUE(writer.Open(Opening("c", "a")).ok());
  ASSERT_EQ(writer.status.missing_spools_size(), 1);
  EXPECT_EQ(writer.status.missing_spools(0).incarnation(), "b");
  EXPECT_EQ(writer.status.missing_spools(0).opened_sequence(), 12u);
  EXPECT_FALSE(writer.status.missing_spools(0).refused());
  EXPECT_THAT(MissingReleases(writer.status, v1::SPOOL), SizeIs(2)) << "b, and c that is open";
}

TEST(WriterIncarnations, UnderFailClosedNothingIsMissingForThat) {
  Writer writer;
  ASSERT_TRUE(writer.Open(Opening("a", ""), v1::FAIL_CLOSED).ok());
  ASSERT_TRUE(writer.Open(Opening("b", ""), v1::FAIL_CLOSED).ok());
  EXPECT_THAT(MissingReleases(writer.status, v1::FAIL_CLOSED), IsEmpty());
}

TEST(WriterConflicts, AreToldOnceUntilTheSpoolIsImported) {
  Writer writer;
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  ASSERT_TRUE(writer.Open(Opening("b", "a")).ok());
  ASSERT_TRUE(IsNewConflict("a", writer.status));
  TakeConflict("a", writer.status);
  EXPECT_FALSE(IsNewConflict("a", writer.status));
  EXPECT_TRUE(IsNewConflict("x", writer.status));
  const auto missing = MissingReleases(writer.status, v1::FAIL_CLOSED);
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_THAT(missing[0].reason, HasSubstr("dpledger spool import"));
  TakeSpoolImported("a", 20, writer.status);
  EXPECT_THAT(MissingReleases(writer.status, v1::FAIL_CLOSED), IsEmpty());
  EXPECT_TRUE(IsNewConflict("a", writer.status)) << "another copy of it";
}

TEST(WriterConflicts, BeyondSixteenTheLedgerIsShortForEver) {
  Writer writer;
  for (int i = 0; i < 17; ++i) {
    const std::string token = absl::StrCat("t", i);
    ASSERT_TRUE(IsNewConflict(token, writer.status));
    TakeConflict(token, writer.status);
  }
  EXPECT_FALSE(IsNewConflict("t17", writer.status));
  for (int i = 0; i < 17; ++i) TakeSpoolImported(absl::StrCat("t", i), 20, writer.status);
  const auto missing = MissingReleases(writer.status, v1::FAIL_CLOSED);
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_THAT(missing[0].reason, HasSubstr("more incarnations"));
}

TEST(WriterEnd, CountsItsOwnEntriesAndNotTheLateOnes) {
  Writer writer;
  writer.status.set_entry_count(5);
  TakeConflict("a", writer.status);
  writer.status.set_entry_count(6);
  ExpectRefusal(TakeClosed(7, writer.status), "WRITER_COUNT_MISMATCH", "must be 6");
  ASSERT_TRUE(TakeClosed(6, writer.status).ok());
  ExpectRefusal(CheckMayWrite("", writer.status), "WRITER_CLOSED", "it writes no more");
}

TEST(WriterEnd, CountsFromItsLastOpening) {
  Writer writer;
  writer.status.set_entry_count(5);
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  writer.status.set_entry_count(6);
  TakeConflict("x", writer.status);
  writer.status.set_entry_count(7);
  ASSERT_TRUE(TakeClosed(2, writer.status).ok()) << "OPENED and the end";
}

TEST(WriterLate, EpochsAreNeverThoseThatCameInTimeNorThoseOfAnotherSpool) {
  Writer writer;
  ASSERT_TRUE(writer.Open(Opening("a", "")).ok());
  const std::string first = LateOwner("a", writer.status);
  EXPECT_NE(first, EpochOwner(writer.status));
  TakeSpoolImported("a", 30, writer.status);
  EXPECT_NE(LateOwner("a", writer.status), first);
  EXPECT_NE(LateOwner("b", writer.status), LateOwner("a", writer.status));
}

}  // namespace
}  // namespace dpledger::events
