// Runs that stop and start, are copied and refused, against a real server: what the ledger then
// says they cost, beside what really ran.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/epoch_sampler.h"
#include "client/recorder.h"
#include "client/run_state.h"
#include "client/spool_import.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "events/event_values.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/client/recorded_rounds.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ReadLedger;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kRoundsPerEpoch = 10;

class Incarnations : public AskedServer {
 protected:
  RecorderOptions Options(v1::SpoolPolicy policy = v1::FAIL_CLOSED) {
    RecorderOptions options = OptionsFor(server_.address(), folder_.File("spool"));
    options.declaration.set_adjacency(v1::ZERO_OUT);
    options.policy = policy;
    return options;
  }

  static v1::SamplingScheme Batches(uint64_t epoch) { return BatchOf(epoch, kRoundsPerEpoch); }

  static v1::SamplingScheme MessageOf(const accountant::SamplingScheme& scheme) {
    v1::SamplingScheme message;
    events::ToMessage(scheme, message);
    return message;
  }

  absl::Status Append(const v1::AppendBatchRequest& batch) {
    grpc::ClientContext context;
    v1::AppendBatchResponse response;
    return connection::FromGrpc(ledgers_->AppendBatch(&context, batch, &response));
  }
  absl::Status Seal() {
    grpc::ClientContext context;
    v1::SealLedgerRequest request;
    request.set_name(kLedger);
    request.set_request_id("seal");
    request.add_missing_writers("trainer");
    v1::Ledger ledger;
    return connection::FromGrpc(ledgers_->SealLedger(&context, request, &ledger));
  }
  std::vector<v1::LedgerEntry> Entries() { return ReadLedger(server_.address(), kLedger); }
  static bool MayBeShort(const v1::ComputeEpsilonResponse& answer) {
    return answer.details().ledgers(0).missing_size() > 0;
  }
  void CopyFolder(const std::string& from, const std::string& to) {
    std::filesystem::copy(folder_.File(from), folder_.File(to),
                          std::filesystem::copy_options::recursive);
  }
};

// Ten processes of one round each drew ten partitions: a record may be in each of the ten rounds.
TEST_F(Incarnations, EpochsOfTwoProcessesAreNeverOne) {
  for (int process = 0; process < kRoundsPerEpoch; ++process) {
    const auto recorder = OpenRecorder(Options());
    ASSERT_EQ(Release(*recorder, Batches(0)), absl::OkStatus());
  }
  const double truth = EpsilonOf(kRoundsPerEpoch);
  EXPECT_NEAR(Epsilon().epsilon().upper(), truth, 1e-4 * truth);
}

// The control: one process, one partition, in which a record is in one round.
TEST_F(Incarnations, RoundsOfOneProcessAreOneEpoch) {
  const auto recorder = OpenRecorder(Options());
  for (int round = 0; round < kRoundsPerEpoch; ++round) {
    ASSERT_EQ(Release(*recorder, Batches(0)), absl::OkStatus());
  }
  EXPECT_NEAR(Epsilon().epsilon().upper(), EpsilonOf(1), 1e-4 * EpsilonOf(1));
  const absl::Status further = Release(*recorder, Batches(0));
  EXPECT_EQ(further.code(), absl::StatusCode::kFailedPrecondition) << further;
  EXPECT_EQ(ReasonOf(further).reason, "EPOCH_FULL");
  EXPECT_EQ(Release(*recorder, Batches(1)), absl::OkStatus());
}

TEST_F(Incarnations, EpochsAreCarriedOnWhereTheSamplerIs) {
  for (int process = 0; process < 2; ++process) {
    RecorderOptions options = Options();
    options.carries_epochs = [](const RunPosition& at) { return !at.previous_incarnation.empty(); };
    const auto recorder = OpenRecorder(options);
    for (int round = 0; round < kRoundsPerEpoch / 2; ++round) {
      ASSERT_EQ(Release(*recorder, Batches(0)), absl::OkStatus());
    }
  }
  EXPECT_NEAR(Epsilon().epsilon().upper(), EpsilonOf(1), 1e-4 * EpsilonOf(1));
  RecorderOptions options = Options();
  options.carries_epochs = [](const RunPosition&) { return true; };
  const auto recorder = OpenRecorder(options);
  EXPECT_EQ(ReasonOf(Release(*recorder, Batches(0))).reason, "EPOCH_FULL") << "kept in the spool";
}

