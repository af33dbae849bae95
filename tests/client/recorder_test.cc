// The recorder against a real server: what ends up in the ledger, and what may be released when.
#include "client/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "connection/connection.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/client/recorded_rounds.h"
#include "tests/fault/crashing_server.h"
#include "tests/support/await_that.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::AwaitThat;
using ::dpledger::testing::CrashingServer;
using ::dpledger::testing::ReadLedger;
using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

class FixedClock : public Clock {
 public:
  absl::Time Now() override { return absl::FromUnixSeconds(1'700'000'059); }
};

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

class Recorder : public ::testing::Test {
 protected:
  RecorderOptions Options() { return OptionsFor(server_.address(), folder_.File("spool")); }

  static std::unique_ptr<PrivacyRecorder> Open(const RecorderOptions& options) {
    return OpenRecorder(options);
  }

  // Records a round with one query; returns its number.
  static uint64_t RecordRound(PrivacyRecorder& recorder) {
    const auto round = recorder.RecordRound(PoissonScheme(0.01), {Query("weights")});
    EXPECT_TRUE(round.ok()) << round.status();
    return round.value_or(0);
  }

  // But for OPENED, one for each time that a recorder was opened.
  std::vector<v1::LedgerEntry> Entries() {
    std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
    std::erase_if(entries, [](const v1::LedgerEntry& entry) { return entry.has_opened(); });
    return entries;
  }

  // Rounds of the ledger's sampling events, in order.
  std::vector<uint64_t> Rounds() {
    std::vector<uint64_t> rounds;
    for (const v1::LedgerEntry& entry : Entries()) {
      if (entry.event().has_sampling()) rounds.push_back(entry.event().sampling().round());
    }
    return rounds;
  }

  CrashingServer server_;
  TemporaryFolder folder_;
};

TEST_F(Recorder, WritesEachRoundAsOneRequest) {
  FixedClock clock;
  RecorderOptions options = Options();
  options.clock = &clock;
  const auto recorder = Open(options);
  EXPECT_EQ(recorder->ledger(), kLedger);
  const auto round = recorder->RecordRound(PoissonScheme(0.25), {Query("a"), Query("b")});
  ASSERT_TRUE(round.ok()) << round.status();
  ASSERT_EQ(recorder->AwaitReleasable(*round), absl::OkStatus());

  const std::vector<v1::LedgerEntry> entries = Entries();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].declaration().dataset(), "adult");
  EXPECT_EQ(entries[0].declaration().spool_policy(), v1::FAIL_CLOSED);
  EXPECT_EQ(entries[1].event().sampling().round(), *round);
  EXPECT_EQ(entries[1].event().sampling().scheme().poisson().probability(), 0.25);
  EXPECT_EQ(entries[2].event().sum_query().query().group(), "a");
  EXPECT_EQ(entries[3].event().sum_query().query().group(), "b");
  EXPECT_EQ(entries[3].event().sum_query().round(), *round);
  for (size_t i = 1; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].writer(), "trainer");
    EXPECT_EQ(entries[i].request_id(), entries[1].request_id());
    EXPECT_EQ(entries[i].claimed_time().seconds(), 1'700'000'040);  // the whole minute
    EXPECT_EQ(entries[i].claimed_time().nanos(), 0);
  }
}

TEST_F(Recorder, ResumesWithAGreaterRound) {
  uint64_t last = 0;
  {
    const auto recorder = Open(Options());
    RecordRound(*recorder);
    last = RecordRound(*recorder);
    ASSERT_EQ(recorder->AwaitReleasable(last), absl::OkStatus());
  }
  const auto recorder = Open(Options());
  const uint64_t next = RecordRound(*recorder);
  EXPECT_GT(next, last);
  ASSERT_EQ(recorder->AwaitReleasable(next), absl::OkStatus());
  const std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
  ASSERT_EQ(entries.size(), 9u);
  EXPECT_EQ(entries[6].opened().previous(), entries[1].opened().incarnation());
  EXPECT_EQ(entries[6].opened().incarnation(), recorder->incarnation());
  EXPECT_EQ(entries[7].event().sampling().round(), next);
}

TEST_F(Recorder, GoesOnWhenItsSpoolIsLost) {
  uint64_t last = 0;
  {
    const auto recorder = Open(Options());
    last = RecordRound(*recorder);
    ASSERT_EQ(recorder->AwaitReleasable(last), absl::OkStatus());
  }
  RecorderOptions options = Options();
  options.spool_folder = folder_.File("new");
  const auto recorder = Open(options);
  EXPECT_GT(RecordRound(*recorder), last);
  ASSERT_EQ(recorder->Close(), absl::OkStatus());
  EXPECT_EQ(Entries().back().writer_closed().entry_count(), 4u);  // since OPENED
}

TEST_F(Recorder, ClosesWithTheCountOfItsEntries) {
  const auto recorder = Open(Options());
  RecordRound(*recorder);
  ASSERT_EQ(recorder->Close(), absl::OkStatus());
  EXPECT_EQ(recorder->Close(), absl::OkStatus());
  EXPECT_EQ(recorder->drain_status().undelivered_batches, 0u);
  const std::vector<v1::LedgerEntry> entries = Entries();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[3].writer_closed().entry_count(), 4u);  // with OPENED
  ExpectError(recorder->RecordRound(PoissonScheme(0.01), {Query("a")}).status(),
              absl::StatusCode::kFailedPrecondition, "trainer has closed");
}

// One that only asked appended an entry, and so changed the ledger's root.
TEST_F(Recorder, LeavesTheLedgerAsItWasWhenItRecordsNothing) {
  for (const uint64_t entries : {1u, 4u}) {
    RecorderOptions options = Options();
    options.writer = "reader";
    options.spool_folder = folder_.File("reader");
    auto reader = Open(options);
    ASSERT_EQ(reader->Close(), absl::OkStatus());
    v1::MechanismEvent mechanism;
    mechanism.mutable_gaussian()->set_noise_multiplier(1);
    ExpectError(reader->RecordMechanism(mechanism).status(), absl::StatusCode::kFailedPrecondition,
                "reader has closed");
    reader.reset();
    Open(options);
    EXPECT_EQ(ReadLedger(server_.address(), kLedger).size(), entries);
    const auto recorder = Open(Options());
    RecordRound(*recorder);
    ASSERT_EQ(recorder->AwaitDelivered(), absl::OkStatus());
  }
}

TEST_F(Recorder, CannotReopenAClosedWriter) {
  {
    const auto recorder = Open(Options());
    RecordRound(*recorder);
    ASSERT_EQ(recorder->Close(), absl::OkStatus());
  }
  ExpectError(PrivacyRecorder::Open(Options()).status(), absl::StatusCode::kFailedPrecondition,
              "trainer has closed");
  RecorderOptions options = Options();
  options.spool_folder = folder_.File("new");
  ExpectError(PrivacyRecorder::Open(options).status(), absl::StatusCode::kFailedPrecondition,
              "trainer has closed");
  options.writer = "another";
  EXPECT_TRUE(PrivacyRecorder::Open(options).ok());
}

TEST_F(Recorder, DemandsTheSameDeclaration) {
  Open(Options());
  RecorderOptions options = Options();
  options.declaration.set_dataset("census");
  ExpectError(PrivacyRecorder::Open(options).status(), absl::StatusCode::kFailedPrecondition,
              "dataset: \"adult\" -> \"census\"");
  options = Options();
  options.policy = v1::SPOOL;
  ExpectError(PrivacyRecorder::Open(options).status(), absl::StatusCode::kFailedPrecondition,
              "spool_policy");
}