// A sampler whose partition is kept goes on with it in the next process: every record is in one
// batch of the epoch, and the ledger counts one epoch.
TEST_F(Incarnations, AKeptPartitionIsCarriedOnExactly) {
  const std::string key = folder_.Write("key", std::string(32, 'k'));
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  std::multiset<uint64_t> seen;
  for (int process = 0; process < 3; ++process) {
    const auto state = RunState::Open(folder_.path(), key);
    ASSERT_TRUE(state.ok()) << state.status();
    RecorderOptions options = Options();
    options.carries_epochs = [&](const RunPosition& at) { return (*state)->CarryOn(at); };
    const auto recorder = OpenRecorder(options);
    EpochSamplerOptions sampling;
    sampling.population_size = 100;
    sampling.rounds_per_epoch = kRoundsPerEpoch;
    sampling.state = state->get();
    sampling.recorded = recorder->carried_epoch();
    const auto sampler = EpochSampler::Create(sampling);
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    for (int round = 0; round < (process == 1 ? 4 : 3); ++round) {
      const v1::SamplingScheme scheme = MessageOf((*sampler)->scheme());
      const auto sample = (*sampler)->Draw();
      ASSERT_TRUE(sample.ok()) << sample.status();
      seen.insert(sample->begin(), sample->end());
      ASSERT_EQ(Release(*recorder, scheme), absl::OkStatus());
    }
  }
  EXPECT_EQ(seen.size(), 100u);
  for (uint64_t record = 0; record < 100; ++record) EXPECT_EQ(seen.count(record), 1u) << record;
  EXPECT_NEAR(Epsilon().epsilon().upper(), EpsilonOf(1), 1e-4 * EpsilonOf(1));
}

// Two samplers of one process have two partitions, and never one epoch.
TEST_F(Incarnations, TwoSamplersOfOneProcessNeverShareAnEpoch) {
  const auto recorder = OpenRecorder(Options());
  EpochSamplerOptions sampling;
  sampling.population_size = 100;
  sampling.rounds_per_epoch = kRoundsPerEpoch;
  for (int i = 0; i < 2; ++i) {
    const auto sampler = EpochSampler::Create(sampling);
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    for (int round = 0; round < kRoundsPerEpoch / 2; ++round) {
      ASSERT_EQ(Release(*recorder, MessageOf((*sampler)->scheme())), absl::OkStatus());
      ASSERT_TRUE((*sampler)->Draw().ok());
    }
  }
  EXPECT_NEAR(Epsilon().epsilon().upper(), EpsilonOf(2), 1e-4 * EpsilonOf(2));
}

// Ledgers of writers without incarnations, as older recorders wrote them.
TEST_F(Incarnations, AResumeEndsAnEpochOfAnOlderWriter) {
  v1::CreateLedgerRequest create;
  create.set_name(kLedger);
  create.set_request_id("create");
  *create.mutable_declaration() = Options().declaration;
  grpc::ClientContext context;
  v1::Ledger ledger;
  ASSERT_TRUE(ledgers_->CreateLedger(&context, create, &ledger).ok());
  for (int process = 0; process < 4; ++process) {
    v1::AppendBatchRequest batch;
    batch.set_ledger(kLedger);
    batch.set_writer("old");
    batch.set_request_id(absl::StrCat("r", process));
    if (process > 0) batch.add_entries()->mutable_resume()->set_reason("started again");
    v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
    sampling.set_round(process);
    *sampling.mutable_scheme() = Batches(0);
    v1::SumQueryEvent& query = *batch.add_entries()->mutable_event()->mutable_sum_query();
    query.set_round(process);
    query.mutable_query()->set_l2_norm_bound(1);
    query.mutable_query()->set_noise_stddev(1);
    ASSERT_EQ(Append(batch), absl::OkStatus());
  }
  EXPECT_NEAR(Epsilon().epsilon().upper(), EpsilonOf(4), 1e-4 * EpsilonOf(4));
}

TEST_F(Incarnations, ACopyOfASpoolFencesOffTheFirstAndTheLedgerSaysSo) {
  std::unique_ptr<PrivacyRecorder> first = OpenRecorder(Options(v1::SPOOL));
  ASSERT_EQ(Release(*first, Everything()), absl::OkStatus());
  CopyFolder("spool", "copy");
  RecorderOptions options = Options(v1::SPOOL);
  options.spool_folder = folder_.File("copy");
  const auto second = OpenRecorder(options);
  EXPECT_EQ(second->previous_incarnation(), first->incarnation());
  ASSERT_EQ(Release(*second, Everything()), absl::OkStatus());
  // The first goes on to release until its delivery hears of it.
  int released = 1;
  absl::Status refused;
  while (refused.ok()) {
    refused = Release(*first, Everything());
    if (refused.ok()) ++released;
  }
  EXPECT_EQ(ReasonOf(refused).reason, "FENCED_OFF");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("dpledger spool import"));
  ASSERT_EQ(second->Close(), absl::OkStatus());

  const v1::ComputeEpsilonResponse before = Epsilon();
  EXPECT_TRUE(MayBeShort(before));
  EXPECT_THAT(before.details().warnings(), Contains(HasSubstr("may be short")));

  // Its spool comes in late, after the writer's end and the ledger's.
  const std::string spool = folder_.File("spool");
  ASSERT_EQ(Seal().code(), absl::StatusCode::kInvalidArgument) << "the writer has closed";
  const size_t entries = Entries().size();
  first.reset();
  const auto imported = ImportSpool(SpoolFiles(spool).value().front(), *ledgers_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_GT(imported->late_events, 0u);
  EXPECT_GT(Entries().size(), entries);
  const v1::ComputeEpsilonResponse after = Epsilon();
  EXPECT_FALSE(MayBeShort(after)) << after.details().DebugString();
  // At least what was released: `released` rounds of the first, one of the second. A round may be
  // recorded and not released.
  EXPECT_GE(after.epsilon().upper(), EpsilonOf(released + 1) * (1 - 1e-6));
  EXPECT_GT(after.epsilon().upper(), before.epsilon().upper());

  // Once more changes nothing.
  const auto again = ImportSpool(SpoolFiles(spool).value().front(), *ledgers_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->late_events, 0u);
  EXPECT_EQ(Epsilon().epsilon().upper(), after.epsilon().upper());
}