// A job that is started again with other flags, or with another model.
TEST_F(Recorder, ResumesAFixedRunOnlyWithItsConfiguration) {
  const auto record = [](PrivacyRecorder& recorder, double probability,
                         std::vector<v1::SumQuery> queries) {
    return recorder.RecordRound(PoissonScheme(probability), std::move(queries)).status();
  };
  v1::SumQuery query = Query("weights");
  query.set_noise(v1::ROUNDED_GAUSSIAN);
  query.set_noise_stddev(3);
  query.set_grid(0.5);
  {
    const auto recorder = Open(Options());
    ASSERT_EQ(record(*recorder, 0.25, {query, query}), absl::OkStatus());
    // One process keeps to the plan that it has, whatever that is.
    ASSERT_EQ(record(*recorder, 0.01, {query}), absl::OkStatus());
  }
  v1::SumQuery louder = query, renamed = query, moved = query;
  louder.set_noise_stddev(4);
  renamed.set_group("bias");
  moved.set_grid(0.25);
  {
    const auto recorder = Open(Options());
    const auto expect_refused = [&](const absl::Status& status, const std::string& field) {
      ExpectError(status, absl::StatusCode::kFailedPrecondition,
                  "round: the run was started again with another configuration than its last round "
                  "had (its value -> yours): " +
                      field +
                      "; a run that is declared FIXED goes on as it was, unless the option "
                      "plan_varies says that");
      EXPECT_EQ(ReasonOf(status).reason, "OTHER_CONFIGURATION");
    };
    expect_refused(record(*recorder, 0.02, {query}),
                   "modified: scheme.poisson.probability: 0.01 -> 0.02");
    expect_refused(record(*recorder, 0.01, {louder}), "modified: queries[0].noise_stddev: 3 -> 4");
    expect_refused(record(*recorder, 0.01, {renamed}),
                   "modified: queries[0].group: \"weights\" -> \"bias\"");
    EXPECT_EQ(record(*recorder, 0.01, {query, query}).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(Rounds().size(), 2u);
    EXPECT_EQ(record(*recorder, 0.01, {moved}), absl::OkStatus());  // the grid may move
    EXPECT_EQ(record(*recorder, 0.01, {louder}), absl::OkStatus());
    const auto mechanism = [] {
      v1::MechanismEvent event;
      event.mutable_gaussian()->set_noise_multiplier(2);
      return event;
    }();
    EXPECT_TRUE(recorder->RecordMechanism(mechanism).ok());
  }
  RecorderOptions options = Options();
  options.plan_varies = true;
  EXPECT_EQ(record(*Open(options), 0.5, {query}), absl::OkStatus());
}

// A later epoch is the same plan.
TEST_F(Recorder, ResumesAFixedRunInAnotherEpoch) {
  v1::SamplingScheme disjoint, allocated;
  disjoint.mutable_disjoint_batches()->set_batches_per_epoch(2);
  disjoint.mutable_disjoint_batches()->set_epoch(3);
  allocated.mutable_random_allocation()->set_rounds_per_epoch(2);
  allocated.mutable_random_allocation()->set_epoch(3);
  for (const v1::SamplingScheme& scheme : {disjoint, allocated}) {
    RecorderOptions options = Options();
    options.ledger = scheme.has_disjoint_batches() ? "disjoint" : "allocated";
    options.declaration.set_adjacency(v1::ZERO_OUT);
    v1::SamplingScheme later = scheme, other = scheme;
    if (scheme.has_disjoint_batches()) {
      later.mutable_disjoint_batches()->set_epoch(4);
      other.mutable_disjoint_batches()->set_batches_per_epoch(5);
    } else {
      later.mutable_random_allocation()->set_epoch(4);
      other.mutable_random_allocation()->set_rounds_per_epoch(5);
    }
    EXPECT_TRUE(Open(options)->RecordRound(scheme, {Query("a")}).ok());
    ExpectError(Open(options)->RecordRound(other, {Query("a")}).status(),
                absl::StatusCode::kFailedPrecondition, "_per_epoch: 2 -> 5; a run");
    EXPECT_EQ(Open(options)->RecordRound(later, {Query("a")}).status(), absl::OkStatus());
  }
}

TEST_F(Recorder, ResumesAnAdaptiveRunWithAnyConfiguration) {
  RecorderOptions options = Options();
  options.declaration.set_parameters(v1::ADAPTIVE);
  options.declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
  RecordRound(*Open(options));
  EXPECT_EQ(Open(options)->RecordRound(PoissonScheme(0.5), {Query("weights")}).status(),
            absl::OkStatus());
}

// Eight rounds of an eighth each fit. What does not is refused before its release, and the writer
// can go on, or close.
TEST_F(Recorder, TakesBackWhatWouldCrossTheFilter) {
  RecorderOptions options = Options();
  options.declaration.set_parameters(v1::ADAPTIVE);
  options.declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
  const auto recorder = Open(options);
  v1::SamplingScheme all;
  all.mutable_full_batch();
  const auto record = [&](double noise) {
    v1::SumQuery query = Query("weights");
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(noise);
    const auto number = recorder->RecordRound(all, v1::SAMPLE_STATED, {query});
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(0);
  };
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(recorder->AwaitReleasable(record(2)).ok());
  const auto expect_crossed = [&](uint64_t number) {
    const absl::Status status = recorder->AwaitReleasable(number);
    EXPECT_EQ(ReasonOf(status).reason, "FILTER_CROSSED") << status;
    EXPECT_EQ(ReasonOf(status).metadata["rounds_left"], "0") << status;
  };
  // Three that are to be released together: one fits no more, so none is.
  const uint64_t first = record(2), crossing = record(1), last = record(3);
  expect_crossed(last);
  expect_crossed(last);
  expect_crossed(crossing);
  EXPECT_TRUE(recorder->AwaitReleasable(first).ok());
  EXPECT_TRUE(recorder->AwaitReleasable(record(3)).ok());  // .875 + 2/18
  EXPECT_TRUE(recorder->Close().ok());
}

// A process that was killed after the ledger had the notes, and before its spool knew of it.
TEST_F(Recorder, MeetsTheNotesOfWhatWasTakenBackBeforeAKill) {
  RecorderOptions options = Options();
  options.declaration.set_parameters(v1::ADAPTIVE);
  options.declaration.mutable_filter()->mutable_zcdp()->set_rho(1);
  const std::string spool = options.spool_folder, kept = folder_.File("kept");
  v1::SumQuery large = Query("weights"), small = large;
  large.set_noise_stddev(large.l2_norm_bound() / 2);
  small.set_noise_stddev(large.l2_norm_bound() * 2);
  v1::SamplingScheme all;
  all.mutable_full_batch();
  {
    const auto recorder = Open(options);
    const auto crossing = recorder->RecordRound(all, v1::SAMPLE_STATED, {large});
    EXPECT_EQ(ReasonOf(recorder->AwaitReleasable(*crossing)).reason, "FILTER_CROSSED");
    std::filesystem::copy(spool, kept, std::filesystem::copy_options::recursive);
  }
  std::filesystem::remove_all(spool);
  std::filesystem::rename(kept, spool);
  options.plan_varies = true;
  const auto recorder = Open(options);
  const auto round = recorder->RecordRound(all, v1::SAMPLE_STATED, {small});
  EXPECT_TRUE(recorder->AwaitReleasable(*round).ok());
  EXPECT_TRUE(recorder->Close().ok());
  int notes = 0, events = 0;
  for (const v1::LedgerEntry& entry : Entries()) {
    notes += entry.has_note();
    events += entry.has_event();
  }
  EXPECT_EQ(notes, 2);
  EXPECT_EQ(events, 2);
}

TEST_F(Recorder, TellsWhichOptionIsBad) {
  const auto expect_field = [&](void (*spoil)(RecorderOptions&), const std::string& field) {
    RecorderOptions options = Options();
    spoil(options);
    const absl::Status status = PrivacyRecorder::Open(options).status();
    ExpectError(status, absl::StatusCode::kInvalidArgument, field + ": ");
    EXPECT_EQ(ReasonOf(status).metadata["field"], field);
  };
  expect_field([](RecorderOptions& options) { options.server = ""; }, "server");
  expect_field([](RecorderOptions& options) { options.ledger = "Adult"; }, "ledger");
  expect_field([](RecorderOptions& options) { options.writer = "a b"; }, "writer");
  expect_field([](RecorderOptions& options) { options.spool_folder = ""; }, "spool_folder");
  expect_field([](RecorderOptions& options) { options.policy = v1::SPOOL_POLICY_UNSPECIFIED; },
               "policy");
  expect_field([](RecorderOptions& options) { options.first_backoff = absl::ZeroDuration(); },
               "first_backoff");
  expect_field([](RecorderOptions& options) { options.longest_backoff = -absl::Seconds(1); },
               "longest_backoff");
  expect_field([](RecorderOptions& options) { options.stall_timeout = absl::Microseconds(1); },
               "stall_timeout");
  expect_field([](RecorderOptions& options) { options.declaration.clear_unit_of_privacy(); },
               "declaration.unit_of_privacy");
}

// A round that the server must refuse would block every later one if it got into the spool.
TEST_F(Recorder, RefusesBadRoundsBeforeTheyAreWritten) {
  const auto recorder = Open(Options());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double probability : {0.0, -0.5, 1.5, nan}) {
    ExpectError(recorder->RecordRound(PoissonScheme(probability), {Query("a")}).status(),
                absl::StatusCode::kInvalidArgument,
                "scheme.poisson.probability: must be in (0, 1], got ");
  }
  ExpectError(recorder->RecordRound({}, {Query("a")}).status(), absl::StatusCode::kInvalidArgument,
              "scheme.kind: must be set");
  v1::SamplingScheme fixed;
  fixed.mutable_without_replacement()->set_sample_size(5);
  fixed.set_population_size(4);
  ExpectError(recorder->RecordRound(fixed, {Query("a")}).status(),
              absl::StatusCode::kInvalidArgument,
              "scheme.without_replacement.sample_size: must be in [1, 4], got 5");

  const auto expect_refused = [&](std::vector<v1::SumQuery> queries, const std::string& part) {
    ExpectError(recorder->RecordRound(PoissonScheme(0.01), std::move(queries)).status(),
                absl::StatusCode::kInvalidArgument, part);
  };
  expect_refused({}, "queries: must be 1 to 9999, got 0");
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    v1::SumQuery query = Query("a");
    query.set_noise_stddev(bad);
    expect_refused({Query("a"), query}, "queries[1].noise_stddev: must be finite and > 0, got ");
    query = Query("a");
    query.set_l2_norm_bound(bad);
    expect_refused({query}, "queries[0].l2_norm_bound: must be finite and > 0, got ");
  }
  v1::SumQuery query = Query("a");
  query.set_grid(0.5);
  expect_refused({query}, "queries[0].grid: must be 0 unless noise is ROUNDED_GAUSSIAN");
  query.set_noise(v1::ROUNDED_GAUSSIAN);
  expect_refused({query}, "queries[0].noise_stddev: must be a whole number");
  expect_refused({Query(std::string(257, 'g'))}, "queries[0].group: must be at most 256 bytes");
  expect_refused({Query("\xff")}, "not UTF-8");

  const uint64_t round = RecordRound(*recorder);
  ASSERT_EQ(recorder->AwaitReleasable(round), absl::OkStatus());
  EXPECT_THAT(Rounds(), ::testing::ElementsAre(round));
}

TEST_F(Recorder, WritesMechanisms) {
  RecorderOptions options = Options();
  options.declaration.set_adjacency(v1::ZERO_OUT);
  const auto recorder = Open(options);
  const uint64_t round = RecordRound(*recorder);
  v1::MechanismEvent mechanism;
  v1::MatrixMechanism& matrix = *mechanism.mutable_matrix_mechanism();
  matrix.set_noise_stddev(2);
  matrix.mutable_toeplitz()->set_steps(10);
  matrix.mutable_toeplitz()->add_coefficients(1);
  matrix.mutable_toeplitz()->add_coefficients(0.5);
  matrix.mutable_toeplitz()->mutable_participation()->set_max_participations(1);
  matrix.mutable_toeplitz()->mutable_participation()->set_min_separation(10);
  const auto number = recorder->RecordMechanism(mechanism);
  ASSERT_TRUE(number.ok()) << number.status();
  EXPECT_GT(*number, round);
  EXPECT_GT(RecordRound(*recorder), *number);
  ASSERT_EQ(recorder->AwaitReleasable(*number), absl::OkStatus());
  EXPECT_EQ(Entries()[3].event().mechanism().matrix_mechanism().toeplitz().coefficients(1), 0.5);
  v1::MechanismEvent test_mode;
  test_mode.mutable_non_private();
  EXPECT_TRUE(recorder->RecordMechanism(test_mode).ok());
}