TEST_F(Incarnations, ASpoolThatIsLateForASealedLedgerStillCounts) {
  {
    const auto recorder = OpenRecorder(Options(v1::SPOOL));
    ASSERT_EQ(Release(*recorder, Everything()), absl::OkStatus());
    server_.Pause();
    ASSERT_EQ(Release(*recorder, Everything()), absl::OkStatus()) << "SPOOL does not wait";
  }
  server_.Resume();
  ASSERT_EQ(Seal(), absl::OkStatus());
  const size_t sealed_entries = Entries().size();
  EXPECT_TRUE(MayBeShort(Epsilon())) << "SPOOL, and not closed: for ever";
  const auto imported = ImportSpool(SpoolFiles(folder_.File("spool")).value().front(), *ledgers_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->late_events + imported->delivered_batches > 0, true);
  const std::vector<v1::LedgerEntry> entries = Entries();
  const v1::ComputeEpsilonResponse answer = Epsilon();
  EXPECT_EQ(answer.details().ledgers(0).state(), v1::SEALED);
  EXPECT_TRUE(MayBeShort(answer)) << "it did not close before SEAL";
  EXPECT_NEAR(answer.epsilon().upper(), EpsilonOf(2), 1e-4 * EpsilonOf(2));
  for (size_t i = sealed_entries; i < entries.size(); ++i) {
    EXPECT_TRUE(entries[i].has_conflict() || entries[i].has_late_event() ||
                entries[i].has_spool_imported())
        << entries[i].ShortDebugString();
  }
  // The whole of it is verified offline, with the same number.
  const std::string bundle = folder_.File("bundle");
  const auto exported = testing::Dpledger(
      {"ledger", "export", "adult", "--server", server_.address(), "--output", bundle});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const auto keys = testing::RunProgram({"/bin/tar", "-xOf", bundle, "keys"});
  const auto verified =
      testing::Dpledger({"ledger", "verify", bundle, "--key-file", folder_.Write("keys", keys.out),
                         "--delta", "1e-5", "--json"});
  ASSERT_EQ(verified.exit_code, 0) << verified.err << verified.out;
  EXPECT_THAT(verified.out, HasSubstr("may be short"));
}

TEST_F(Incarnations, AFreshFolderLeavesTheSpoolBeforeItInDoubt) {
  { const auto lost = OpenRecorder(Options(v1::SPOOL)); }
  RecorderOptions options = Options(v1::SPOOL);
  options.spool_folder = folder_.File("fresh");
  const auto recorder = OpenRecorder(options);
  ASSERT_EQ(recorder->Close(), absl::OkStatus());
  const v1::ComputeEpsilonResponse answer = Epsilon();
  ASSERT_TRUE(MayBeShort(answer));
  EXPECT_THAT(answer.details().ledgers(0).missing(0).reason(), HasSubstr("did not close"));
  // The spool turns up again, with nothing in it: nothing is missing then.
  const auto imported = ImportSpool(SpoolFiles(folder_.File("spool")).value().front(), *ledgers_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_FALSE(MayBeShort(Epsilon()));
}

TEST_F(Incarnations, WhatCanNeverBeAnsweredIsRefusedBeforeItIsReleased) {
  RecorderOptions options = Options();
  options.declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  const auto recorder = OpenRecorder(options);
  const absl::Status refused = Release(*recorder, Batches(0));
  EXPECT_EQ(ReasonOf(refused).reason, "NEVER_ANSWERED") << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("REPLACE_ONE or ZERO_OUT"));
}

TEST_F(Incarnations, AnEventThatTheServerWouldRefuseNeverEntersTheSpool) {
  const auto recorder = OpenRecorder(Options(v1::SPOOL));
  v1::SumQuery query;
  query.set_noise(v1::ROUNDED_GAUSSIAN);
  query.set_grid(0.5);
  query.set_l2_norm_bound(9007199254740994.0);  // above 2^53
  query.set_noise_stddev(9007199254740994.0);
  const absl::Status refused = recorder->RecordRound(Everything(), {query}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("queries[0].l2_norm_bound: must be a whole number in [1, 2^53)"));
  EXPECT_EQ(Release(*recorder, Everything()), absl::OkStatus()) << "the run goes on";
  EXPECT_EQ(recorder->Close(), absl::OkStatus());
}

}  // namespace
}  // namespace dpledger::client