TEST_F(Recorder, RefusesBadMechanismsBeforeTheyAreWritten) {
  const auto recorder = Open(Options());
  const auto expect_refused = [&](const v1::MechanismEvent& mechanism, const std::string& part) {
    ExpectError(recorder->RecordMechanism(mechanism).status(), absl::StatusCode::kInvalidArgument,
                "mechanism." + part);
  };
  v1::MechanismEvent mechanism;
  expect_refused(mechanism, "kind: must be set to one of no_op, non_private, ");
  mechanism.mutable_gaussian()->set_noise_multiplier(-1);
  expect_refused(mechanism, "gaussian.noise_multiplier: must be finite and > 0, got -1");
  v1::MatrixMechanism& matrix = *mechanism.mutable_matrix_mechanism();
  expect_refused(mechanism, "matrix_mechanism.encoder: must be set");
  matrix.set_sensitivity(1);
  expect_refused(mechanism, "matrix_mechanism.noise_stddev: must be finite and > 0, got 0");
  matrix.set_noise_stddev(1);
  matrix.set_noise(v1::DISCRETE_GAUSSIAN);
  expect_refused(mechanism, "matrix_mechanism.noise: must be GAUSSIAN or ROUNDED_GAUSSIAN, got ");
  matrix.set_noise(v1::ROUNDED_GAUSSIAN);
  matrix.set_sensitivity(0);
  expect_refused(mechanism, "matrix_mechanism.sensitivity: must be finite and > 0, got 0");
  matrix.mutable_tree()->set_steps(4);
  expect_refused(mechanism, "matrix_mechanism.tree.schedule: must be set");
  matrix.mutable_tree()->mutable_participation();
  expect_refused(mechanism,
                 "matrix_mechanism.tree.participation.max_participations: must be in [1, 1024]");
  v1::ToeplitzEncoder& toeplitz = *matrix.mutable_toeplitz();
  toeplitz.set_steps(2);
  toeplitz.mutable_participation()->set_max_participations(1);
  toeplitz.mutable_participation()->set_min_separation(1);
  expect_refused(mechanism, "matrix_mechanism.toeplitz.coefficients: must be in [1, 2], got 0");
  toeplitz.add_coefficients(1);
  toeplitz.add_coefficients(2);
  expect_refused(
      mechanism,
      "matrix_mechanism.toeplitz.coefficients[1]: must not be above the one before it, got 2");
  EXPECT_EQ(recorder->drain_status().undelivered_batches, 0u);
}

TEST_F(Recorder, ReleasesOnlyWhatWasRecorded) {
  const auto recorder = Open(Options());
  ExpectError(recorder->AwaitReleasable(0), absl::StatusCode::kFailedPrecondition,
              "number: 0 was not recorded here");
  const uint64_t round = RecordRound(*recorder);
  EXPECT_EQ(recorder->AwaitReleasable(round), absl::OkStatus());
  ExpectError(recorder->AwaitReleasable(round + 1), absl::StatusCode::kFailedPrecondition,
              "was not recorded");
}

TEST_F(Recorder, FailClosedReleasesNothingWhileTheServerIsAway) {
  RecorderOptions options = Options();
  options.release_timeout = absl::Milliseconds(300);
  const auto recorder = Open(options);
  server_.Kill();
  const uint64_t round = RecordRound(*recorder);
  ExpectError(recorder->AwaitReleasable(round), absl::StatusCode::kDeadlineExceeded,
              "2 batches are not acknowledged; last error: UNAVAILABLE");
  EXPECT_EQ(recorder->drain_status().undelivered_batches, 2u) << "the opening, and the round";
  server_.Start();
  absl::Status released;
  AwaitThat([&] { return !absl::IsDeadlineExceeded(released = recorder->AwaitReleasable(round)); });
  EXPECT_EQ(released, absl::OkStatus());
  EXPECT_EQ(recorder->drain_status().last_error, absl::OkStatus());
  EXPECT_THAT(Rounds(), ::testing::ElementsAre(round));
}

TEST_F(Recorder, GivesUpAStreamThatStandsStill) {
  RecorderOptions options = Options();
  options.stall_timeout = absl::Milliseconds(100);
  options.release_timeout = absl::Milliseconds(500);
  const auto recorder = Open(options);
  server_.Pause();
  const uint64_t round = RecordRound(*recorder);
  AwaitThat([&] {
    return absl::StrContains(recorder->drain_status().last_error.message(),
                             "no acknowledgement for 100ms");
  });
  ExpectError(recorder->AwaitReleasable(round), absl::StatusCode::kDeadlineExceeded,
              "2 batches are not acknowledged; last error: ");
  server_.Resume();
  absl::Status released;
  AwaitThat([&] { return !absl::IsDeadlineExceeded(released = recorder->AwaitReleasable(round)); });
  EXPECT_EQ(released, absl::OkStatus());
  EXPECT_THAT(Rounds(), ::testing::ElementsAre(round));
}

TEST_F(Recorder, FailClosedDoesNotStartWithoutTheServer) {
  Open(Options());
  server_.Kill();
  RecorderOptions options = Options();
  options.open_timeout = absl::Seconds(2);
  const absl::Status status = PrivacyRecorder::Open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(Recorder, SpoolReleasesWhileTheServerIsAwayAndDeliversLater) {
  RecorderOptions options = Options();
  options.policy = v1::SPOOL;
  options.open_timeout = absl::Milliseconds(300);
  std::vector<uint64_t> released;
  {
    const auto recorder = Open(options);
    server_.Kill();
    for (int i = 0; i < 3; ++i) {
      released.push_back(RecordRound(*recorder));
      ASSERT_EQ(recorder->AwaitReleasable(released.back()), absl::OkStatus());
    }
    EXPECT_EQ(recorder->drain_status().undelivered_batches, 3u);
  }
  {
    const auto recorder = Open(options);  // still without the server, which this spool has seen
    released.push_back(RecordRound(*recorder));
    ASSERT_EQ(recorder->AwaitReleasable(released.back()), absl::OkStatus());
    EXPECT_EQ(recorder->drain_status().undelivered_batches, 5u);  // with OPENED
    EXPECT_EQ(recorder->drain_status().last_error.code(), absl::StatusCode::kUnavailable);
  }
  server_.Start();
  options.open_timeout = absl::Seconds(30);
  ASSERT_EQ(Open(options)->Close(), absl::OkStatus());
  EXPECT_EQ(Rounds(), released);
  EXPECT_EQ(Entries().back().writer_closed().entry_count(), 2u);  // OPENED and this
}

TEST_F(Recorder, SpoolDoesNotStartWithALedgerItHasNeverSeen) {
  server_.Kill();
  RecorderOptions options = Options();
  options.policy = v1::SPOOL;
  options.open_timeout = absl::Milliseconds(300);
  EXPECT_EQ(PrivacyRecorder::Open(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Recorder, SendsTheSameRequestsAfterARestart) {
  RecorderOptions options = Options();
  options.policy = v1::SPOOL;
  {
    const auto recorder = Open(options);
    server_.Kill();
    RecordRound(*recorder);
    RecordRound(*recorder);
  }
  std::vector<std::string> request_ids;
  {
    const auto spool =
        Spool::Open({.folder = options.spool_folder, .ledger = kLedger, .writer = options.writer});
    ASSERT_TRUE(spool.ok()) << spool.status();
    for (const uint64_t position : {1, 2}) {  // after OPENED
      const auto batch = (*spool)->Read(position);
      ASSERT_TRUE(batch.ok()) << batch.status();
      request_ids.push_back(batch->request_id());
      EXPECT_EQ(batch->writer_position(), 2 * position - 1) << "OPENED, and two for each round";
    }
  }
  server_.Start();
  Open(options);
  const std::vector<v1::LedgerEntry> entries = Entries();
  ASSERT_GE(entries.size(), 5u);
  EXPECT_EQ(entries[1].request_id(), request_ids[0]);
  EXPECT_EQ(entries[2].request_id(), request_ids[0]);
  EXPECT_EQ(entries[3].request_id(), request_ids[1]);
  EXPECT_NE(request_ids[0], request_ids[1]);
}

TEST_F(Recorder, RemembersARefusal) {
  const auto recorder = Open(Options());
  const auto stub = v1::LedgerService::NewStub(connection::Connect(server_.address()).value());
  v1::SealLedgerRequest seal;
  seal.set_name(kLedger);
  seal.set_request_id("seal");
  seal.add_missing_writers("trainer");
  grpc::ClientContext context;
  v1::Ledger ledger;
  const grpc::Status sealed = stub->SealLedger(&context, seal, &ledger);
  ASSERT_TRUE(sealed.ok()) << sealed.error_message();

  const uint64_t round = RecordRound(*recorder);
  const absl::Status refused = recorder->AwaitReleasable(round);
  ExpectError(refused, absl::StatusCode::kFailedPrecondition, "sealed");
  EXPECT_EQ(ReasonOf(refused).reason, "LEDGER_SEALED");
  EXPECT_EQ(recorder->RecordRound(PoissonScheme(0.01), {Query("a")}).status(), refused);
  EXPECT_EQ(recorder->Close(), refused);
  EXPECT_EQ(recorder->drain_status().last_error, refused);
}

TEST_F(Recorder, NoticesAServerThatLostItsEntries) {
  {
    const auto recorder = Open(Options());
    ASSERT_EQ(recorder->AwaitReleasable(RecordRound(*recorder)), absl::OkStatus());
  }
  CrashingServer forgetful;
  RecorderOptions options = Options();
  options.server = forgetful.address();
  ExpectError(
      PrivacyRecorder::Open(options).status(), absl::StatusCode::kDataLoss,
      absl::StrCat("holds 0 entries of writer trainer in projects/default/ledgers/adult, but "
                   "has acknowledged 3 to the spool ",
                   options.spool_folder, "/default~adult~trainer.spool: "));
  // Nor does that server have a new ledger now.
  grpc::ClientContext context;
  v1::GetLedgerRequest request;
  request.set_name("projects/default/ledgers/adult");
  v1::Ledger ledger;
  EXPECT_EQ(v1::LedgerService::NewStub(connection::Connect(forgetful.address()).value())
                ->GetLedger(&context, request, &ledger)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// Its own writer is not among those that the server describes unasked.
TEST_F(Recorder, FindsItsWriterAmongMoreThanAnAnswerHolds) {
  {
    const auto recorder = Open(Options());
    ASSERT_EQ(recorder->AwaitReleasable(RecordRound(*recorder)), absl::OkStatus());
  }
  const auto stub = v1::LedgerService::NewStub(connection::Connect(server_.address()).value());
  for (int i = 0; i < 1001; ++i) {
    v1::AppendBatchRequest batch;
    batch.set_ledger(kLedger);
    batch.set_writer(absl::StrCat("a", i));
    batch.set_request_id(batch.writer());
    batch.add_entries()->mutable_note()->set_text("before trainer, by name");
    grpc::ClientContext context;
    v1::AppendBatchResponse response;
    ASSERT_TRUE(stub->AppendBatch(&context, batch, &response).ok());
  }
  const auto recorder = PrivacyRecorder::Open(Options());
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  EXPECT_EQ(RecordRound(**recorder), 1u);
}

TEST_F(Recorder, SharesALedgerWithOtherWriters) {
  RecorderOptions options = Options();
  const auto first = Open(options);
  options.writer = "second";
  const auto second = Open(options);
  options.writer = "trainer";
  ExpectError(PrivacyRecorder::Open(options).status(), absl::StatusCode::kFailedPrecondition,
              "another recorder");
  RecordRound(*first);
  RecordRound(*second);
  ASSERT_EQ(first->Close(), absl::OkStatus());
  ASSERT_EQ(second->Close(), absl::OkStatus());
  EXPECT_EQ(Entries().size(), 7u);  // and two OPENED
}

}  // namespace
}  // namespace dpledger::client
